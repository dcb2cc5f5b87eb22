"""From the items of a template program to ids, each with its origin, and what was found in callers' text.

Here is the trust boundary of decisions D5: text goes through the plain encoder alone, segment by segment; only
:class:`Structural` items, which template programs make, become structural ids.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from slm2.errors import Slm2Error
from slm2.reference.pieces import TRUST_CLASSES, Item, Part, Piece, Structural, Trust

Spans = Callable[[bytes], list[tuple[int, int, int]]]


@dataclass(frozen=True, slots=True)
class Token:
    """One id of a prompt and where it came from.

    Attributes:
        id: the token.
        role: of the message that brought it: system, user, assistant or tool.
        part: which part of the message.
        trust: the lowest class among the pieces that the token touches.
        message: index of the message; None where no message brought it (tool schemas, generation prompt).
        ranges: ``(source, start, end)`` for each piece that the token touches: bytes of the UTF-8 of that source field; of a
            literal, which has the source ``program``, bytes of the literal. Empty for structural tokens.
    """

    id: int
    role: str
    part: Part
    trust: Trust
    message: int | None
    ranges: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Ids of a prompt and one token for each."""

    input_ids: list[int]
    tokens: list[Token]


@dataclass(frozen=True, slots=True)
class Finding:
    """Text of a special token in a caller's text, where it is plain text.

    Attributes:
        source: the field.
        offset: byte offset in the UTF-8 of the field.
        id: of the special token.
        text: of the special token.
    """

    source: str
    offset: int
    id: int
    text: str


def text(items: Sequence[Item]) -> str:
    """The prompt as text, structural tokens included; for people, never to be encoded again."""
    return "".join(item.text if isinstance(item, Structural) else item.data.decode("utf-8") for item in items)


def segments(items: Sequence[Item]) -> Iterator[list[Piece] | Structural]:
    """Structural tokens, and between them the pieces that are encoded together (M-60)."""
    pieces: list[Piece] = []
    for item in items:
        if isinstance(item, Piece):
            pieces.append(item)
            continue
        if pieces:
            yield pieces
            pieces = []
        yield item
    if pieces:
        yield pieces


def render(
    items: Sequence[Item],
    encode_spans: Spans,
    id_of_special: Mapping[str, int],
) -> Rendered:
    """Ids and their origin (M-60 to M-66).

    Args:
        items: what ``compose`` made.
        encode_spans: plain encoding of UTF-8: ``(id, start, end)`` for each token, bytes of its argument.
        id_of_special: id of each structural token by its text.

    Raises:
        Slm2Error: ``invalid_value`` where the artifact lacks a structural token of this template.
    """
    tokens = [token for token, _ in spoken(items, encode_spans, id_of_special)]
    return Rendered([token.id for token in tokens], tokens)


def spoken(items: Sequence[Item], encode_spans: Spans, id_of_special: Mapping[str, int]) -> Iterator[tuple[Token, Item]]:
    """Each token with the item that speaks for it: the first of the lowest class that it touches (M-63)."""
    for segment in segments(items):
        if isinstance(segment, Structural):
            yield _structural_token(segment, id_of_special), segment
        else:
            yield from _text_tokens(segment, encode_spans)


def _structural_token(item: Structural, id_of_special: Mapping[str, int]) -> Token:
    if item.text not in id_of_special:
        raise Slm2Error("invalid_value", field="artifact", expected=f"one with the special token {item.text}", found="another")
    return Token(id_of_special[item.text], item.role, item.part, "program", item.message, ())


def _text_tokens(pieces: Sequence[Piece], encode_spans: Spans) -> Iterator[tuple[Token, Item]]:
    starts = _starts(pieces)
    for token_id, start, end in encode_spans(b"".join(piece.data for piece in pieces)):
        touched = _touched(pieces, starts, start, end)
        speaker = max((piece for piece, _, _ in touched), key=_rank)  # max keeps the first of equals
        ranges = tuple((piece.source, piece.start + first, piece.start + last) for piece, first, last in touched)
        yield Token(token_id, speaker.role, speaker.part, speaker.trust, speaker.message, ranges), speaker


def _rank(piece: Piece) -> int:
    """Greater for a lower class."""
    return TRUST_CLASSES.index(piece.trust)


def _starts(pieces: Sequence[Piece]) -> list[int]:
    """Where each piece begins in the joined text."""
    return [0, *accumulate(len(piece.data) for piece in pieces[:-1])]


def _touched(pieces: Sequence[Piece], starts: Sequence[int], start: int, end: int) -> list[tuple[Piece, int, int]]:
    """Pieces that share bytes with ``start`` to ``end`` of the joined text, and which of their own bytes these are."""
    touched = []
    number = bisect_right(starts, start) - 1
    while number < len(pieces) and starts[number] < end:
        piece, base = pieces[number], starts[number]
        touched.append((piece, max(start - base, 0), min(end - base, len(piece.data))))
        number += 1
    return touched


def find_special(items: Sequence[Item], find: Spans) -> tuple[list[Finding], int]:
    """Text of special tokens in what callers wrote (M-70 to M-72).

    Args:
        items: what ``compose`` made.
        find: ``(start, end, id)`` of such text in UTF-8.

    Returns:
        The findings in application and untrusted text, and the number of those in the policy, whose text is not to be told.
    """
    findings: list[Finding] = []
    in_policy = 0
    for segment in segments(items):
        if isinstance(segment, Structural):
            continue
        data, starts = b"".join(piece.data for piece in segment), _starts(segment)
        for start, end, token_id in find(data):
            touched = _touched(segment, starts, start, end)
            callers = [(piece, first) for piece, first, _ in touched if piece.trust in ("application", "untrusted")]
            if callers:
                piece, first = callers[0]
                findings.append(Finding(piece.source, piece.start + first, token_id, data[start:end].decode("utf-8")))
            else:
                in_policy += 1
    return findings, in_policy
