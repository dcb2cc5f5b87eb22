"""Which messages belong together: turns of ``history`` and calls of ``steps`` (contract/prompt.md, P-23, P-24).

Template2 lets a call go without its response; Prompt2 does not, so that a turn can be taken out whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from slm2.errors import Slm2Error
from slm2.reference.messages import Message


def turns_of(history: Sequence[Message]) -> list[range]:
    """The messages of each turn: a user message, rounds of calls and responses, and the answer.

    Raises:
        Slm2Error: ``not_paired``, at the message that has no partner.
    """
    turns: list[range] = []
    at = 0
    while at < len(history):
        if history[at].role != "user":
            raise _refusal("history", at, "a turn begins with a user message")
        first, at = at, _rounds(history, at + 1, "history")
        if at == len(history):
            raise _refusal("history", at - 1, "the turn has no answer: an assistant message without calls")
        if history[at].role != "assistant":
            raise _refusal("history", at, _stray(history[at]))
        at += 1
        turns.append(range(first, at))
    return turns


def check_steps(steps: Sequence[Message]) -> None:
    """Refuse steps that are not rounds of calls and responses.

    Raises:
        Slm2Error: ``not_paired``, at the message that has no partner.
    """
    at = _rounds(steps, 0, "steps")
    if at < len(steps):
        answers = steps[at].role == "assistant"
        reason = "an assistant message without calls ends the turn; the turn belongs to history then" if answers else _stray(steps[at])
        raise _refusal("steps", at, reason)


def _rounds(messages: Sequence[Message], at: int, field: str) -> int:
    """Past every assistant message with calls that begins at ``at`` and all its responses."""
    while at < len(messages) and messages[at].tool_calls:
        calls = len(messages[at].tool_calls)
        responses = 0
        while at + 1 + responses < len(messages) and messages[at + 1 + responses].role == "tool":
            responses += 1
        if responses != calls:
            raise _refusal(field, at, f"it has {calls} calls and {responses} responses")
        at += 1 + calls
    return at


def _stray(message: Message) -> str:
    reasons = {
        "system": "the policy is the only system text",
        "user": "the turn before it has no answer",
        "tool": "it answers no call",
    }
    return reasons[message.role]


def _refusal(field: str, index: int, reason: str) -> Slm2Error:
    return Slm2Error("not_paired", field=field, index=index, reason=reason)
