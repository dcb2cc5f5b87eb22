"""How a chat looks: on a terminal with reasoning folded, calls and a bar of the window; in a pipe the words alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from slm2.cli.common import opened_stdin, write_bytes
from slm2.cli.generate import tell, text_of, write_text
from slm2.errors import Slm2Error
from slm2.files import reading
from slm2.reply import ReplyEvent
from slm2.screen import bar, console, safe
from slm2.turn import TurnResult

__all__ = ["Pipe", "Screen", "Terminal", "screen_of"]

_BAR_WIDTH = 48
_PROMPT = "› "
_HELP = """/help            this
/reasoning       show the reasoning of the last reply, and of those that come, or fold it again
/tool TEXT       answer the call of a tool
/retry           try the step again at which the model failed
/save FILE       write a checkpoint, which --session opens
/quit            leave, as the end of the input does
//TEXT           say something that begins with a slash
Ctrl-C gives a reply up: the conversation is then as before it."""


class Screen(Protocol):
    """Where a chat is shown and its lines come from."""

    show_reasoning: bool

    def ask(self) -> str | None:
        """The next line; None at the end of the input."""

    def event(self, event: ReplyEvent) -> None:
        """Something that a reply says."""

    def ended(self, result: TurnResult) -> None:
        """The reply has ended.

        Raises:
            Slm2Error: where there is nobody to decide how to go on, why no conversation can hold the reply.
        """

    def failed(self, error: Slm2Error, *, retry: bool) -> None:
        """Something was refused, or the model failed and can be tried again.

        Raises:
            Slm2Error: where there is nobody to decide how to go on.
        """

    def given_up(self) -> None:
        """An interrupt ended a reply."""

    def note(self, text: str) -> None:
        """An answer to a command."""

    def help(self) -> None:
        """The commands."""


class Pipe:
    """Lines in, words out; the first refusal ends it."""

    def __init__(self, *, show_reasoning: bool) -> None:
        self.show_reasoning = show_reasoning

    def ask(self) -> str | None:
        """See :class:`Screen`."""
        with reading("<stdin>"):
            line = opened_stdin().readline()
        try:
            return line.decode("utf-8").rstrip("\r\n") if line else None
        except UnicodeDecodeError as error:
            raise _no_utf8(error) from None

    def event(self, event: ReplyEvent) -> None:
        """See :class:`Screen`."""
        write_text(text_of(event, show_reasoning=self.show_reasoning))

    def ended(self, result: TurnResult) -> None:
        """See :class:`Screen`."""
        write_bytes(b"\n")
        tell(result)
        if result.refusal is not None:
            raise result.refusal

    def failed(self, error: Slm2Error, *, retry: bool) -> None:
        """See :class:`Screen`."""
        del retry
        raise error

    def given_up(self) -> None:
        """See :class:`Screen`."""
        raise KeyboardInterrupt

    def note(self, text: str) -> None:
        """See :class:`Screen`."""
        write_text(f"{text}\n")

    def help(self) -> None:
        """See :class:`Screen`."""
        self.note(_HELP)


class Terminal:
    """With colours, a folded line of reasoning that counts, and the window as a bar."""

    def __init__(self, new_screen: Callable[[], Console], *, show_reasoning: bool) -> None:
        self._new_screen = new_screen
        self._screen = new_screen()
        self.show_reasoning = show_reasoning
        self._folded = 0  # ids of the reasoning in the line that is being counted
        self._open = False  # whether the cursor stands behind some text

    def ask(self) -> str | None:
        """See :class:`Screen`."""
        try:
            return self._screen.input(Text(_PROMPT, "bold cyan"))
        except EOFError:
            self._screen.print()
            return None
        except UnicodeDecodeError as error:
            self.failed(_no_utf8(error), retry=False)
            return ""  # nothing is said by it

    def event(self, event: ReplyEvent) -> None:
        """See :class:`Screen`."""
        if event.kind == "reasoning" and not self.show_reasoning:
            self._folded += len(event.ids)
            self._fold(f"▸ thinking, {self._folded} tokens")
            return
        self._unfold()
        if event.kind in ("reasoning", "content"):
            self._text(event.text, "dim italic" if event.kind == "reasoning" else "")
        elif event.kind == "call":
            self._line(f"→ {event.name} {event.arguments}", "magenta")
        elif event.kind != "end":
            self._line(f"! {event.kind}: {event.reason or event.text}", "yellow")

    def ended(self, result: TurnResult) -> None:
        """See :class:`Screen`."""
        self._unfold()
        self._break()
        if result.stopped_by == "MaxTokens":
            self._line(f"! cut off at its limit of {result.config.max_tokens} tokens", "yellow")
        if result.refusal is not None:
            self.failed(result.refusal, retry=False)
        self._budget(result)

    def failed(self, error: Slm2Error, *, retry: bool) -> None:
        """See :class:`Screen`."""
        self._unfold()
        hint = "; /retry tries this step again" if retry else "; the conversation is as before"
        self._line(f"✗ {error.code}: {error}{hint}", "red")

    def given_up(self) -> None:
        """See :class:`Screen`. What rich was writing when the interrupt came may be out already, and would be written once more."""
        self._screen = self._new_screen()
        self._unfold()
        self._line("✗ given up; the conversation is as before", "yellow")

    def note(self, text: str) -> None:
        """See :class:`Screen`."""
        self._line(text, "dim")

    def help(self) -> None:
        """See :class:`Screen`."""
        self.note(_HELP)

    def _text(self, text: str, style: str = "") -> None:
        self._open = not text.endswith("\n") if text else self._open
        self._screen.print(Text(safe(text), style), end="", soft_wrap=True)

    def _line(self, text: str, style: str) -> None:
        self._break()
        self._screen.print(Text(safe(text), style), soft_wrap=True)

    def _break(self) -> None:
        if self._open:
            self._screen.print()
        self._open = False

    def _fold(self, text: str) -> None:
        """The same line again, with another count."""
        self._screen.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
        self._screen.print(Text(text, "dim"), end="", soft_wrap=True)
        self._open = True

    def _unfold(self) -> None:
        """Leave the folded line as it stands at the end of the reasoning."""
        if self._folded:
            self._fold(f"▸ thought for {self._folded} tokens (/reasoning shows it)")
            self._folded = 0
            self._break()

    def _budget(self, result: TurnResult) -> None:
        """The window after the turn: prompt, reply, what the next reply may have, and what is left."""
        budget, stats = result.budget, result.stats
        left = max(0, budget.context - budget.prompt_tokens - result.kept_ids - budget.reserve)
        parts = [
            ("▓", "cyan", budget.prompt_tokens),
            ("█", "green", result.kept_ids),
            ("░", "dim", budget.reserve),
            ("·", "dim", left),
        ]
        speed = "" if stats.ids_per_second is None else f", {stats.ids_per_second:.0f} a second"
        drawn = "" if result.sampled_by == "sampling2" else ", drawn by the server"
        numbers = (
            f" prompt {budget.prompt_tokens:,} ({stats.reused_ids:,} from the cache), reply {len(result.ids):,}{speed}{drawn},"
            f" reserved {budget.reserve:,}, left {left:,} of {budget.context:,}"
        )
        self._screen.print(bar(parts, _BAR_WIDTH))
        self._screen.print(Text(numbers.strip(), "dim"), soft_wrap=True)


def _no_utf8(error: UnicodeDecodeError) -> Slm2Error:
    return Slm2Error("invalid_value", field="line", expected="UTF-8", found=f"{error.reason} at byte {error.start}")


def screen_of(*, show_reasoning: bool) -> Screen:
    """A terminal where stdin and stdout are one, else a pipe."""
    if console().is_terminal and sys.stdin is not None and sys.stdin.isatty():
        return Terminal(console, show_reasoning=show_reasoning)
    return Pipe(show_reasoning=show_reasoning)
