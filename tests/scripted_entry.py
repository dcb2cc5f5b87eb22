"""Models for ``--model python:scripted_entry:NAME``, in a process of the command line too."""

from __future__ import annotations

import os
import time

import slm2
from scripted_models import END_OF_TURN, Failure, ScriptModel, WordModel, WordServer
from slm2.logits_source import Served

CALL = '<think>\nThe clock.\n</think>\n\n<tool_call>\n{"name": "time", "arguments": {"zone": "UTC"}}\n</tool_call><|im_end|>'
ANSWER = "<think>\nIt is noon.\n</think>\n\nIt is noon: 12:00 in UTC. \x1b[31m<|im_end|>"


def _ids(*texts: str) -> list[list[int]]:
    tokenizer = slm2.load().tokenizer
    return [tokenizer.encode_trusted(text) for text in texts]


def clock() -> ScriptModel:
    """A call of a tool, an answer with reasoning and a control sequence, and small talk."""
    return ScriptModel(*_ids(CALL, ANSWER, "You are welcome.<|im_end|>", "Bye.<|im_end|>"))


def words() -> WordModel:
    """Words by chance."""
    return WordModel()


def wide() -> WordModel:
    """Weights of another width."""
    return WordModel(width=152_064)


def failing() -> ScriptModel:
    """Fails once, at its third step."""
    model = clock()
    model.fails_at = {2: "after"}
    return model


def no_text() -> ScriptModel:
    """Bytes that are no text, after some that are."""
    return ScriptModel([9707, slm2.load().engine.token_id(b"\xff"), END_OF_TURN])


def server() -> WordServer:
    """Draws by itself, and breaks off at the second request."""
    return WordServer([Served([9707, END_OF_TURN], "stop")], [Failure("connection lost")])


class Slow(WordModel):
    """Says that it is asked, in a file, and takes its time."""

    def row(self):
        with open(os.environ["SLM2_TEST_ASKED"], "a", encoding="ascii") as asked:
            asked.write("asked\n")
        time.sleep(0.2)
        return super().row()


def slow() -> Slow:
    """Words by chance, slowly."""
    return Slow()


def broken() -> WordModel:
    """Fails before there is a model."""
    raise Failure("no such device")


def nothing() -> object:
    """Not a model."""
    return object()
