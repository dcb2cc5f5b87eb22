"""The process of one subject: it loads once, and forks a child for each measure, which so meets the state right after loading.

Requests come as JSON lines on stdin and are answered in order on what was stdout; subjects that print cannot disturb the answers.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .measures import MEASURES, Request, check, loaded, write_answers
from .subjects import SUBJECTS, Subject, absent, version

__all__ = ["in_child", "main"]

Answer = dict[str, Any]


def main(mode: str, name: str, folder: str) -> None:
    """``serve`` requests with the subject loaded, or answer one and end with it not loaded (``once``)."""
    out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    cls = SUBJECTS[name]
    reason = absent(cls, Path(folder))
    if reason is not None:
        out.write(json.dumps({"absent": reason}) + "\n")
        return
    subject = cls()
    if mode == "once":
        request = Request(**json.loads(sys.stdin.readline()))
        out.write(json.dumps(_result(lambda: _measure(subject, request))) + "\n")
        return
    hello = _result(lambda: _describe(loaded(subject, Path(folder))))
    out.write(json.dumps(hello) + "\n")
    if "failure" not in hello:
        for line in sys.stdin:
            asked = json.loads(line)
            out.write(json.dumps(in_child(subject, Request(**asked["request"]), asked["timeout"])) + "\n")


def _describe(subject: Subject) -> Answer:
    cls = type(subject)
    return {"title": cls.title, "version": version(cls), "output": cls.output, "profile": cls.profile, "python": sys.version.split()[0]}


def _result(run: Callable[[], Answer]) -> Answer:
    try:
        return run()
    except BaseException as error:  # whatever a subject raises is a result; Rust's panics are BaseException
        return {"failure": f"{type(error).__name__}: {error}"[:200]}


def _run(subject: Subject, request: Request) -> Answer:
    if request.measure == "check":
        return check(subject, request)
    if request.measure == "answers":
        return dict(write_answers(subject, request))
    return _measure(subject, request)


def _measure(subject: Subject, request: Request) -> Answer:
    """Six digits, which is more than any clock here can tell."""
    return {name: float(f"{value:.6g}") for name, value in MEASURES[request.measure].run(subject, request).items()}


def in_child(subject: Subject, request: Request, timeout: float) -> Answer:
    """Fork; what the child writes before its time is over, or how it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        gc.collect()
        gc.disable()
        with os.fdopen(writer, "w", encoding="utf-8") as pipe:
            pipe.write(json.dumps(_result(lambda: _run(subject, request))))
        os._exit(0)
    os.close(writer)
    written, in_time = _read_until(reader, time.monotonic() + timeout)
    os.close(reader)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not in_time:
        return {"failure": f"no end in {timeout:g} s"}
    if not written:
        return {"failure": f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"}
    answer: Answer = json.loads(written)
    return answer


def _read_until(reader: int, deadline: float) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    while select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts), True
        parts.append(part)
    return b"", False
