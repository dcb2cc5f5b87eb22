r"""Parser of the regex subset that pre-tokenizer patterns need.

Alternation with priority, concatenation, greedy repeats, groups ``(?:…)`` and ``(?i:…)``, classes, ``\p{…}``, ``\s``, and the
one-scalar negative look-ahead. Everything else is refused by its name and place: a pattern is compiled exactly or not at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from slm2.compiler import unicode
from slm2.errors import Slm2Error

MAX_REPEAT = 64


@dataclass(frozen=True, slots=True)
class Chars:
    """One scalar value (or ill-formed byte) out of a set."""

    values: int


@dataclass(frozen=True, slots=True)
class NotAhead:
    """The next scalar value is not in a set; the end of the text is not."""

    values: int
    position: int


@dataclass(frozen=True, slots=True)
class Concat:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The first that leads to a match wins."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``low`` to ``high`` times (None: without end), as often as possible."""

    item: Node
    low: int
    high: int | None


Node = Chars | NotAhead | Concat | Alternatives | Repeat

_ESCAPED = {"r": "\r", "n": "\n", "t": "\t", "f": "\f", "v": "\v"}
_COUNTS = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_PROPERTY = re.compile(r"\{(\^?)([A-Za-z_& ]+)\}")


def parse(text: str) -> Node:
    """The tree of a pattern.

    Raises:
        Slm2Error: ``pattern_unsupported`` with the construct and its position in code points.
    """
    parser = _Parser(text)
    node = parser.alternatives(fold=False)
    if parser.at < len(text):
        parser.refuse("an unmatched )")
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def refuse(self, construct: str, position: int | None = None) -> NoReturn:
        raise Slm2Error("pattern_unsupported", construct=construct, position=self.at if position is None else position)

    def peek(self, ahead: str) -> bool:
        return self.text.startswith(ahead, self.at)

    def take(self) -> str:
        if self.at == len(self.text):
            self.refuse("an unfinished construct")
        self.at += 1
        return self.text[self.at - 1]

    def alternatives(self, fold: bool) -> Node:
        items = [self.concat(fold)]
        while self.peek("|"):
            self.at += 1
            items.append(self.concat(fold))
        return items[0] if len(items) == 1 else Alternatives(tuple(items))

    def concat(self, fold: bool) -> Node:
        start = self.at
        items: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            items.append(self.repeated(fold))
        if fold:
            self._check_folded(self.text[start : self.at].lower(), start)
        return items[0] if len(items) == 1 else Concat(tuple(items))

    def _check_folded(self, text: str, start: int) -> None:
        for letters in unicode.FOLDED_TOGETHER:
            if letters in text:
                self.refuse(f"case-insensitive {letters}, which some scalar values fold to together", start)

    def repeated(self, fold: bool) -> Node:
        start = self.at
        item = self.atom(fold)
        low, high = self.counts()
        if (low, high) == (1, 1):
            return item
        if isinstance(item, NotAhead):
            self.refuse("a repeated look-ahead", start)
        if self.at < len(self.text) and self.text[self.at] in "?+*{":
            self.refuse("a lazy, possessive or double repeat")
        return Repeat(item, low, high)

    def counts(self) -> tuple[int, int | None]:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        sign = self.text[self.at : self.at + 1]
        if sign in simple:
            self.at += 1
            return simple[sign]
        match = _COUNTS.match(self.text, self.at)
        if match is None:
            if sign == "{":
                self.refuse("a brace that is no repeat")
            return 1, 1
        low = int(match[1])
        high = low if match[2] is None else int(match[3]) if match[3] else None
        if max(low, high or 0) > MAX_REPEAT or (high is not None and high < max(low, 1)):
            self.refuse(f"the repeat {match[0]}")
        self.at = match.end()
        return low, high

    def atom(self, fold: bool) -> Node:
        if self.peek("("):
            return self.group(fold)
        if self.peek("["):
            return Chars(self.char_class(fold))
        start = self.at
        char = self.take()
        if char == "\\":
            return Chars(self.escape(fold))
        if char in ".^$*+?{}":
            self.refuse(f"the operator {char}", start)
        return Chars(self.literal(char, fold))

    def literal(self, char: str, fold: bool) -> int:
        if not fold:
            return unicode.one(ord(char))
        if not char.isascii():
            self.refuse("a case-insensitive character beyond ASCII", self.at - 1)
        return unicode.folded(char)

    def group(self, fold: bool) -> Node:
        start = self.at
        for opening, inner in (("(?:", fold), ("(?i:", True), ("(?!", fold)):
            if self.peek(opening):
                self.at += len(opening)
                node = self.alternatives(inner)
                if self.take() != ")":
                    self.refuse("an unfinished group", start)
                return self.not_ahead(node, start) if opening == "(?!" else node
        return self.refuse("the group " + self.text[start : start + 3], start)

    def not_ahead(self, node: Node, start: int) -> Node:
        if not isinstance(node, Chars):
            self.refuse("a look-ahead over more than one scalar value", start)
        return NotAhead(node.values, start)

    def escape(self, fold: bool) -> int:
        start = self.at - 1
        char = self.take()
        if char in _ESCAPED:
            return unicode.one(ord(_ESCAPED[char]))
        if char in "sS":
            return unicode.white_space() if char == "s" else unicode.complement(unicode.white_space())
        if char in "pP":
            if fold:
                self.refuse("a case-insensitive property", start)
            return self.property(char == "P", start)
        if char.isalnum() or not char.isascii():
            self.refuse(f"the escape \\{char}", start)
        return unicode.one(ord(char))

    def property(self, negated: bool, start: int) -> int:
        match = _PROPERTY.match(self.text, self.at)
        if match is None:
            self.refuse("a property without braces", start)
        values = unicode.category(match[2]) if len(match[2]) <= 2 else None
        if values is None:
            self.refuse(f"the property {match[2]}", start)
        self.at = match.end()
        return unicode.complement(values) if negated != bool(match[1]) else values

    def char_class(self, fold: bool) -> int:
        start = self.at
        self.at += 1
        negated = self.peek("^")
        self.at += negated
        values = 0
        while not self.peek("]") or self.at == start + 1 + negated:
            values |= self.class_item(fold, start)
        self.at += 1
        return unicode.complement(values) if negated else values

    def class_item(self, fold: bool, start: int) -> int:
        at = self.at
        char = self.take()
        if char == "[" or (char == "&" and self.peek("&")) or (char == "]" and at <= start + 2):
            self.refuse("a nested class, an intersection or an empty class", at)
        if char == "\\":
            values = self.escape(fold)
            if self.peek("-") and not self.peek("-]"):
                self.refuse("a range that begins with an escape", at)
            return values
        if not self.peek("-") or self.peek("-]"):
            return self.literal(char, fold)
        self.at += 1
        last = self.take()
        if fold or last in "\\[" or last < char:
            self.refuse("the range " + self.text[at : self.at], at)
        return unicode.span(ord(char), ord(last))
