"""``encode`` and ``encode_array`` of the native tokenizer, which are the engine's own: as those of the class that has them in Python."""

from __future__ import annotations

import inspect

import pytest

import slm2
from slm2.errors import Slm2Error
from slm2.tokenizer import Tokenizer

NATIVE, REFERENCE = (slm2.load(engine=name, profile="publisher").tokenizer for name in ("native", "reference"))
IN_PYTHON = Tokenizer(NATIVE._engine, "publisher")


class Message(str):
    __slots__ = ()


RELEASED = memoryview(b"ab")
RELEASED.release()
TEXTS = [
    "",
    "Hello, world",
    "é\ud800",
    b"\xff\xfe",
    bytearray(b"ab"),
    memoryview(b"a b"),
    Message("ab"),
    "<|im_end|>",
    None,
    5,
    ["ab"],
    RELEASED,
]
POLICIES = [{}, *({"on_special": value} for value in ("literal", "reject", Message("literal"), "", "Literal", "\ud800", None, 5))]


def answer(call, *arguments, **options):
    try:
        return list(call(*arguments, **options))
    except (Slm2Error, TypeError) as error:
        return error.to_dict() if isinstance(error, Slm2Error) else TypeError


@pytest.mark.parametrize("name", ["encode", "encode_array"])
@pytest.mark.parametrize("options", POLICIES, ids=repr)
def test_ids_and_refusals_are_those_of_the_class(name, options) -> None:
    for text in TEXTS:
        expected = answer(getattr(IN_PYTHON, name), text, **options)
        assert answer(getattr(NATIVE, name), text, **options) == answer(getattr(REFERENCE, name), text, **options) == expected


@pytest.mark.parametrize("name", ["encode", "encode_array"])
def test_arguments_are_those_of_the_class(name) -> None:
    call, in_python = getattr(NATIVE, name), getattr(IN_PYTHON, name)
    assert [(parameter.name, parameter.kind, parameter.default) for parameter in inspect.signature(call).parameters.values()] == [
        (parameter.name, parameter.kind, parameter.default) for parameter in inspect.signature(in_python).parameters.values()
    ]
    assert f"slm2.Tokenizer.{name}" in call.__doc__
    for arguments, options in [((), {}), (("a", "literal"), {}), (("a",), {"special": "skip"}), ((), {"text": "a b"})]:
        assert answer(call, *arguments, **options) == answer(in_python, *arguments, **options)


def test_it_is_a_tokenizer() -> None:
    assert isinstance(NATIVE, Tokenizer)
    assert repr(NATIVE) == repr(IN_PYTHON)
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        NATIVE.__reduce__()
