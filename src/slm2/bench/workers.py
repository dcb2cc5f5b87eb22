"""The driver's side of workers: one that has loaded a subject and is asked again and again, and one that answers once."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from slm2.bench.measures import Request

__all__ = ["Answer", "Server", "once"]

_START = Path(__file__).with_name("start.py")

Answer = dict[str, Any]
_ENDED = {"failure": "the worker ended"}


def _environment(threads: int) -> dict[str, str]:
    """One thread where a library asks the environment."""
    return {
        **os.environ,
        "RAYON_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "PYTHONHASHSEED": "0",
        "USE_TORCH": "0",
    }


class Server:
    """A worker that has loaded a subject."""

    def __init__(self, name: str, folder: Path, python: str, timeout: float) -> None:
        self.name = name
        self.python = python
        self._timeout = timeout
        self._process = subprocess.Popen(
            [python, str(_START), "serve", name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(1),
            text=True,
            encoding="utf-8",
        )
        self.hello = self._answer()

    @property
    def ready(self) -> bool:
        """Whether it can be asked."""
        return not {"absent", "failure"} & self.hello.keys()

    def ask(self, request: Request) -> Answer:
        """Run a measure in a child of the worker."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"request": request.to_dict(), "timeout": self._timeout}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return dict(_ENDED)
        return self._answer()

    def _answer(self) -> Answer:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: Answer = json.loads(line) if line else dict(_ENDED)
        return answer

    def close(self) -> None:
        """End the worker."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def once(name: str, folder: Path, python: str, request: Request, timeout: float) -> Answer:
    """A measure in a new process."""
    try:
        done = subprocess.run(
            [python, str(_START), "once", name, str(folder)],
            input=json.dumps(request.to_dict()) + "\n",
            capture_output=True,
            env=_environment(request.threads if request.measure == "batch" else 1),
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"no end in {timeout:g} s"}
    if not done.stdout:
        return {"failure": f"exit status {done.returncode}"}
    answer: Answer = json.loads(done.stdout)
    return answer
