"""A model that fails at every possible step: the turn is then as it was before that step, and the conversation as it was before the turn.

Both ways to go on are taken, trying the step again and beginning the turn again, and both give what a run without failures gives.
"""

from __future__ import annotations

import os
import random
import sys
from functools import cache
from types import FrameType

import pytest

import slm2
from scripted_models import ScriptModel, WordModel, config
from slm2.errors import Slm2Error

QUESTIONS = ("Hi", "And then?", "Why?")
ENGINES = {name: slm2.load(engine=name) for name in ("native", "reference")}
REPLIES = [
    ENGINES["native"].tokenizer.encode_trusted(text)
    for text in (
        '<think>\nA call.\n</think>\n\n<tool_call>\n{"name": "time", "arguments": {}}\n</tool_call><|im_end|>',
        "<think>\n\n</think>\n\nnaïve 👍🏽 中文\n<|im_end|>",
        " one two three four" * 7,  # cut off at its limit
    )
]
MODELS = {"words": WordModel, "script": lambda: ScriptModel(*REPLIES)}
TURN_FILES = tuple(f"slm2/{name}.py" for name in ("chat", "conversation", "drawing", "generation", "model_cache", "sampling", "turn"))
EXHAUSTIVE = os.environ.get("SLM2_EXHAUSTIVE") == "1"
STRIDE = 1 if EXHAUSTIVE else 23
HOW = ("before", "after", "nan", "interrupt")


def chat_over(model, engine="native"):
    return slm2.Chat(model, config(max_tokens=24, seed=11), contract=ENGINES[engine])


def whole(turn):
    """Events and result of a turn, all that a failure may not change."""
    events = list(turn)
    result = turn.result()
    told = {**result.to_dict(), "stats": None, "refusal": result.refusal and result.refusal.code}
    return events, told


@cache
def undisturbed(kind, engine="native"):
    """What each turn gives, and the chat before and after each: checkpoint and state of the generator."""
    model = MODELS[kind]()
    chat = chat_over(model, engine)
    turns, stood = [], [(chat.session.save(), chat.generator_state)]
    for question in QUESTIONS:
        turns.append(whole(chat.begin([{"role": "user", "content": question}])))
        stood.append((chat.session.save(), chat.generator_state))
    return turns, stood, model.count + 1


def read(turn, how=None):
    """The events until a step fails, and whether one did, in the way that was asked for."""
    events = []
    try:
        for event in turn:
            events.append(event)  # noqa: PERF402  (what came before the failure is kept)
    except KeyboardInterrupt:
        assert how in (None, "interrupt")
        return events, True
    except Slm2Error as error:
        codes = {None: ("logits_invalid", "model_failed"), "nan": ("logits_invalid",)}.get(how, ("model_failed",))
        if error.code not in codes:
            raise
        return events, True
    return events, False


def step_tried_again(kind, engine, at, how):
    """Fail at one call of the whole run, and try that step again."""
    turns, stood, _ = undisturbed(kind, engine)
    model = MODELS[kind]()
    model.fails_at = {at: how}
    chat = chat_over(model, engine)
    failures = 0
    for number, question in enumerate(QUESTIONS):
        turn = chat.begin([{"role": "user", "content": question}])
        events, failed = read(turn, how)
        if failed:
            failures += 1
            assert (chat.session.save(), chat.generator_state) == stood[number]
            more, again = read(turn, how)
            assert not again
            events += more
        assert (events, whole(turn)[1]) == turns[number]
        assert (chat.session.save(), chat.generator_state) == stood[number + 1]
    assert failures == 1


def turn_begun_again(kind, engine, at, how):
    """Fail at one call of the whole run, give the turn up, and begin it again."""
    turns, stood, _ = undisturbed(kind, engine)
    model = MODELS[kind]()
    model.fails_at = {at: how}
    chat = chat_over(model, engine)
    for number, question in enumerate(QUESTIONS):
        message = [{"role": "user", "content": question}]
        turn = chat.begin(message)
        _, failed = read(turn, how)
        if failed:
            turn.abandon()
            assert (chat.session.save(), chat.generator_state) == stood[number]
            turn = chat.begin(message)
            assert whole(turn) == turns[number]
        assert (chat.session.save(), chat.generator_state) == stood[number + 1]


@pytest.mark.parametrize("kind", MODELS)
def test_every_step_of_every_turn(kind) -> None:
    """Each step fails in one of four ways, and one way to go on is taken; with SLM2_EXHAUSTIVE=1 all of both."""
    *_, calls = undisturbed(kind)
    assert calls > 25
    ways = [(how, again) for again in (step_tried_again, turn_begun_again) for how in HOW]
    for at in range(calls):
        for how, again in ways if EXHAUSTIVE else (ways[at % len(ways)],):
            again(kind, "native", at, how)


def test_the_reference_does_the_same() -> None:
    assert undisturbed("words", "reference")[0][0][0] == undisturbed("words")[0][0][0]
    step_tried_again("words", "reference", 5, "after")
    turn_begun_again("words", "reference", 20, "before")


class Interrupt:
    """Raises KeyboardInterrupt at the n-th line of the package that is run."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _: object):
        if not frame.f_code.co_filename.endswith(TURN_FILES):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


@pytest.mark.parametrize("kind", MODELS)
def test_an_interrupt_at_any_line(kind) -> None:
    """As a signal handler raises it: the chat stands before the turn or after it, and goes on as if nothing had been."""
    turns, stood, _ = undisturbed(kind)
    message = [{"role": "user", "content": QUESTIONS[0]}]
    seen = set()
    first = random.randrange(1, STRIDE + 1)
    print("lines", first, STRIDE)
    for at in range(first, 3000, STRIDE if kind == "words" else 4 * STRIDE):
        chat = chat_over(MODELS[kind]())
        before = sys.gettrace()
        sys.settrace(Interrupt(at))
        try:
            list(chat.begin(message))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        place = stood.index((chat.session.save(), chat.generator_state))
        assert place in (0, 1)
        seen.add(place)
        if place == 0:
            assert whole(chat.begin(message)) == turns[0]
        assert (chat.session.save(), chat.generator_state) == stood[1]
    assert seen == {0, 1}


def test_many_failures_at_random() -> None:
    """Several calls one after the other fail, by a seed that is printed."""
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    turns, stood, calls = undisturbed("words")
    for _ in range(20):
        model = WordModel()
        model.fails_at = {at: chance.choice(HOW) for at in range(3 * calls) if chance.random() < 0.4}
        chat = chat_over(model)
        for number, question in enumerate(QUESTIONS):
            turn = chat.begin([{"role": "user", "content": question}])
            events = []
            while True:
                more, failed = read(turn)
                events += more
                if not failed:
                    break
                assert (chat.session.save(), chat.generator_state) == stood[number]
            assert (events, whole(turn)[1]) == turns[number]
