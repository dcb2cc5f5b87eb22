"""Both engines through the same sessions, step by step: the same deltas, events, refusals and checkpoints (M-100 to M-107)."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

import slm2
from differential.conversations import Source
from publisher import special_texts
from slm2.artifact import PROFILES, Profile
from slm2.contract import Contract
from slm2.engine import EngineChoice
from slm2.errors import Slm2Error
from slm2.session import Session

ENGINES: tuple[EngineChoice, ...] = ("native", "reference")
PROGRAMS = 25
STEPS = 9
USER = {"role": "user", "content": "q"}
END, OPEN_CALL = 151_645, 151_657


@cache
def contract(engine: EngineChoice, profile: Profile = "contract") -> Contract:
    return slm2.load(engine=engine, profile=profile)


def outcome(call: Callable[[], object]) -> object:
    try:
        return call()
    except Slm2Error as refusal:
        return refusal.code, refusal.fields


class Pair:
    """A session in each engine; every answer is compared, and after it everything that can be seen."""

    def __init__(self, sessions: list[Session]) -> None:
        self.sessions = sessions

    def do(self, call: Callable[[Session], object]) -> object:
        native, reference = (outcome(lambda session=session: call(session)) for session in self.sessions)
        assert native == reference
        left, right = self.sessions
        assert left.save() == right.save()
        assert left.cached_ids == right.cached_ids
        return native

    def fork(self) -> Pair:
        return Pair([session.fork() for session in self.sessions])

    def restored(self, profile: Profile) -> Pair:
        """Each goes on in the other engine."""
        pairs = zip(ENGINES, self.sessions[::-1], strict=True)
        return Pair([contract(engine, profile).restore_session(session.save()) for engine, session in pairs])


def reply_ids(rng: random.Random, source: Source) -> list[int]:
    """From what a model should write to what none could."""
    encode = contract("native").tokenizer
    kind = rng.randrange(6)
    if kind == 0:
        return [rng.choice([rng.randrange(151_643), rng.randrange(151_643, 151_700), END]) for _ in range(rng.randrange(8))]
    text = f"<think>\n{source.text(3)}\n</think>\n\n" if rng.random() < 0.6 else ""
    text += source.text(4)
    for _ in range(rng.choice([0, 0, 1, 2])):
        arguments = json.dumps(source.mapping(), ensure_ascii=False) if rng.random() < 0.8 else source.text(3)
        text += f'\n<tool_call>\n{{"name": "f",{rng.choice(["", " "])}"arguments": {arguments}}}\n</tool_call>'
    ids = encode.encode_trusted(text + rng.choice(["<|im_end|>", "<|im_end|>", "<|im_end|>", ""]))
    if kind == 1 and ids:
        ids[rng.randrange(len(ids))] = rng.choice([END, OPEN_CALL, 151_668, 9284, 151_669, 2**32, -1])
    return ids[: rng.randrange(len(ids) + 1)] if kind == 2 else ids


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs(profile: Profile, seed: int) -> None:
    print("seed", seed)
    rng, source = random.Random(seed), Source(700 + seed, list(special_texts()) if seed % 2 else ())
    codes: Counter[str] = Counter()
    for _ in range(PROGRAMS):
        options = {
            "tools": rng.choice([None, [], [source.mapping()], [source.mapping(), source.mapping()]]),
            "enable_thinking": rng.choice([None, True, False]),
            "preserve_thinking": rng.random() < 0.5,
        }
        pair = Pair([contract(engine, profile).session(**options) for engine in ENGINES])
        for _ in range(STEPS):
            found = pair.do(step(rng, source))
            codes[found[0] if isinstance(found, tuple) and isinstance(found[0], str) else "done"] += 1
            turn = rng.random()
            pair = pair.fork() if turn < 0.2 else pair.restored(profile) if turn < 0.4 else pair
    assert codes["done"] > 40, codes
    assert len(codes) > 5, codes


def step(rng: random.Random, source: Source) -> Callable[[Session], object]:
    kind = rng.random()
    if kind < 0.45:
        ids = reply_ids(rng, source)
        return lambda session: session.reply(ids)
    if kind < 0.55:
        return lambda session: session.settle() if kind < 0.5 else session.settled()
    thinking = rng.choice([None, None, True, False])
    messages = source.messages() if rng.random() < 0.15 else [source.user()]
    if rng.random() < 0.25:
        messages = source.wild()[0]
    elif rng.random() < 0.4:
        messages = [{"role": "tool", "content": source.text()} for _ in range(rng.randrange(1, 3))] + messages * rng.randrange(2)
    elif rng.random() < 0.2:
        messages = [source.assistant([]), *messages]
    return lambda session: session.extend(messages, enable_thinking=thinking)


def sealed(content: object) -> bytes:
    text = json.dumps(content, ensure_ascii=False)
    return json.dumps({"checkpoint": content, "sha256": hashlib.sha256(text.encode()).hexdigest()}, ensure_ascii=False).encode()


def whole() -> dict:
    """A checkpoint with something in each of its members."""
    session = contract("native").session(tools=[{"type": "function", "function": {"name": "f"}}], preserve_thinking=True)
    session.extend([{"role": "system", "content": "s"}, USER])
    session.reply(contract("native").tokenizer.encode_trusted("<think>\nR\n</think>\n\nx<|im_end|>"))
    session.extend([USER])
    return json.loads(session.save())["checkpoint"]


FORGERIES = [
    *({"profile": value} for value in ("publisher", "x", None, 1, [])),
    *({"enable_thinking": value} for value in (True, "x", 0)),
    *({"preserve_thinking": value} for value in (False, None, 1)),
    *({"tools": value} for value in (None, [], {}, [1], [{"a": 1}], "x")),
    *({"messages": value} for value in (None, [], {}, [USER], [USER, USER], [{"role": "x"}], "")),
    *({"records": value} for value in (None, {}, [], {"x": []}, {"9": [[], [], True, "INIT"]}, {"2": [[], [], True, "END"]}, {"2": 1})),
    *({"cached": value} for value in (None, [], {}, "", [1], [[]], [[0, [1], 0, 0]], [[True, [1], False, False]])),
    *({"cached": [[place, [1], False, True]]} for place in (0, 4, 5, -1, 2**70)),
    *({"cached": [[0, ids, False, True]]} for ids in ([], [151_669], [-1], [1.0], [True], ["1"], [2**40], 1)),
    {"cached": [[0, [1], False, True], [1, [1], False, True]]},
    *({"state": value} for value in (None, "INIT", "END", "x", 1)),
    *({"cached": [], "state": None}, {"cached": [], "state": "INIT"}, {"cached": [[0, [1], True, False]], "state": None}),
    *({"kind": value} for value in ("slm2 session 2", None)),
    *({"semantic_digest": value} for value in ("0", None, 1, ["x"])),
    {"more": 1},
]  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES, ids=str)
def test_forged_checkpoints_have_one_outcome(forgery: dict) -> None:
    data = sealed({**whole(), **forgery})
    assert alike(data) in ("checkpoint_refused", "restored")


def test_a_record_that_says_something_else_is_refused() -> None:
    content = whole()
    head, ids, ended, state = content["records"]["2"]
    for row in ([head, ids, not ended, state], [head, ids[:-1], ended, state], [head, [*ids, 1], ended, state], [head, ids, ended, "END"]):
        assert alike(sealed({**content, "records": {"2": row}})) == "checkpoint_refused"
    for row in ([[1], ids, ended, state], [[], ids, ended, state]):
        assert alike(sealed({**content, "records": {"2": row}})) == "restored"
    for missing in content:
        assert alike(sealed({name: value for name, value in content.items() if name != missing})) == "checkpoint_refused"
    moved = {name: content[name] for name in sorted(content)}
    assert alike(sealed(moved)) == "checkpoint_refused"


@pytest.mark.parametrize("seed", range(2))
def test_checkpoints_with_bytes_changed_have_one_outcome(seed: int) -> None:
    rng, data = random.Random(seed), sealed(whole())
    for _ in range(60):
        at = rng.randrange(len(data))
        alike(data[:at] + rng.randbytes(rng.randrange(3)) + data[at + rng.randrange(3) :])


def alike(data: bytes) -> str:
    """What both engines do with a checkpoint, and with the session where there is one."""

    def told(engine: EngineChoice) -> object:
        session = contract(engine).restore_session(data)
        steps = [lambda: session.extend([USER]), lambda: session.reply([9707, END]), session.settle, session.save]
        return session.save(), [outcome(step) for step in steps]

    native, reference = (outcome(lambda engine=engine: told(engine)) for engine in ENGINES)
    assert native == reference
    return native[0] if isinstance(native, tuple) and isinstance(native[0], str) else "restored"


NESTED = {depth: json.loads('{"a":' * depth + "1" + "}" * depth) for depth in (120, 121, 122, 125, 126)}


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_checkpoint_could_not_hold_is_refused_when_it_comes(engine: EngineChoice) -> None:
    """M-106: every session can be saved, and every checkpoint restored."""
    opened = contract(engine)
    for depth, nested in NESTED.items():
        call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": nested}}]}
        session = opened.session()
        found = outcome(lambda session=session, call=call: session.extend([USER, call, USER]))
        tools = outcome(lambda nested=nested: opened.session(tools=[nested]).save())
        assert isinstance(found, tuple) == (depth > 121), depth
        assert isinstance(tools, tuple) == (depth > 125), depth
        if depth <= 121:
            assert opened.restore_session(session.save()).save() == session.save()
    for value in (object(), float("nan"), {1: 2}):
        refused = outcome(lambda value=value: opened.session().extend([{**USER, "id": value}]))
        assert refused[0] in ("invalid_type", "json_number")
