"""Generation: a model, a conversation and a configuration of sampling; events, and in the end a result.

The parts do the work: a session or Prompt2 makes the prompt, :mod:`slm2.drawing` the ids, :mod:`slm2.turn` the events.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from slm2.chat_checkpoint import restored, saved
from slm2.contract import Contract, load
from slm2.conversation import Asked, Conversation, RequestConversation, SessionConversation
from slm2.drawing import drawing
from slm2.engine import integer_id, shown_integer
from slm2.errors import Slm2Error
from slm2.logits_source import LogitsSource, ModelFacts, TokenServer, check_model
from slm2.model_cache import cache_of, common_prefix
from slm2.reference.json_text import json_type
from slm2.sampling import SamplingConfig
from slm2.session import Session
from slm2.stats import Stats
from slm2.turn import END_OF_TURN, Turn

if TYPE_CHECKING:
    from slm2.prompt_request import PromptRequest

__all__ = ["CONTEXT", "Chat", "generate"]

_LOG = logging.getLogger("slm2")

# Tokens of prompt and reply together (decisions D9).
CONTEXT = 32_768


class Chat:
    """A conversation with a model. It is of one thread; :meth:`slm2.turn.Turn.cancel` alone may be called from another.

    Attributes:
        source: the model.
        config: with which every reply is drawn; the generator goes on from one turn to the next.
    """

    def __init__(  # noqa: PLR0913  (each has a meaning of its own)
        self,
        source: LogitsSource | TokenServer,
        config: SamplingConfig,
        *,
        contract: Contract | None = None,
        session: Session | None = None,
        request: Mapping[str, object] | PromptRequest | None = None,
        context: int = CONTEXT,
    ) -> None:
        """Begin.

        Args:
            source: the model; its cache is used by all chats over it, one after the other.
            config: of sampling. ``max_tokens`` is what the window reserves for each reply; ``<|im_end|>`` must be among ``stop_ids``.
            contract: its profile is that of the configuration; None opens the embedded artifact.
            session: of the contract, its profile too, with what was said before; it stays as it is. None begins an empty one.
            request: of Prompt2, in place of a session: its ``user_turn`` is asked by ``begin()`` without messages, and its budget holds.
            context: tokens of the window, prompt and reply together; not with a request.

        Raises:
            Slm2Error: ``model_mismatch``; ``invalid_type``; ``invalid_value``; ``sampling_pairing`` where contract and configuration are
                of different profiles.
        """
        if not isinstance(config, SamplingConfig):
            raise Slm2Error("invalid_type", field="config", expected="a SamplingConfig", found=type(config).__name__)
        self._contract = contract if contract is not None else load(profile=config.profile)
        self.source, self.config = source, config
        self._stood: tuple[Conversation, bytes | None] = (_conversation(self._contract, session, request, context), None)
        self._turn: Turn | None = None
        check_source(self._contract, source, context if request is None else None)
        _check_config(self._contract, config)

    @classmethod
    def restore(
        cls,
        source: LogitsSource | TokenServer,
        config: SamplingConfig,
        data: bytes,
        *,
        contract: Contract | None = None,
        context: int = CONTEXT,
    ) -> Chat:
        """Go on from a checkpoint of :meth:`save`: what comes is what would have come, the same ids from the same logits.

        Args:
            source: the model; its cache need hold nothing.
            config: the one with which the replies were drawn.
            data: the checkpoint.
            contract: as for the class.
            context: as for the class.

        Raises:
            Slm2Error: ``checkpoint_refused`` where it is none of a chat, was changed, belongs to another artifact, or its replies were
                drawn with another configuration, and where a server would have to go on from a state of the generator;
                ``generator_state``; ``json_invalid``; or as the class.
        """
        if not isinstance(config, SamplingConfig):
            raise Slm2Error("invalid_type", field="config", expected="a SamplingConfig", found=type(config).__name__)
        contract = contract if contract is not None else load(profile=config.profile)
        session, state = restored(contract, config, data)
        chat = cls(source, config, contract=contract, session=session, context=context)
        if state is not None and not isinstance(source, LogitsSource):
            raise Slm2Error("checkpoint_refused", reason="its generator has drawn, and a server draws by itself")
        chat._stood = (chat.conversation, state)
        return chat

    def save(self) -> bytes:
        """A checkpoint: JSON with that of the session, the configuration and the generator's state. A turn that has not ended is not in it.

        Raises:
            TypeError: a chat over a request has none; its request says what was said.
        """
        session, state = self.session, self.generator_state
        return saved(session.save(), self.config, state)

    @property
    def conversation(self) -> Conversation:
        """As it stands; a turn that has not ended is not in it."""
        return self._standing()[0]

    @property
    def messages(self) -> list[Mapping[str, object]]:
        """Of a session: the conversation so far, as a copy; a turn that has not ended is not in it.

        Raises:
            TypeError: a chat over a request has none; its request says what was said.
        """
        return self.session.messages

    @property
    def session(self) -> Session:
        """Of the conversation so far, as a copy that goes on by itself.

        Raises:
            TypeError: a chat over a request has none.
        """
        conversation = self.conversation
        if not isinstance(conversation, SessionConversation):
            raise TypeError("this chat is over a request of Prompt2; chat.conversation.request is what was said")
        return conversation.session.fork()

    @property
    def generator_state(self) -> bytes | None:
        """Of the generator, from which the next turn draws; None before the first turn and of a server."""
        return self._standing()[1]

    def begin(self, messages: Sequence[Mapping[str, object]] = ()) -> Turn:
        """Say something, and get the turn of the reply. A turn that has not ended is given up by it.

        Args:
            messages: what is new; over a request a question or answers of tools, and nothing where its ``user_turn`` was not asked yet.

        Raises:
            Slm2Error: ``context_full``, before the model is asked for anything; what messages or a request are refused with.
        """
        if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
            raise Slm2Error("invalid_type", field="messages", expected="array", found=json_type(messages))
        before, state = self._standing()
        stats = Stats()
        with stats.timed("prompt"):
            conversation, asked = before.asked(messages, self.config.max_tokens)
        if self._turn is not None:  # only now: where the messages are refused, no other turn was begun
            self._turn.abandon("another turn was begun")
        stats.prompt_ids = len(asked.ids)
        if isinstance(self.source, LogitsSource):
            stats.reused_ids = common_prefix(cache_of(self.source).ids, asked.ids[:-1])
        _tell(messages, asked, stats)
        self._turn = Turn(
            self._contract,
            conversation,
            asked,
            drawing(self._contract, self.source, self.config, asked.ids, state, stats),
            model=self.source.model.name,
            config=self.config,
            stats=stats,
        )
        return self._turn

    def _standing(self) -> tuple[Conversation, bytes | None]:
        """Conversation and state of the generator after the last turn that has ended.

        A turn is taken over when somebody looks: its result is all that says that it has ended, so that no interrupt can leave half of it.
        """
        turn = self._turn
        if turn is not None and turn.outcome is not None:
            conversation = turn.conversation if turn.outcome.refusal is None else self._stood[0]
            self._stood = (conversation, turn.generator_state)
            self._turn = None
        return self._stood


def generate(  # noqa: PLR0913  (each has a meaning of its own)
    source: LogitsSource | TokenServer,
    conversation: Sequence[Mapping[str, object]] | Mapping[str, object] | PromptRequest,
    config: SamplingConfig,
    *,
    contract: Contract | None = None,
    tools: Sequence[object] | None = None,
    enable_thinking: bool | None = None,
    context: int = CONTEXT,
) -> Turn:
    """One reply. Iterate over the turn for its events as they come, or call ``result()`` for all of it.

    Args:
        source: the model.
        conversation: messages, or a request of Prompt2.
        config: of sampling; there is no default.
        contract: as for :class:`Chat`.
        tools: as :meth:`slm2.template.Template.render` takes them; a request has its own.
        enable_thinking: as there.
        context: tokens of the window; a request has its own budget.

    Raises:
        Slm2Error: as :class:`Chat` and :meth:`Chat.begin`.
    """
    if not isinstance(config, SamplingConfig):
        raise Slm2Error("invalid_type", field="config", expected="a SamplingConfig", found=type(config).__name__)
    contract = contract if contract is not None else load(profile=config.profile)
    if isinstance(conversation, Sequence):
        session = contract.session(tools=tools, enable_thinking=enable_thinking)
        return Chat(source, config, contract=contract, session=session, context=context).begin(conversation)
    for name, given in (("tools", tools), ("enable_thinking", enable_thinking)):
        if given is not None:
            raise Slm2Error("invalid_value", field=name, expected="absent: a request says it itself", found=json_type(given))
    return Chat(source, config, contract=contract, request=conversation).begin()


def check_source(contract: Contract, source: object, context: int | None) -> None:
    """Refuse what is no model, and one that does not belong to the contract or has a smaller window than the chat's.

    Raises:
        Slm2Error: ``invalid_type``, ``model_mismatch``.
    """
    if not isinstance(source, LogitsSource | TokenServer):
        expected = "a LogitsSource or a TokenServer (slm2.logits_source)"
        raise Slm2Error("invalid_type", field="source", expected=expected, found=type(source).__name__)
    facts = source.model
    if not isinstance(facts, ModelFacts):
        raise Slm2Error("invalid_type", field="source.model", expected="a ModelFacts (slm2.logits_source)", found=type(facts).__name__)
    check_model(contract, facts)
    if context is not None and facts.context is not None and facts.context < context:
        raise Slm2Error("model_mismatch", model=facts.name, what="the longest context", expected=f"at least {context}", found=facts.context)


def _conversation(
    contract: Contract, session: Session | None, request: Mapping[str, object] | PromptRequest | None, context: int
) -> Conversation:
    if request is not None:
        if session is not None:
            raise Slm2Error("invalid_value", field="session", expected="absent where a request is given", found="a Session")
        return RequestConversation(contract.prompt, request)
    if integer_id("context", context) < 1:
        raise Slm2Error("invalid_value", field="context", expected="an integer above 0", found=shown_integer(context))
    if session is None:
        return SessionConversation(contract.session(), context)
    if not isinstance(session, Session):
        raise Slm2Error("invalid_type", field="session", expected="a Session", found=type(session).__name__)
    _check_session(contract, session)
    return SessionConversation(session.fork(), context)


def _check_session(contract: Contract, session: Session) -> None:
    """Refuse a session of another profile or artifact, whose prompts would not be what the report says; its checkpoint names both."""
    named = json.loads(session.save())["checkpoint"]
    for name, expected in (("profile", contract.profile), ("semantic_digest", contract.digest)):
        if named[name] != expected:
            raise Slm2Error("invalid_value", field=f"session.{name}", expected=f"{expected}, the contract's", found=named[name])


def _check_config(contract: Contract, config: SamplingConfig) -> None:
    """A reply is read by its ids until its turn ends, so that its end must stop it, and no text of it can."""
    contract.sampler(config)  # refuses another profile
    end_of_turn = next(token_id for token_id, text in contract.engine.special_tokens if text == END_OF_TURN)
    if end_of_turn not in config.stop_ids:
        expected = f"ids with {end_of_turn} ({END_OF_TURN.decode()}) among them, which ends a turn"
        raise Slm2Error("invalid_value", field="stop_ids", expected=expected, found=str(list(config.stop_ids)))
    if config.stop_strings:
        expected = "none: a reply is read by its ids, and what follows a stop string would be in them"
        raise Slm2Error("invalid_value", field="stop_strings", expected=expected, found=f"{len(config.stop_strings)} texts")


def _tell(messages: Sequence[Mapping[str, object]], asked: Asked, stats: Stats) -> None:
    """Log that a turn begins. The ids are never logged, nor any text of a system message: the policy can be read out of them."""
    _LOG.info(
        "turn begun: %d prompt ids, %d of them in the cache, %d lost of it, %d steps of degradation",
        stats.prompt_ids,
        stats.reused_ids,
        sum(loss.ids for loss in asked.lost),
        asked.given_up,
    )
    if _LOG.isEnabledFor(logging.DEBUG):
        for message in messages:
            if message.get("role") in ("user", "tool"):
                _LOG.debug("%s: %s", message["role"], message.get("content"))
