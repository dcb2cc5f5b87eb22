"""Sessions over programs whose turns depend on what comes after them, or on options, or are encoded together (M-100, M-107)."""

from __future__ import annotations

import random
from functools import cache
from importlib import resources

import pytest

from differential.conversations import Source
from slm2.artifact import Parts, read, seal
from slm2.compiler import template_source
from slm2.contract import Contract, embedded
from slm2.engine import EngineChoice, select
from slm2.errors import Slm2Error

CONVERSATIONS = 25
TURNS = "# ---- user turn (M-46) ----\n"
RULE = '[[rule]]\nstate = ["INIT", "SYSTEM_TURN", "TOOL_TURN", "ASSISTANT_TURN"]\n'
SYSTEM = "# ---- system turn and tools (M-43 to M-45) ----\n"
# What is put into Qwen3's program, so that a session has to look at an earlier turn again.
CHANGES = {
    "as it is": (TURNS, TURNS),
    "turns join": ('open_user = ["structure <|im_start|>", \'role_header "user\\n"\']', "open_user = ['role_header \"\\n user \"']"),
    "an earlier answer joins what is before": (
        "# ---- assistant turn (M-47, M-52 to M-54) ----\n",
        '[[rule]]\nstate = ["USER_TURN", "TOOL_TURN"]\nevent = "assistant"\nwhen = "!after_query !ambiguous_think"\n'
        'emit = [\'role_header "\\n then "\']\nto = "ASSISTANT_RESPONDING"\n',
    ),
    "the last user turn is another": (
        TURNS,
        RULE
        + 'event = "user"\nwhen = "last !response_shape"\nemit = ["@open_user", \'content "last "\', "content {content}", "@close_turn"]\n'
        'to = "USER_TURN"\n',
    ),
    "the system turn says whether to think": (
        SYSTEM,
        '[[rule]]\nstate = "INIT"\nevent = "system"\nwhen = "thinking_off !tools"\n'
        'emit = ["@open_system", \'content "no thought "\', "content {content}", "@close_turn"]\nto = "SYSTEM_TURN"\n',
    ),
}


@cache
def contract(change: str, engine: EngineChoice = "native") -> Contract:
    source = resources.files("slm2.compiler").joinpath("templates", "qwen3.toml").read_text(encoding="utf-8")
    old, new = CHANGES[change]
    assert old in source
    base = read(embedded())
    program = template_source.parse(source.replace(old, new, 1))
    data = seal(Parts(base.tokens, base.special, base.dfa, base.merges, base.normalization, base.facts, base.provenance, program))
    return Contract(select(engine, data), "contract")


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_session_keeps_is_what_the_program_says(change: str) -> None:
    opened = contract(change)
    rng, source = random.Random(5), Source(5)
    kept = 0
    for _ in range(CONVERSATIONS):
        system = [{"role": "system", "content": source.text()}] if rng.random() < 0.7 else []
        session = opened.session()
        cache: list[int] = []
        for turn in range(4):
            thinking = rng.choice([None, False])
            step = source.step()
            answered = step if len(step) > 1 and rng.random() < 0.5 else []
            delta = session.extend([*(system if turn == 0 else []), source.user(), *answered], enable_thinking=thinking)
            cache = cache[: delta.keep] + delta.append
            scratch = opened.template.render(session.messages, add_generation_prompt=True, enable_thinking=thinking)
            assert cache == session.cached_ids == scratch.input_ids, session.messages
            kept += delta.keep
            ids = opened.tokenizer.encode_trusted("x" if rng.random() < 0.3 else source.text(3) + "y<|im_end|>")
            session.reply(ids)
            cache += ids
            if change == "as it is":
                settled = session.settled()
                longer = opened.template.render([*session.messages, {"role": "user", "content": ""}]).input_ids
                assert [*cache[: settled.keep], *settled.append] == longer[: settled.keep + len(settled.append)]
    assert kept > 1_000, kept


@pytest.mark.parametrize("tools", [None, [{"type": "function", "function": {"name": "f"}}]])
def test_no_message_is_refused(tools: list[dict] | None) -> None:
    session = contract("as it is").session(tools=tools)
    with pytest.raises(Slm2Error) as caught:
        session.extend([])
    assert caught.value.code == "empty_conversation"
    assert session.cached_ids == []
