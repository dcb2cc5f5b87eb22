"""Tokenizer2: bytes to ids and back (contract/tokenizer.md)."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Literal

from slm2.artifact import Artifact, Profile
from slm2.artifact.pretokenizer import pieces
from slm2.errors import Slm2Error
from slm2.reference.normalize import Normalized, normalize

Special = Literal["refuse", "skip", "bytes"]

_END = -1


def encode(artifact: Artifact, data: bytes, profile: Profile) -> list[int]:
    """Ids of text. There is no way from here to the id of a special token (contract/tokenizer.md, T-1)."""
    if profile == "publisher" and artifact.normalization is not None:
        data = b"".join(scalar.data for scalar in normalize(data, artifact.normalization))
    return _encode_normalized(artifact, data)


def _encode_normalized(artifact: Artifact, data: bytes) -> list[int]:
    ids: list[int] = []
    for start, end in pieces(artifact.dfa, data):
        ids += merge(artifact, data[start:end])
    return ids


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


def encode_spans(artifact: Artifact, data: bytes, profile: Profile) -> list[tuple[int, int, int]]:
    """``(id, start, end)``: each id with the range of ``data`` that it came from (contract/tokenizer.md, offsets)."""
    if profile == "publisher" and artifact.normalization is not None:
        scalars = normalize(data, artifact.normalization)
        ids = _encode_normalized(artifact, b"".join(scalar.data for scalar in scalars))
        ranges = _byte_ranges(scalars)
    else:
        ids = _encode_normalized(artifact, data)
        ranges = [(at, at + 1) for at in range(len(data))]
    spans: list[tuple[int, int, int]] = []
    at = 0
    for token_id in ids:
        touched = ranges[at : at + len(artifact.tokens[token_id])]
        at += len(touched)
        spans.append((token_id, min(start for start, _ in touched), max(end for _, end in touched)))
    return spans


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


def encode_trusted(artifact: Artifact, data: bytes, profile: Profile) -> list[int]:
    """Ids of text in which the text of a special token is that token; what lies between is encoded by itself."""
    ids: list[int] = []
    at = 0
    for start, end, token_id in find_special(artifact, data):
        ids += encode(artifact, data[at:start], profile)
        ids.append(token_id)
        at = end
    return ids + encode(artifact, data[at:], profile)


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
