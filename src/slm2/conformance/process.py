"""Another program as a testee: it is started, asked line by line, and watched (contract/conformance.md)."""

from __future__ import annotations

import io
import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from slm2.artifact import Profile
from slm2.conformance.protocol import LONGEST_LINE, Call, ProtocolError, call_of, line, outcome_of

__all__ = ["BrokenTestee", "Process"]

# Requests that may wait for their answers (C-2).
_MOST_WAITING, _MOST_BYTES = 64, 2**20
# Seconds until an answer: of a call, of one that does much, of a program that opens its artifact or ends.
CALL_SECONDS, RUN_SECONDS, START_SECONDS, END_SECONDS = 120.0, 900.0, 180.0, 20.0
_LONG = frozenset({"draw", "scalars", "tokens", "assemble"})
_STDERR_SHOWN = 2000

Outcome = dict[str, Any]


class BrokenTestee(Exception):
    """A testee crashed, hung, or wrote what is no answer. The message says what and has the end of its standard error."""


class Process:
    """One running testee. Not for use by several threads.

    Attributes:
        methods: what it said that it answers.
        hello: all that it said about itself.
    """

    def __init__(self, command: Sequence[str], artifact: str) -> None:
        """Start a testee and greet it.

        Args:
            command: program and arguments; ``--artifact FILE`` is added.
            artifact: path of the artifact.

        Raises:
            BrokenTestee: it cannot be started, or its greeting is none.
        """
        pipe = subprocess.PIPE
        try:
            # The browser's page is served by this package.
            environment = {"SLM2_PYTHON": sys.executable, **os.environ}
            self._process = subprocess.Popen([*command, "--artifact", artifact], stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        except OSError as error:
            raise BrokenTestee(f"{command[0]} cannot be started: {error.strerror}") from None
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr: deque[str] = deque()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._write, self._read, self._listen)]
        for thread in self._threads:
            thread.start()
        self._number = 0
        outcome = self.call(Call("hello", {}), START_SECONDS)
        hello = outcome.get("expect")
        if not isinstance(hello, dict) or not isinstance(hello.get("methods"), list) or not isinstance(hello.get("host"), dict):
            raise self._failed(f"its greeting is none: {outcome}")
        self.hello: Outcome = hello
        self.methods: frozenset[str] = frozenset(hello["methods"])

    # ---- asking ----

    def answer(self, vector: Any, profile: Profile) -> Outcome:  # noqa: ANN401  (JSON)
        """The outcome of one vector, as :class:`slm2.conformance.suite.Testee` has it."""
        return self.call(call_of(vector, profile))

    def call(self, call: Call, seconds: float | None = None) -> Outcome:
        """The outcome of one call.

        Raises:
            BrokenTestee: see the class.
        """
        return next(self.calls([call], seconds))

    def calls(self, calls: Iterable[Call], seconds: float | None = None) -> Iterator[Outcome]:
        """The outcomes of calls, in their order, several of which are on their way at once.

        Raises:
            BrokenTestee: at the call that was not answered; those after it were not asked.
        """
        waiting: deque[tuple[int, str, int]] = deque()
        for call in calls:
            request = line({"id": self._number, "method": call.method, "params": call.params})
            if len(request) > LONGEST_LINE:
                raise ValueError(f"a request of {len(request)} bytes")
            while waiting and (len(waiting) >= _MOST_WAITING or sum(size for *_, size in waiting) + len(request) > _MOST_BYTES):
                yield self._outcome(*waiting.popleft()[:2], seconds)
            self._requests.put(request)
            waiting.append((self._number, call.method, len(request)))
            self._number += 1
        while waiting:
            yield self._outcome(*waiting.popleft()[:2], seconds)

    def _outcome(self, number: int, method: str, seconds: float | None) -> Outcome:
        limit = seconds or (RUN_SECONDS if method in _LONG else CALL_SECONDS)
        try:
            answer = self._answers.get(timeout=limit)
        except queue.Empty:
            raise self._failed(f"no answer to {method} within {limit:.0f} s") from None
        if answer is None:
            raise self._failed(f"it ended at {method}")
        try:
            return outcome_of(json.loads(answer), number)
        except (ValueError, ProtocolError) as error:
            raise self._failed(f"what it wrote at {method} is no answer: {error}: {answer[:200]!r}") from None

    # ---- ending ----

    def close(self) -> None:
        """End its input and wait for it.

        Raises:
            BrokenTestee: it does not end, or not with status 0.
        """
        self._requests.put(None)
        try:
            status = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            raise self._failed(f"it did not end within {END_SECONDS:.0f} s of its input's end") from None
        if status:
            raise self._failed("it did not end well")
        self._join()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        self._join()

    def _join(self) -> None:
        self._requests.put(None)
        for thread in self._threads:
            thread.join(END_SECONDS)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _failed(self, reason: str) -> BrokenTestee:
        """The program is stopped, if it has not stopped itself; its status says which of both."""
        try:
            status = f"status {self._process.wait(0.5)}"
        except subprocess.TimeoutExpired:
            status = "still running"
        self.kill()
        said = "".join(self._stderr)[-_STDERR_SHOWN:].strip()
        return BrokenTestee(f"{reason} ({status})" + (f"; standard error: {said}" if said else ""))

    # ---- threads, so that neither side waits for ever ----

    def _write(self) -> None:
        stream = self._process.stdin
        assert isinstance(stream, io.BufferedWriter)
        try:
            while (request := self._requests.get()) is not None:
                rest = memoryview(request)
                # Past the buffer, which would try again to write what was refused when it is collected.
                while rest:
                    rest = rest[stream.raw.write(rest) :]
        except OSError:  # it ended; whoever waits for the answer learns of it
            pass
        finally:
            stream.close()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        for answer in stream:
            self._answers.put(answer)
        self._answers.put(None)

    def _listen(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        for text in stream:
            self._stderr.append(text.decode("utf-8", "backslashreplace"))
            while len(self._stderr) > 100:
                self._stderr.popleft()
