"""A template program from its source: one TOML file a model family, under ``templates/``.

``states`` names the machine's states, INIT first and END last. A ``[[rule]]`` says what happens in a ``state`` (or each of several) at
an ``event``: where its guards hold (``when``: words of :data:`slm2.artifact.program.GUARDS`, all of which must hold, ``!`` before one
that must not; in a list, any line of which may hold; the first rule that fits is taken) it emits and goes ``to`` a state (``@same``
for the one it is in), or refuses with a code. ``[otherwise]`` has the refusal of each event where no rule fits.

An emission is ``part <mark>``, ``part "text"`` (a JSON string), ``part {field transform}``, ``part drop {field}``, or ``@block``.
A ``[[reply]]`` says what the tokens of a reply do in a state: a mark, ``text`` or ``other`` to ``verb STATE``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, NoReturn

from slm2.artifact.program import (
    DROP,
    EVENTS,
    FIELD,
    FIELDS,
    JSON,
    LITERAL,
    MARK,
    PARTS,
    REFUSALS,
    REPLY,
    STRIP_LEFT,
    STRIP_RIGHT,
    Action,
    Program,
    Rule,
)
from slm2.artifact.program_checks import forced
from slm2.errors import Slm2Error

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["families", "load", "parse"]

_EMISSION = re.compile(
    r"(?P<part>\w+) (?:(?P<mark><.+>)|(?P<text>\".*\")|(?P<drop>drop )?\{(?P<field>\w+)(?: (?P<transform>\w+))?\})", re.DOTALL
)
_TRANSFORMS = {None: 0, "left": STRIP_LEFT, "right": STRIP_RIGHT, "both": STRIP_LEFT | STRIP_RIGHT, "json": JSON}

Json = dict[str, Any]


def families() -> list[str]:
    """Names of the programs that the compiler has."""
    folder = resources.files("slm2.compiler").joinpath("templates")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(family: str) -> Program:
    """The program of a family.

    Raises:
        Slm2Error: ``invalid_value`` where there is none of this name, ``template_source``.
    """
    if family not in families():
        raise Slm2Error("invalid_value", field="template", expected=", ".join(families()), found=family)
    return parse(resources.files("slm2.compiler").joinpath("templates", f"{family}.toml").read_text(encoding="utf-8"))


def parse(text: str) -> Program:
    """The program of a source text.

    Raises:
        Slm2Error: ``template_source`` with what is wrong and where.
    """
    try:
        source = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Slm2Error("template_source", place="the file", reason=str(error)) from None
    return _Compiler(source).program()


def _refuse(place: str, reason: str) -> NoReturn:
    raise Slm2Error("template_source", place=place, reason=reason)


class _Compiler:
    def __init__(self, source: Json) -> None:
        self.source = source
        self.states: list[str] = source.get("states", [])
        self.marks: dict[str, int] = {}
        self.literals: dict[str, int] = {}

    def program(self) -> Program:
        """Cell by cell, so that marks and literals are numbered as the tables use them."""
        rules = [(list(self._states_of(rule, f"rule {number}")), rule, f"rule {number}") for number, rule in enumerate(self._list("rule"))]
        for _, rule, place in rules:
            if rule.get("event") not in EVENTS:
                _refuse(place, f"event must be one of {', '.join(EVENTS)}")
        cells = [self._cell(state, event, rules) for state in range(len(self.states)) for event in EVENTS]
        reply = [entry for state in range(len(self.states)) for entry in self._reply(state)]
        return Program(
            family=self.source.get("family", ""),
            marks=tuple(mark.encode("utf-8") for mark in self.marks),
            literals=tuple(text.encode("utf-8") for text in self.literals),
            states=tuple(self.states),
            split=self._pair("split"),
            query=self._pair("query"),
            cells=tuple(cells),
            reply=tuple(reply),
        )

    def _list(self, name: str) -> list[Json]:
        found: list[Json] = self.source.get(name, [])
        return found

    def _pair(self, name: str) -> tuple[int, int] | None:
        pair = self.source.get(name)
        if pair is None:
            return None
        if len(pair) != 2 or any(mark not in self.marks for mark in pair):
            _refuse(name, "must name two marks that the program emits")
        return self.marks[pair[0]], self.marks[pair[1]]

    def _states_of(self, entry: Mapping[str, Any], place: str) -> Iterator[int]:
        named = entry.get("state", [])
        for name in [named] if isinstance(named, str) else named:
            yield self._state(name, place)

    def _state(self, name: object, place: str) -> int:
        if name not in self.states:
            _refuse(place, f"{name} is no state")
        return self.states.index(str(name))

    def _cell(self, state: int, event: str, rules: list[tuple[list[int], Json, str]]) -> tuple[Rule, ...]:
        """The rules of a state for an event, and the refusal of the event where they do not cover every case."""
        cell: list[Rule] = []
        for states, rule, place in rules:
            if state in states and rule["event"] == event:
                cell += self._rules(rule, state, place)
        if not any(rule.mask == 0 for rule in cell):
            code = self.source.get("otherwise", {}).get(event)
            cell.append(Rule(0, 0, self._refusal(code, f"otherwise {event}"), 0, ()))
        return tuple(cell)

    def _refusal(self, code: object, place: str) -> int:
        if code not in REFUSALS[1:]:
            _refuse(place, f"{code} is no refusal")
        return REFUSALS.index(str(code))

    def _rules(self, rule: Json, state: int, place: str) -> Iterator[Rule]:
        when = rule.get("when", "")
        for words in [when] if isinstance(when, str) else when:
            try:
                mask, value = forced(words)
            except ValueError:
                _refuse(place, f"{words}: no such guard")
            if "refuse" in rule:
                yield Rule(mask, value, self._refusal(rule["refuse"], place), 0, ())
                continue
            target = state if rule.get("to") == "@same" else self._state(rule.get("to"), place)
            yield Rule(mask, value, 0, target, tuple(self._actions(rule.get("emit", []), place)))

    def _actions(self, emissions: list[str], place: str) -> Iterator[Action]:
        for emission in emissions:
            if emission.startswith("@"):
                block = self.source.get("blocks", {}).get(emission[1:])
                if block is None:
                    _refuse(place, f"{emission} is no block")
                yield from self._actions(block, place)
            else:
                yield self._action(emission, place)

    def _action(self, emission: str, place: str) -> Action:
        match = _EMISSION.fullmatch(emission)
        if match is None or match["part"] not in PARTS:
            _refuse(place, f"{emission!r} is no emission")
        part = PARTS.index(match["part"])
        if match["mark"]:
            return Action(MARK, part, self.marks.setdefault(match["mark"], len(self.marks)), 0)
        if match["text"]:
            text = json.loads(match["text"].replace("\n", "\\n"))
            return Action(LITERAL, part, self.literals.setdefault(text, len(self.literals)), 0)
        if match["field"] not in FIELDS or match["transform"] not in _TRANSFORMS:
            _refuse(place, f"{emission!r} names no field or no transform")
        op = DROP if match["drop"] else FIELD
        return Action(op, part, FIELDS.index(match["field"]), _TRANSFORMS[match["transform"]])

    def _reply(self, state: int) -> list[tuple[int, int]]:
        """What each symbol does in a state; after all marks are known."""
        symbols = [*self.marks, "text", "other"]
        does = dict.fromkeys(symbols, (0, state))
        for number, entry in enumerate(self._list("reply")):
            place = f"reply {number}"
            if state not in self._states_of(entry, place):
                continue
            for symbol, said in entry.get("on", {}).items():
                verb, _, target = said.partition(" ")
                if symbol not in does or verb not in REPLY:
                    _refuse(place, f"{symbol} = {said} is no entry")
                does[symbol] = (REPLY.index(verb), self._state(target, place))
        return list(does.values())
