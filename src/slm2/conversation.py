"""What a chat talks about, between its turns: a session, or a request of Prompt2 that grows.

Each question makes another conversation, so that a turn which is given up leaves the one before it as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from slm2.errors import Slm2Error
from slm2.prompt import BudgetUse, Prompt, SealedPolicy
from slm2.reference.json_text import json_type, shown, shown_key
from slm2.reference.messages import IGNORED_KEYS
from slm2.reply import ReplyEvent
from slm2.session import Loss, Session

if TYPE_CHECKING:
    from slm2.prompt_request import PromptRequest

__all__ = ["Asked", "Conversation", "RequestConversation", "SessionConversation"]

# Deeper than any request that is not refused (contract/template.md, M-31).
DEEPEST = 160

Messages = Sequence[Mapping[str, object]]
_OF_A_QUESTION = ("role", "content", *IGNORED_KEYS)


@dataclass(frozen=True, repr=False)
class Asked:
    """A prompt that waits for its reply.

    Attributes:
        ids: all of it; the policy can be read out of them, so that nothing prints or logs them.
        state: of the template's machine, in which the reply begins.
        budget: of the window, in tokens.
        lost: what the prompt does not have of the ids of the one before it and its reply; of a session.
        given_up: how many steps Prompt2 took to fit the budget; of a request.
    """

    ids: list[int]
    state: str
    budget: BudgetUse
    lost: tuple[Loss, ...] = ()
    given_up: int = 0


class Conversation(Protocol):
    """Messages so far."""

    def asked(self, messages: Messages, reserve: int) -> tuple[Conversation, Asked]:
        """Another conversation, in which these messages are said and a reply is waited for; this one stays as it is.

        Args:
            messages: what is new.
            reserve: ids that the reply may have.
        """

    def replied(self, ids: Sequence[int], message: Mapping[str, object], events: Sequence[ReplyEvent]) -> None:
        """Add the reply that was waited for: its ids, the message that they are, and what was told of them.

        Raises:
            Slm2Error: ``reply_refused``, ``ill_formed_text`` or ``no_prompt`` where it has no place in a conversation.
        """


class SessionConversation:
    """Over a :class:`slm2.session.Session`, in a window of ``context`` tokens."""

    def __init__(self, session: Session, context: int) -> None:
        self.session = session
        self._context = context

    def asked(self, messages: Messages, reserve: int) -> tuple[SessionConversation, Asked]:
        """See :class:`Conversation`; a window that is too full is ``context_full``."""
        session = self.session.fork()
        delta = session.extend(messages)
        ids = session.cached_ids
        left = self._context - len(ids) - reserve
        if left < 0:
            raise Slm2Error("context_full", tokens=len(ids), reserve=reserve, context=self._context)
        asked = Asked(ids, delta.state, BudgetUse(self._context, reserve, len(ids), left), tuple(delta.lost))
        return SessionConversation(session, self._context), asked

    def replied(self, ids: Sequence[int], message: Mapping[str, object], events: Sequence[ReplyEvent]) -> None:
        """See :class:`Conversation`."""
        del message, events  # a session reads the ids itself
        self.session.reply(ids)


class RequestConversation:
    """Over a request of Prompt2: each prompt is assembled within the request's budget, and what is old is given up as it allows."""

    def __init__(self, prompt: Prompt, request: Mapping[str, object] | PromptRequest) -> None:
        """Begin with a request, whose ``user_turn`` is the first question.

        Raises:
            Slm2Error: ``invalid_type``.
        """
        given: object = request if isinstance(request, Mapping) else getattr(request, "as_mapping", lambda: request)()
        if not isinstance(given, Mapping):
            raise Slm2Error("invalid_type", field="request", expected="object", found=json_type(given))
        self._prompt = prompt
        self._request: dict[str, object] = {name: _copied(value) for name, value in given.items()}
        if isinstance(self._request.get("policy"), str):
            self._request["policy"] = SealedPolicy(str(self._request["policy"]))

    @property
    def request(self) -> dict[str, object]:
        """As it stands: the last question and its steps, and before them the history. The policy is sealed."""
        return dict(self._request)

    def asked(self, messages: Messages, reserve: int) -> tuple[RequestConversation, Asked]:
        """See :class:`Conversation`; without messages the request is asked as it is.

        Raises:
            Slm2Error: a code of contract/prompt.md; ``invalid_value`` for a message that is neither a user's nor a tool's, or where the
                reply may have more ids than the request reserves; ``unknown_field``.
        """
        request = self._request
        for index, message in enumerate(messages):
            request = _said(request, message, index)
        grown = RequestConversation(self._prompt, request)
        assembly = self._prompt.assemble(request)
        budget = assembly.budget
        if reserve > budget.reserve:
            expected = f"at most the {budget.reserve} tokens of budget.reserve of the request"
            raise Slm2Error("invalid_value", field="max_tokens", expected=expected, found=str(reserve))
        return grown, Asked(assembly.input_ids, assembly.state, budget, given_up=len(assembly.ledger.steps))

    def replied(self, ids: Sequence[int], message: Mapping[str, object], events: Sequence[ReplyEvent]) -> None:
        """See :class:`Conversation`."""
        if not ids:
            raise Slm2Error("no_prompt")
        taken = 0
        for event in events:
            taken += len(event.ids)
            # The message has no part of a scalar value that a limit cut off; ids without it are what was said.
            if event.kind == "ill_formed" and taken <= len(ids):
                raise Slm2Error("ill_formed_text", position=len(ids), id=ids[-1], text="", pending=event.text)
            if event.kind == "unexpected":
                raise Slm2Error("reply_refused", position=taken - 1, id=event.ids[-1])
        self._request = {**self._request, "steps": [*_list(self._request, "steps"), dict(message)]}


def _said(request: dict[str, object], message: Mapping[str, object], index: int) -> dict[str, object]:
    """The request after one more message: an answer of a tool is a step; a question sends the one before it into the history."""
    role = message.get("role") if isinstance(message, Mapping) else None
    if role == "tool":
        return {**request, "steps": [*_list(request, "steps"), message]}
    if role != "user":
        raise Slm2Error("invalid_value", field=f"messages[{index}].role", expected="user or tool", found=shown(role))
    for key in message:  # a request has no place for it; nothing that is said is lost without a word
        if key not in _OF_A_QUESTION:
            raise Slm2Error("unknown_field", field=f"messages[{index}].{shown_key(key)}", known=", ".join(_OF_A_QUESTION))
    before = {"role": "user", "content": request.get("user_turn")}
    history = [*_list(request, "history"), before, *_list(request, "steps")]
    return {**request, "history": history, "user_turn": message.get("content"), "steps": []}


def _copied(value: object, depth: int = 0) -> object:
    """A value of JSON that nobody else changes. What is nested deeper than Prompt2 reads stays, and is refused there."""
    if depth < DEEPEST and isinstance(value, Mapping):
        return {key: _copied(member, depth + 1) for key, member in value.items()}
    if depth < DEEPEST and isinstance(value, list | tuple):
        return [_copied(element, depth + 1) for element in value]
    return value


def _list(request: Mapping[str, object], name: str) -> list[object]:
    value = request.get(name)
    return list(value) if isinstance(value, list | tuple) else []
