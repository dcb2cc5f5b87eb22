"""A program on a pseudo-terminal, typed at, and what it showed as an asciicast (version 2)."""

from __future__ import annotations

import json
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path

__all__ = ["Terminal", "write_cast"]

# Seconds: of a key, before it and after a line; and the longest pause that the recording keeps.
_KEY, _PAUSE, _LONGEST = 0.06, 0.8, 1.2
_PATIENCE = 120


class Terminal:
    """The program, and everything that it has shown with the second at which it did.

    Attributes:
        shown: seconds and text.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], *, columns: int, rows: int) -> None:
        self.shown: list[tuple[float, str]] = []
        self._start = time.monotonic()
        self._pending = b""
        self._process, self._screen = pty.fork()
        if self._process == 0:
            os.execvpe(command[0], list(command), dict(environment))
        ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def text(self) -> str:
        """All that was shown."""
        return "".join(text for _, text in self.shown)

    def until(self, text: str, *, after: int = 0) -> None:
        """Read until something was shown.

        Args:
            text: to wait for.
            after: how much of :attr:`text` is older than that.

        Raises:
            TimeoutError: it was not.
        """
        end = time.monotonic() + _PATIENCE
        while text not in self.text[after:]:
            if time.monotonic() > end or not self._read(0.2):
                raise TimeoutError(f"{text!r} was not shown: {self.text[after:]!r}")

    def type(self, line: str) -> None:
        """Type a line key by key, as somebody would."""
        for key in f"{line}\n":
            os.write(self._screen, key.encode())
            self._read(_KEY, whole=True)

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.write(self._screen, b"\x03")

    def rest(self, seconds: float = _PAUSE) -> None:
        """Read for a while."""
        self._read(seconds, whole=True)

    def close(self) -> int:
        """Read to the end; the program's exit status."""
        while self._read(1.0):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])

    def _read(self, seconds: float, *, whole: bool = False) -> bool:
        """Take what is shown within some seconds, or in all of them; False at the end of the program."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._screen], [], [], left)[0]:
                break
            try:
                data = os.read(self._screen, 65536)
            except OSError:  # so a closed pseudo-terminal ends
                return False
            if not data:
                return False
            self._take(data)
            if not whole:
                return True
        return True

    def _take(self, data: bytes) -> None:
        """Keep text; a character that was cut waits for its end."""
        data = self._pending + data
        text = data.decode("utf-8", errors="ignore")
        self._pending = data[len(text.encode()) :]
        self.shown.append((time.monotonic() - self._start, text))


def write_cast(path: Path, shown: Sequence[tuple[float, str]], *, columns: int, rows: int, title: str) -> None:
    """Write an asciicast; pauses are shortened to what one likes to watch."""
    lines: list[object] = [{"version": 2, "width": columns, "height": rows, "title": title, "env": {"TERM": "xterm-256color"}}]
    clock = before = 0.0
    for second, text in shown:
        clock += min(second - before, _LONGEST)
        before = second
        lines.append([round(clock, 3), "o", text])
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
