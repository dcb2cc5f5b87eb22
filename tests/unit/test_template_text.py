"""The text and the structural tokens that a conversation becomes (contract/template.md, M-40 to M-56)."""

from __future__ import annotations

import pytest

from programs import compose, composition
from slm2.reference.messages import Message, parse, parse_tools
from slm2.reference.pieces import Fragment, Piece, Structural
from slm2.reference.rendering import text

USER = {"role": "user", "content": "q"}
FOLLOW = {"role": "user", "content": "r"}
HEAD = (
    "<|im_start|>system\n{system}# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{tools}\n</tools>\n\n"
    "For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n"
    '<tool_call>\n{{"name": <function-name>, "arguments": <args-json-object>}}\n</tool_call><|im_end|>\n'
)
QUESTION = "<|im_start|>user\nq<|im_end|>\n"
CALL = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'


def said(content: str, reasoning: str | None = None, calls: int = 0) -> dict:
    call = {"name": "f", "arguments": {}}
    return {"role": "assistant", "content": content, "reasoning_content": reasoning, "tool_calls": [call] * calls}


def tool(content: str) -> dict:
    return {"role": "tool", "content": content}


def prompt(*messages: dict, tools: object = None, thinking: bool | None = None, generate: bool = False) -> str:
    return text(compose(parse(messages), parse_tools(tools), enable_thinking=thinking, add_generation_prompt=generate))


def turn(body: str) -> str:
    return f"<|im_start|>assistant\n{body}<|im_end|>\n"


def test_m_43_m_44_tools() -> None:
    tools = [{"b": 1, "a": "é"}, {}]
    written = '{"b": 1, "a": "é"}\n{}'
    assert prompt(USER, tools=tools) == HEAD.format(system="", tools=written) + QUESTION
    with_system = prompt({"role": "system", "content": "s"}, USER, tools=tools)
    assert with_system == HEAD.format(system="s\n\n", tools=written) + QUESTION
    assert prompt({"role": "system", "content": ""}, USER, tools=tools) == HEAD.format(system="\n\n", tools=written) + QUESTION


def test_m_44_only_the_tags_of_calls_are_structural() -> None:
    items = compose(parse([USER]), parse_tools([{}]), enable_thinking=None, add_generation_prompt=False)
    marks = [item.text for item in items if isinstance(item, Structural)]
    calls = ["<tool_call>", "</tool_call>"]
    assert marks == ["<|im_start|>", *calls, *calls, "<|im_end|>", "<|im_start|>", "<|im_end|>"]
    assert any(b"<tools></tools>" in item.data for item in items if isinstance(item, Piece))


def test_m_45_m_46_system_and_user() -> None:
    expected = "<|im_start|>system\n s \n<|im_end|>\n" + QUESTION
    assert prompt({"role": "system", "content": " s \n"}, USER) == expected
    assert prompt({"role": "system", "content": " s \n"}, USER, tools=[]) == expected
    assert prompt({"role": "user", "content": "\ud83d"}) == "<|im_start|>user\n\ufffd<|im_end|>\n"


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((USER, said("x", "R")), turn("<think>\nR\n</think>\n\nx")),
        ((USER, said("x")), turn("<think>\n\n</think>\n\nx")),
        ((USER, said("\n\n x\n", "\n\n R \n \n")), turn("<think>\n R \n \n</think>\n\n x\n")),
        ((USER, said("\r\nx", "\r\nR\r\n")), turn("<think>\n\r\nR\r\n</think>\n\n\r\nx")),
        ((USER, said("<think>\nT\n</think>\n\nx")), turn("<think>\nT\n</think>\n\nx")),
        ((USER, said("<think>\n\nT\n\n</think>\n\n\nx")), turn("<think>\nT\n</think>\n\nx")),
        ((USER, said("<think>\nT\n</think>\n\nx", "")), turn("<think>\n\n</think>\n\n<think>\nT\n</think>\n\nx")),
        ((USER, said("a <think> b")), turn("<think>\n\n</think>\n\na <think> b")),
    ],
)
def test_m_50_m_51_m_53_the_last_reply(messages: tuple, expected: str) -> None:
    assert prompt(*messages) == QUESTION + expected


def test_m_52_reasoning_stays_after_the_last_question_only() -> None:
    loop = (USER, said("c", "R", 1), tool("t"))
    answer = "<|im_start|>user\n<tool_response>\nt\n</tool_response><|im_end|>\n"
    assert prompt(*loop) == QUESTION + turn(f"<think>\nR\n</think>\n\nc\n{CALL}") + answer
    assert prompt(USER, said("c", "", 1), tool("t")) == QUESTION + turn(f"c\n{CALL}") + answer
    ended = prompt(*loop, said("\nx", "S"), FOLLOW)
    assert ended == QUESTION + turn(f"c\n{CALL}") + answer + turn("\nx") + QUESTION.replace("q", "r")


def test_m_52_dropped_reasoning_is_told() -> None:
    messages = parse(
        [USER, said("c", "R", 1), tool("t"), said("<think>\nS\n</think>\n\nx"), FOLLOW, said("y", "\n"), FOLLOW, said("z", "T")]
    )
    assert composition(messages).dropped == [1, 3]


def test_m_42_text_in_the_shape_of_an_answer_is_no_question() -> None:
    """Only an application can put such text in; M-27 refuses it from others."""
    shape = Message("user", (Fragment("<tool_response>", "application", "a"), Fragment("x</tool_response>", "application", "b")))
    messages = [*parse([USER, said("x", "R")]), shape]
    assert "<think>\nR\n</think>" in text(compose(messages, [], enable_thinking=None, add_generation_prompt=True))
    assert text(compose([shape, *parse([said("x", "R")])], [], enable_thinking=None, add_generation_prompt=False)).endswith(turn("x"))
    nearly = Message("user", (*shape.content, Fragment("\n", "application", "c")))
    assert "<think>" not in text(compose([*messages[:2], nearly], [], enable_thinking=None, add_generation_prompt=True))


@pytest.mark.parametrize(
    ("content", "body"),
    [("", CALL), ("c", f"c\n{CALL}"), ("\n", f"\n{CALL}"), (" ", f" \n{CALL}")],
)
def test_m_54_the_newline_before_a_call(content: str, body: str) -> None:
    assert prompt(USER, said(content, None, 2)) == QUESTION + turn(f"<think>\n\n</think>\n\n{body}\n{CALL}")


def test_m_54_arguments_as_text_stay_as_they_are() -> None:
    def called(arguments: object) -> str:
        message = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
        return prompt(USER, message, FOLLOW)

    assert ' "arguments": {"a":1,  "b":1e5}\n}\n' in called('{"a":1,  "b":1e5}\n')
    assert ' "arguments": {"a": 1, "b": 100000.0}}\n' in called({"a": 1, "b": 1e5})


def test_m_55_answers_share_a_turn() -> None:
    answers = prompt(USER, said("", None, 2), tool(""), tool("b"), FOLLOW)
    assert answers.endswith(
        "<|im_start|>user\n<tool_response>\n\n</tool_response>\n<tool_response>\nb\n</tool_response><|im_end|>\n<|im_start|>user\nr<|im_end|>\n"
    )


@pytest.mark.parametrize("thinking", [None, True, False])
def test_m_56_generation_prompt(thinking: bool | None) -> None:
    closed = "<think>\n\n</think>\n\n" if thinking is False else ""
    assert prompt(USER, thinking=thinking, generate=True) == QUESTION + "<|im_start|>assistant\n" + closed
    assert prompt(USER, thinking=thinking) == QUESTION
