"""The template program: its source, its section, and what is proved about it (contract/template.md, M-75 to M-86)."""

from __future__ import annotations

import random
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from programs import program
from slm2.artifact import program_checks, read
from slm2.artifact.program import EVENTS, GUARDS, MARK, REFUSALS, Action, Program, Rule, encode, parse
from slm2.cli.machine import svg
from slm2.compiler import template_source
from slm2.contract import embedded
from slm2.errors import Slm2Error

FAMILIES = template_source.families()


def special(of: Program) -> list[tuple[int, bytes]]:
    return list(enumerate(of.marks))


def source(family: str = "qwen3") -> str:
    return resources.files("slm2.compiler").joinpath("templates", f"{family}.toml").read_text(encoding="utf-8")


def changed(state: str, event: str, number: int, **values: object) -> Program:
    """The program of Qwen3 with one rule changed."""
    whole = program()
    place = whole.states.index(state) * len(EVENTS) + EVENTS.index(event)
    rules = list(whole.cells[place])
    rules[number] = replace(rules[number], **values)
    return replace(whole, cells=(*whole.cells[:place], tuple(rules), *whole.cells[place + 1 :]))


def refusal(of: Program) -> dict:
    with pytest.raises(Slm2Error) as caught:
        program_checks.check(of)
    return {"code": caught.value.code, **caught.value.fields}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_program_comes_back_from_its_section(family: str) -> None:
    whole = program(family)
    assert parse(encode(whole), special(whole)) == whole
    program_checks.check(whole)


def test_the_embedded_program_is_that_of_its_source() -> None:
    assert read(embedded()).program == program("qwen3")


@pytest.mark.parametrize("family", FAMILIES)
def test_m_81_m_82_one_rule_in_every_case(family: str) -> None:
    """Walked here over random guards of all kinds, apart from the exhaustive walk of the loader."""
    whole, rng = program(family), random.Random(3)
    for state in range(len(whole.states)):
        for event in range(len(EVENTS)):
            for _ in range(50):
                guards = rng.getrandbits(len(GUARDS))
                assert whole.rule(state, event, guards) in whole.cell(state, event)


def test_m_82_a_case_without_a_rule_and_a_rule_without_a_case_are_refused() -> None:
    user = EVENTS.index("user")
    state = program().states.index("SYSTEM_TURN")
    assert refusal(changed("SYSTEM_TURN", "user", 1, mask=1, value=1)) == {"code": "artifact_template_total", "state": state, "event": user}
    assert refusal(changed("SYSTEM_TURN", "user", 0, mask=0, value=0)) == {"code": "artifact_template_total", "state": state, "event": user}
    every = (1 << 11) - 1
    assert refusal(changed("SYSTEM_TURN", "user", 0, mask=every, value=every))["code"] == "artifact_template_total"


def test_m_83_states_that_cannot_be_reached_or_left_are_refused() -> None:
    states = program().states
    lonely = changed("TOOL_SCHEMAS", "schema", 1, target=states.index("TOOL_SCHEMAS"))
    assert refusal(lonely) == {"code": "artifact_template_reach", "state": states.index("TOOL_SCHEMAS")}
    out_of_end = changed("END", "user", 0, refusal=0, target=0)
    assert refusal(out_of_end)["code"] == "artifact_template_reach"


def test_m_84_a_request_never_comes_to_a_cell_without_a_way() -> None:
    states = program().states
    never = REFUSALS.index("template_event")
    for state, event in (
        ("ASSISTANT_CALLING", "close"),
        ("USER_TURN", "user"),
        ("SYSTEM_TURN", "system"),
        ("ASSISTANT_RESPONDING", "content"),
    ):
        found = refusal(changed(state, event, 0, refusal=never, target=0, actions=()))
        assert found == {"code": "artifact_template_closed", "state": states.index(state), "event": EVENTS.index(event)}


def test_m_85_m_86_bounds_and_marks() -> None:
    whole = program()
    assert program_checks.bounds(whole).fields == 1
    marks = {action.argument for rules in whole.cells for rule in rules for action in rule.actions if action.op == MARK}
    assert marks == set(range(len(whole.marks)))
    with pytest.raises(Slm2Error) as caught:
        parse(encode(whole), special(whole)[1:])
    assert (caught.value.code, caught.value.fields) == ("artifact_template_mark", {"mark": 0})


def test_one_field_twice_in_a_rule_is_refused() -> None:
    whole = program()
    content = Action(2, 2, 0, 0)
    doubled = changed("ASSISTANT_RESPONDING", "content", 0, actions=(content, content))
    with pytest.raises(Slm2Error) as caught:
        parse(encode(doubled), special(whole))
    assert caught.value.code == "artifact_template_rule"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ('event = "user"', 'event = "users"', "event must be one of"),
        ('when = "tools"', 'when = "tool"', "no such guard"),
        ('to = "USER_TURN"', 'to = "USERS"', "is no state"),
        ('"@close_turn"', '"@end_turn"', "is no block"),
        ('"content {content}"', '"contents {content}"', "is no emission"),
        ('"content {content}"', '"content {contents}"', "names no field"),
        ('refuse = "no_user"', 'refuse = "nobody"', "is no refusal"),
        ('"reasoning ASSISTANT_THINKING"', '"thinks ASSISTANT_THINKING"', "is no entry"),
        ('split = ["<think>"', 'split = ["<thinks>"', "must name two marks"),
        ("[otherwise]", "[otherwise", "the source"),
    ],
)
def test_a_source_that_is_wrong_is_refused_by_its_place(before: str, after: str, reason: str) -> None:
    with pytest.raises(Slm2Error) as caught:
        template_source.parse(source().replace(before, after))
    assert caught.value.code == "template_source"
    assert reason in str(caught.value)


def test_a_rule_is_told_by_its_guards() -> None:
    rule = Rule(0b110, 0b010, 0, 0, ())
    assert [rule.matches(guards) for guards in (0b010, 0b110, 0b011, 0b000)] == [True, False, True, False]


def test_the_picture_in_the_docs_is_that_of_the_program() -> None:
    committed = Path(__file__).resolve().parents[2] / "docs" / "qwen3-template.svg"
    assert committed.read_text(encoding="utf-8") == svg(program())
