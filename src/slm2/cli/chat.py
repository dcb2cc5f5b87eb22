"""``slm2 chat``: a conversation with a model, line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from slm2.chat import CONTEXT, Chat
from slm2.chat_checkpoint import is_of_chat
from slm2.cli.common import STANDARD, read_bytes, write_file
from slm2.cli.model import Opened, model_options, opened
from slm2.conversation import SessionConversation
from slm2.errors import Slm2Error
from slm2.reference.json_text import json_type, read_json
from slm2.turn import Turn, TurnResult

if TYPE_CHECKING:
    from slm2.cli.chat_screen import Screen

# Of a tool that reads the line: none is the model's choice.
_THINKING = {"auto": None, "on": True, "off": False}


@click.command("chat")
@click.option("--request", "request_file", metavar="R.json", help="Begin with a request of Prompt2; its user_turn is asked first.")
@click.option("--session", "session_file", metavar="S.json", help="Go on from a checkpoint of /save, with the same sampling.")
@click.option("--tools", "tools_file", metavar="T.json", help="An array of JSON schemas of tools.")
@click.option("--system", metavar="TEXT", help="A system message, before the first line.")
@click.option(
    "--thinking", type=click.Choice(list(_THINKING)), default="auto", show_default=True, help="Whether the model is asked to reason."
)
@click.option("--show-reasoning", is_flag=True, help="Show the reasoning as it comes, in place of one line that counts.")
@model_options
def command(  # noqa: PLR0913  (one parameter for each option)
    *,
    request_file: str | None,
    session_file: str | None,
    tools_file: str | None,
    system: str | None,
    thinking: str,
    show_reasoning: bool,
    **model: Any,  # noqa: ANN401
) -> None:
    """Talk with a model.

    Each line is said to the model; /help lists the commands. On a terminal, reasoning is folded to one line, calls of tools are shown,
    and a bar shows the window. Ctrl-C gives a reply up, and the conversation is as before it. In a pipe the replies alone are printed,
    and the first refusal ends the chat (exit status 3). Sampling has no default: --preset and --seed, or --config.
    """
    begun = {"--tools": tools_file, "--system": system, "--thinking": None if thinking == "auto" else thinking}
    of_session = {"--session": session_file, **begun, "--context": model["context"]}
    if request_file is not None and (wrong := [name for name, value in of_session.items() if value is not None]):
        raise click.UsageError(f"--request says all of the conversation; leave out {', '.join(wrong)}")
    if session_file is not None and (wrong := [name for name, value in begun.items() if value is not None]):
        raise click.UsageError(f"--session says how it was begun; leave out {', '.join(wrong)}")
    tools: Any = None if tools_file is None else read_json(read_bytes(tools_file))
    request: Any = None if request_file is None else read_json(read_bytes(request_file))
    if request_file is not None and not isinstance(request, dict):
        raise Slm2Error("invalid_type", field="request", expected="object", found=json_type(request))
    held = opened(**model)
    if session_file is not None:
        talk = _restored(held, read_bytes(session_file))
    else:
        session = None if request is not None else held.contract.session(tools=tools, enable_thinking=_THINKING[thinking])
        talk = _chat(held, session=session, request=request)

    from slm2.cli.chat_screen import screen_of  # noqa: PLC0415  (rich is slow to import)

    first = [] if system is None else [{"role": "system", "content": system}]
    Conversation(talk, screen_of(show_reasoning=show_reasoning), first).run(asked=request is not None)


def _chat(held: Opened, **begun: Any) -> Chat:  # noqa: ANN401  (checked there)
    return Chat(held.source, held.config, contract=held.contract, context=held.context or CONTEXT, **begun)


def _restored(held: Opened, data: bytes) -> Chat:
    """A chat that was saved; or one over a session that was, of which no generator's state is known: it begins at its seed."""
    if not is_of_chat(data):
        return _chat(held, session=held.contract.restore_session(data))
    return Chat.restore(held.source, held.config, data, contract=held.contract, context=held.context or CONTEXT)


class Conversation:
    """Lines in, turns out."""

    def __init__(self, chat: Chat, screen: Screen, first: Sequence[Mapping[str, object]]) -> None:
        self._chat = chat
        self._screen = screen
        self._first = list(first)  # said with the first line
        self._failed: Turn | None = None  # a turn whose step can be tried again
        self._last: TurnResult | None = None

    def run(self, *, asked: bool) -> None:
        """Until the input ends; ``asked`` where a request asks its own question first."""
        if asked:
            self._say([])
        while (line := self._screen.ask()) is not None:
            if line.startswith("/") and not line.startswith("//"):
                name, _, rest = line[1:].partition(" ")
                if name == "quit":
                    return
                self._command(name, rest.strip())
            elif line.strip():
                self._say([{"role": "user", "content": line.removeprefix("/") if line.startswith("//") else line}])

    def _command(self, name: str, rest: str) -> None:
        commands = {"help": self._screen.help, "reasoning": self._reasoning, "retry": self._retry}
        if name in commands and not rest:
            commands[name]()
        elif name == "tool" and rest:
            self._say([{"role": "tool", "content": rest}])
        elif name == "save" and rest:
            self._save(rest)
        else:
            expected = "/help, /reasoning, /retry, /quit, /tool TEXT or /save FILE"
            self._screen.failed(Slm2Error("invalid_value", field="command", expected=expected, found=f"/{name}"[:64]), retry=False)

    def _reasoning(self) -> None:
        """Show the reasoning of the last reply and of those that come; or fold it again."""
        self._screen.show_reasoning = not self._screen.show_reasoning
        if self._screen.show_reasoning and self._last is not None:
            self._screen.note(str(self._last.message["reasoning_content"]) or "no reasoning")
        elif not self._screen.show_reasoning:
            self._screen.note("reasoning is folded")

    def _save(self, file: str) -> None:
        try:
            if file == STANDARD:
                raise Slm2Error("invalid_value", field="command", expected="/save FILE: stdout is the chat's own", found=f"/save {file}")
            if not isinstance(self._chat.conversation, SessionConversation):
                raise Slm2Error("invalid_value", field="command", expected="a chat without --request", found="/save")
            if self._first:
                expected = "a reply before it: until then --system is no part of the conversation"
                raise Slm2Error("invalid_value", field="command", expected=expected, found="/save")
            write_file(file, self._chat.save())
        except Slm2Error as error:
            self._screen.failed(error, retry=False)
        else:
            self._screen.note(f"saved to {file}")

    def _retry(self) -> None:
        if self._failed is None:
            self._screen.note("no step has failed")
        else:
            self._take(self._failed)

    def _say(self, messages: list[dict[str, object]]) -> None:
        try:
            turn = self._chat.begin([*self._first, *messages])
        except Slm2Error as error:
            self._screen.failed(error, retry=False)
        else:
            self._take(turn)

    def _take(self, turn: Turn) -> None:
        """Show a turn to its end, to a failure, or to an interrupt."""
        self._failed = None
        try:
            for event in turn:
                self._screen.event(event)
            result = turn.result()
        except Slm2Error as error:
            self._failed = turn
            self._screen.failed(error, retry=True)
        except KeyboardInterrupt:
            turn.abandon("interrupted")
            self._screen.given_up()
        else:
            if result.refusal is None:
                self._first = []
            self._last = result
            self._screen.ended(result)
