"""The picture of ``slm2 assemble --explain``."""

from __future__ import annotations

import json
import re

import pytest

import slm2
from cli.runner import EXAMPLE, run, run_process


@pytest.fixture(scope="module")
def assembly():
    return slm2.load(engine="native").prompt.assemble(json.loads(EXAMPLE.read_text(encoding="utf-8")))


def picture(env: dict[str, str | None] | None = None, stdin: bytes | None = None) -> str:
    arguments = ("assemble", "-" if stdin else EXAMPLE, "--explain", "--engine", "native")
    result = run(*arguments, env=env, stdin=stdin or b"")
    assert (result.status, result.err) == (0, b"")
    return result.out.decode()


def section(text: str, name: str) -> str:
    return text.partition(f"\n{name}")[2].partition("\n")[2].split("\n\n")[0]


def test_it_fits_in_100_columns_and_has_no_control_sequences():
    text = picture()
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_all_ids_but_the_policy_are_shown_in_order(assembly):
    shown = section(picture(), f"Ids ({len(assembly.input_ids):,})")
    masked = [token.id for token in assembly.tokens if not any(source == "policy" for source, _, _ in token.ranges)]
    assert f"[policy: {assembly.policy_tokens} ids]" in " ".join(shown.split())
    numbers = re.sub(r"\[policy: \d+ ids\]", "", " ".join(shown.split())).split()
    assert [int(number) for number in numbers] == masked


def test_every_source_has_its_count(assembly):
    text = picture()
    for count in assembly.sources:
        name = "template and wrappers" if count.source == "program" else count.source
        assert re.search(rf"\S {re.escape(name)} +{count.trust} .*\b{count.tokens:,} +[0-9.]+ %", text), name


def test_the_budget_is_told_in_numbers_and_in_a_bar(assembly):
    text = picture()
    budget = assembly.budget
    assert (
        f"prompt {budget.prompt_tokens:,}   ░ reserved for generation {budget.reserve:,}   · left {budget.left:,}   of 4,096 tokens" in text
    )
    bar = next(line for line in text.splitlines() if re.fullmatch("▓+░+·+", line))
    assert len(bar) == 100
    assert bar.count("░") == round(100 * budget.reserve / budget.context)
    parts = next(line for line in text.splitlines() if re.fullmatch("P+U+S+L+R+H+T+-+", line))
    assert len(parts) == 100


def test_injected_structure_is_told_apart_from_structure(assembly):
    text = picture()
    structural = [token for token in assembly.tokens if not token.ranges]
    assert text.count("⟦<") == len(structural)
    assert " <|im_start|>system⏎" in text  # the passage's own, not between the marks of structure
    assert "retrieved[forum-7741].text, byte 65: <|im_start|> is plain text" in text
    assert "retrieved[forum-7741].text, byte 42: < became &lt;" in text
    assert "history[3]: its reasoning is left out" in text


def test_terminal_tricks_are_made_visible():
    hostile = "\x1b[2J\u202eevil\u200b\x07\x9b31m [bold red]:smile:"
    request = {"policy": hostile, "user_turn": hostile, "budget": {"context": 200, "reserve": 0}}
    text = picture(stdin=json.dumps(request).encode())
    assert "⟨U+001B⟩[2J⟨U+202E⟩evil⟨U+200B⟩⟨U+0007⟩⟨U+009B⟩31m [bold red]:smile:" in text
    assert not set(text) & set("\x1b\u202e\u200b\x07\x9b")


def test_colours_are_forced_and_forbidden_by_the_environment(assembly):
    coloured = picture({"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm-256color"})
    assert "\x1b[38;2;" in coloured
    assert "\x1b[38;2;" not in picture({"FORCE_COLOR": "1", "NO_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm-256color"})
    # Neighbouring tokens of one source have two shades, so that the user turn has as many stretches as tokens.
    turn = coloured.partition("Thanks")[0].rpartition("\n")[2] + "Thanks" + coloured.partition("Thanks")[2].partition("im_end")[0]
    shades = re.findall(r"\x1b\[38;2;(0;175;95|95;175;0)m", turn)
    words = next(count.tokens for count in assembly.sources if count.source == "user_turn")
    assert words <= len(shades) <= words + 8  # and a few more where a line is folded


def test_the_smallest_request():
    text = picture(stdin=b'{"policy": "", "user_turn": "", "budget": {"context": 100, "reserve": 0}}')
    assert "• none" in text


def test_an_output_that_is_not_utf8_gets_escapes():
    result = run_process("assemble", EXAMPLE, "--explain", "--engine", "native", env={"PYTHONIOENCODING": "ascii"})
    assert result.status == 0
    assert b"\\u27e6<|im_start|>" in result.out
