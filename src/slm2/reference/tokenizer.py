"""Tokenizer2: bytes to ids and back (contract/tokenizer.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Literal

from slm2.artifact import Artifact, Profile
from slm2.artifact.normalization import NormalizationTables
from slm2.artifact.pretokenizer import decide, pieces
from slm2.errors import Slm2Error
from slm2.reference.normalize import Normalized, normalize, too_long_stretch
from slm2.reference.utf8 import character_length

Special = Literal["refuse", "skip", "bytes"]
Unit = Literal["bytes", "code_points", "utf16"]

_END = -1
_FOUR, _FOUR_BYTES = 4, 0xF0


@dataclass(frozen=True, slots=True)
class Settings:
    """What encoding goes by.

    Attributes:
        artifact: the tables.
        profile: ``contract`` or ``publisher``.
        max_pretoken: the longest piece and the longest run of marks, in bytes (contract/tokenizer.md, T-13).
    """

    artifact: Artifact
    profile: Profile
    max_pretoken: int

    @property
    def tables(self) -> NormalizationTables | None:
        """Those that text is normalised by, if it is."""
        return self.artifact.normalization if self.profile == "publisher" else None


def encode(settings: Settings, data: bytes) -> list[int]:
    """Ids of text. There is no way from here to the id of a special token (contract/tokenizer.md, T-1).

    Raises:
        Slm2Error: ``pretoken_too_long``.
    """
    return [token_id for ids in encoded_pieces(settings, data) for token_id in ids]


def encoded_pieces(settings: Settings, data: bytes) -> Iterator[list[int]]:
    """Ids of each piece of a text, up to the piece or the stretch that is refused.

    Raises:
        Slm2Error: ``pretoken_too_long``.
    """
    stretch = None if settings.tables is None else too_long_stretch(data, settings.tables, settings.max_pretoken)
    whole = data if settings.tables is None else b"".join(scalar.data for scalar in normalize(data[:stretch], settings.tables))
    start = 0
    while start < len(whole):
        decided, end = decide(settings.artifact.dfa, whole, start, limit=settings.max_pretoken)
        if decided is None and stretch is not None:
            break
        yield encode_piece(settings.artifact, whole[start:end])
        start = end
    if stretch is not None:
        raise Slm2Error("pretoken_too_long", start=len(whole), limit=settings.max_pretoken)


def normalized(settings: Settings, data: bytes) -> list[Normalized]:
    """The text after normalisation; where there is none, the text as it is."""
    if settings.tables is None:
        return [Normalized(data, 0, len(data), True)]
    stretch = too_long_stretch(data, settings.tables, settings.max_pretoken)
    if stretch is None:
        return normalize(data, settings.tables)
    # What comes before it is encoded first, so that the first in the text is what is refused.
    before = b"".join(scalar.data for scalar in normalize(data[:stretch], settings.tables))
    encode_certain(settings, before)
    raise Slm2Error("pretoken_too_long", start=len(before), limit=settings.max_pretoken)


def encode_normalized(settings: Settings, data: bytes) -> list[int]:
    """Ids of normalised text."""
    ids: list[int] = []
    for start, end in pieces(settings.artifact.dfa, data, settings.max_pretoken):
        ids += encode_piece(settings.artifact, data[start:end])
    return ids


def encode_certain(settings: Settings, data: bytes) -> tuple[list[int], int]:
    """Ids of the pieces that are decided whatever comes after normalised text, and where the first other begins."""
    ids: list[int] = []
    start = 0
    while start < len(data):
        end, _ = decide(settings.artifact.dfa, data, start, limit=settings.max_pretoken)
        if end is None:
            break
        ids += encode_piece(settings.artifact, data[start:end])
        start = end
    return ids, start


def encode_piece(artifact: Artifact, piece: bytes) -> list[int]:
    """Ids of one piece: the token that it is as a whole, where the file states that its bytes merge to it (T-6), or merged."""
    token_id = artifact.token_ids.get(piece)
    if token_id is not None and token_id in artifact.merged:
        return [token_id]
    return merge(artifact, piece)


def merge(artifact: Artifact, piece: bytes) -> list[int]:
    """Byte-pair encoding of one piece: the neighbours of lowest rank merge, the leftmost of equals first, until none can.

    The pieces of text still apart are a linked list over the positions of ``piece``; a heap holds the merges that are possible, and
    one whose neighbours have changed since it was pushed is passed over.
    """
    find, ids = artifact.merges.find, [artifact.byte_ids[byte] for byte in piece]
    if len(ids) < 2:
        return ids
    following = [*range(1, len(ids)), _END]
    preceding = [*range(_END, len(ids) - 1)]
    candidates = []
    for at in range(len(ids) - 1):
        found = find(ids[at], ids[at + 1])
        if found is not None:
            candidates.append((found[0], at, ids[at], ids[at + 1], found[1]))
    heapify(candidates)
    while candidates:
        _, at, left, right, merged = heappop(candidates)
        after = following[at]
        if ids[at] != left or after == _END or ids[after] != right:
            continue
        ids[at], ids[after] = merged, _END
        following[at] = following[after]
        if following[at] != _END:
            preceding[following[at]] = at
        for first in (preceding[at], at):
            second = following[first] if first != _END else _END
            found = find(ids[first], ids[second]) if second != _END else None
            if found is not None:
                heappush(candidates, (found[0], first, ids[first], ids[second], found[1]))
    return [token_id for token_id in ids if token_id != _END]


def encode_spans(settings: Settings, data: bytes, unit: Unit) -> list[tuple[int, int, int]]:
    """``(id, start, end)``: each id with the range of ``data`` that it came from (contract/tokenizer.md, T-9), in a unit (T-14)."""
    scalars = normalized(settings, data)
    ranges = _byte_ranges(scalars)
    spans: list[tuple[int, int, int]] = []
    at = 0
    for token_id in encode_normalized(settings, b"".join(scalar.data for scalar in scalars)):
        touched = ranges[at : at + len(settings.artifact.tokens[token_id])]
        at += len(touched)
        spans.append((token_id, min(start for start, _ in touched), max(end for _, end in touched)))
    if unit == "bytes":
        return spans
    before, through = unit_offsets(data, unit)
    return [(token_id, before[start], through[end]) for token_id, start, end in spans]


def unit_offsets(data: bytes, unit: Unit) -> tuple[list[int], list[int]]:
    """For each offset in bytes: the units before the character that holds it, and those that hold the bytes before it."""
    before: list[int] = []
    through = [0]
    count = 0
    rest = data
    while rest:
        length = character_length(rest)
        units = 2 if unit == "utf16" and rest[0] >= _FOUR_BYTES and length == _FOUR else 1
        before += [count] * length
        count += units
        through += [count] * length
        rest = rest[length:]
    return [*before, count], through


def _byte_ranges(scalars: list[Normalized]) -> list[tuple[int, int]]:
    """The source range of each byte of a normalised text."""
    ranges: list[tuple[int, int]] = []
    for scalar in scalars:
        if scalar.exact:
            ranges += [(at, at + 1) for at in range(scalar.start, scalar.end)]
        else:
            ranges += [(scalar.start, scalar.end)] * len(scalar.data)
    return ranges


def find_special(artifact: Artifact, data: bytes) -> list[tuple[int, int, int]]:
    """``(start, end, id)`` of the texts of special tokens: from the left, the longest at each place, not overlapping."""
    longest_first = sorted(artifact.special, key=lambda token: -len(token[1]))
    first_bytes = {text[0] for _, text in longest_first}
    found: list[tuple[int, int, int]] = []
    at = 0
    while at < len(data):
        match = None
        if data[at] in first_bytes:
            match = next(((token_id, text) for token_id, text in longest_first if data.startswith(text, at)), None)
        if match is not None:
            found.append((at, at + len(match[1]), match[0]))
            at += len(match[1])
        else:
            at += 1
    return found


def encode_trusted(settings: Settings, data: bytes) -> list[int]:
    """Ids of text in which the text of a special token is that token; what lies between is encoded by itself."""
    ids: list[int] = []
    at = 0
    for start, end, token_id in find_special(settings.artifact, data):
        ids += encode(settings, data[at:start])
        ids.append(token_id)
        at = end
    return ids + encode(settings, data[at:])


def decode(artifact: Artifact, ids: Sequence[int], special: Special) -> bytes:
    """The bytes of the tokens one after the other.

    Raises:
        Slm2Error: ``token_id_out_of_range``, ``structural_id`` (only under ``refuse``).
    """
    return b"".join(decoded(artifact, position, token_id, special) for position, token_id in enumerate(ids))


def decoded(artifact: Artifact, position: int, token_id: int, special: Special) -> bytes:
    """The bytes of one id of a sequence."""
    if 0 <= token_id < len(artifact.tokens):
        return artifact.tokens[token_id]
    text = artifact.special_text.get(token_id)
    if text is None:
        raise Slm2Error("token_id_out_of_range", position=position, id=token_id, limit=artifact.token_limit)
    if special == "refuse":
        raise Slm2Error("structural_id", position=position, id=token_id)
    return text if special == "bytes" else b""
