"""A run: every measure over every input, subject after subject in each round, and the ids compared with the oracle's before."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slm2 import __version__
from slm2.bench import corpus, sources
from slm2.bench.corpus import Input
from slm2.bench.measures import MEASURES, Measure, Request
from slm2.bench.subjects import ORACLE_VERSION, SUBJECTS, has
from slm2.contract import load
from slm2.engine import native_reason

__all__ = ["FORM", "ORDINARY_EXCEPT", "Settings", "default_subjects", "run"]

FORM = 1
# The columns whose text is made to be strange; a subject that is wrong on these alone counts where ids have no part.
ORDINARY_EXCEPT = ("hostile", "decomposed", "nfd")
_REFERENCE_LIMIT = 20_000
_ALL = "all"
_START = Path(__file__).with_name("start.py")

Progress = Callable[[str, int, int], None]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What to run.

    Attributes:
        subjects: names; those that are not there are told and left out.
        measures: names.
        folder: of texts; None to make them.
        size: bytes of a text at most; giant pre-tokens have as many.
        rounds: how often each measure is taken.
        threads: of the batch call.
        timeout: seconds after which a measure is given up.
        tokenizer_json: the publisher's file; None leaves out the subjects that load it.
        artifact: None for the embedded one.
        pythons: interpreters of subjects that have one of their own.
    """

    subjects: tuple[str, ...]
    measures: tuple[str, ...] = tuple(MEASURES)
    folder: Path | None = None
    size: int = 1_000_000
    rounds: int = 3
    threads: int = 2
    timeout: float = 60.0
    tokenizer_json: Path | None = None
    artifact: Path | None = None
    pythons: Mapping[str, str] = field(default_factory=dict)


def default_subjects() -> tuple[str, ...]:
    """All but the reference, which takes minutes for what the others do in seconds, and stands in where there is no native engine."""
    if native_reason() is None:
        return tuple(name for name in SUBJECTS if not name.startswith(("slm2-reference", "tokenizers-contract")))
    return ("slm2-reference", *(name for name in SUBJECTS if not name.startswith("slm2") and name != "tokenizers-contract"))


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
        self._process.stdin.write(json.dumps({"request": request.to_dict(), "timeout": self._timeout}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Answer:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: Answer = json.loads(line) if line else {"failure": "the worker ended"}
        return answer

    def close(self) -> None:
        """End the worker."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _once(name: str, folder: Path, python: str, request: Request, timeout: float) -> Answer:
    """A measure in a new process."""
    try:
        done = subprocess.run(
            [python, str(_START), "once", name, str(folder)],
            input=json.dumps(request.to_dict()) + "\n",
            capture_output=True,
            env=_environment(request.threads),
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


@dataclass(frozen=True)
class _Given:
    """An input where workers find it."""

    name: str
    path: Path
    bytes: int
    special: bool
    lines: bool
    group: str

    def request(self, measure: str, answers: str = "", limit: int | None = None, threads: int = 1) -> Request:
        """Of a measure over it."""
        return Request(measure, str(self.path), self.special, answers, limit, self.lines, threads)


def _inputs(settings: Settings, folder: Path) -> list[_Given]:
    contract = load(settings.artifact, engine="auto")
    special_texts = list(contract.tokenizer.special_tokens)
    tokenizer = contract.tokenizer
    made = corpus.made_texts([tokenizer.token_bytes(number) for number in range(tokenizer.vocabulary_size)], settings.size)
    texts = made
    if settings.folder is not None:
        texts = corpus.read_texts(settings.folder, settings.size)
        names = {text.name for text in texts}
        texts = corpus.in_order([*texts, *(text for text in made if text.name == "chat" and text.name not in names)])
    plain = [text for text in texts if not text.holds(special_texts)]
    groups: dict[str, list[Input]] = {
        "texts": texts,
        "giants": corpus.giants(settings.size),
        "special": [corpus.special_lines(special_texts)],
        "messages": [corpus.texts_of_messages()],
        _ALL: [Input(_ALL, b"".join(text.data for text in plain))],
    }
    given = []
    for group, members in groups.items():
        for member in members:
            path = folder / f"{group}-{member.name}"
            path.write_bytes(member.data)
            given.append(_Given(member.name, path, len(member.data), member.holds(special_texts), group == "messages", group))
    return given


def run(settings: Settings, progress: Progress) -> dict[str, Any]:
    """Measure everything; what came out, as JSON has it (bench/README.md describes the form)."""
    with tempfile.TemporaryDirectory(prefix="slm2-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        if settings.tokenizer_json is not None:
            sources.write(settings.tokenizer_json, folder)
        if settings.artifact is not None:
            (folder / "artifact.slm2").write_bytes(settings.artifact.read_bytes())
        started = list(_started(settings.subjects, settings, folder, stack))
        servers = [server for server in started if server.ready]
        given = _inputs(settings, folder)
        oracles = _oracles({SUBJECTS[server.name].profile for server in servers}, settings, folder, stack)
        wanted = {MEASURES[measure].inputs for measure in settings.measures}
        used = [one for one in given if one.group in wanted | {"texts"}]
        checks = _checks(servers, used, oracles, folder, progress)
        results = _results(servers, used, oracles, settings, folder, progress)
        return {
            "form": FORM,
            "made": time.strftime("%Y-%m-%d", time.gmtime()),
            "machine": _machine(),
            "settings": {
                "rounds": settings.rounds,
                "threads": settings.threads,
                "megabytes": settings.size / 1e6,
                "timeout": settings.timeout,
            },
            "oracles": {profile: oracle.told() for profile, oracle in oracles.items()},
            "subjects": {server.name: _told(server) for server in started},
            "inputs": [{"name": one.name, "group": one.group, "bytes": one.bytes, "special": one.special} for one in used],
            "checks": checks,
            "results": results,
        }


def _told(server: Server) -> Answer:
    ours = {"version": __version__} if server.name.startswith("slm2") and server.ready else {}
    return {"title": SUBJECTS[server.name].title, **server.hello, **ours}


def _started(names: Sequence[str], settings: Settings, folder: Path, stack: ExitStack) -> Iterator[Server]:
    for name in names:
        server = Server(name, folder, settings.pythons.get(name, sys.executable), settings.timeout)
        stack.callback(server.close)
        yield server


@dataclass(frozen=True)
class _Oracle:
    """Who says which ids are right, and how much of a text it says so for."""

    server: Server
    limit: int | None

    def told(self) -> dict[str, object]:
        return {"subject": self.server.name, "version": _told(self.server)["version"], "limit": self.limit}


def _oracles(profiles: set[str], settings: Settings, folder: Path, stack: ExitStack) -> dict[str, _Oracle]:
    """The publisher's program in its version, else the reference on the beginning of each text."""
    oracles = {}
    for profile in sorted(profiles):
        name = {"publisher": "tokenizers", "contract": "tokenizers-contract"}[profile]
        (server,) = _started([name], settings, folder, stack)
        limit = None
        if server.hello.get("version") != ORACLE_VERSION:
            (server,) = _started([{"publisher": "slm2-reference", "contract": "slm2-reference-contract"}[profile]], settings, folder, stack)
            limit = _REFERENCE_LIMIT
        oracles[profile] = _Oracle(server, limit)
    return oracles


def _answers(folder: Path, profile: str, given: _Given) -> str:
    return str(folder / f"answers-{profile}-{given.group}-{given.name}")


def _checks(
    servers: Sequence[Server], inputs: Sequence[_Given], oracles: Mapping[str, _Oracle], folder: Path, progress: Progress
) -> list[Answer]:
    checks: list[Answer] = []
    total = len(inputs) * (len(servers) + len(oracles))
    done = 0
    for one in inputs:
        for profile, oracle in oracles.items():
            answer = oracle.server.ask(one.request("answers", _answers(folder, profile, one), oracle.limit))
            if "failure" in answer:
                checks.append({"subject": oracle.server.name, "group": one.group, "input": one.name, **answer})
            progress("ids compared", done := done + 1, total)
        for server in servers:
            profile = SUBJECTS[server.name].profile
            answer = server.ask(one.request("check", _answers(folder, profile, one), oracles[profile].limit))
            checks.append({"subject": server.name, "group": one.group, "input": one.name, **answer})
            progress("ids compared", done := done + 1, total)
    return checks


def _results(
    servers: Sequence[Server],
    inputs: Sequence[_Given],
    oracles: Mapping[str, _Oracle],
    settings: Settings,
    folder: Path,
    progress: Progress,
) -> list[Answer]:
    """Subject after subject in each round, so that a busy minute is everybody's. Who failed once is not asked again."""
    plan = list(_plan(servers, inputs, settings))
    results: list[Answer] = []
    failed: set[tuple[str, str, str]] = set()
    for number in range(settings.rounds):
        for place, (name, measure, one, server) in enumerate(plan):
            if (server.name, name, one.name) not in failed:
                profile = SUBJECTS[server.name].profile
                answers, limit = _answers(folder, profile, one), oracles[profile].limit
                if measure.fresh:
                    answers = answers if name == "batch" else str(folder)
                    request = one.request(name, answers, limit, settings.threads if name == "batch" else 1)
                    answer = _once(server.name, folder, server.python, request, settings.timeout)
                else:
                    answer = server.ask(one.request(name))
                if "failure" in answer:
                    failed.add((server.name, name, one.name))
                key = {"subject": server.name, "measure": name, "input": one.name, "round": number}
                results.append({**key, **(answer if "failure" in answer else {"figures": answer})})
            progress("measures", number * len(plan) + place + 1, settings.rounds * len(plan))
    return results


def _plan(servers: Sequence[Server], inputs: Sequence[_Given], settings: Settings) -> Iterator[tuple[str, Measure, _Given, Server]]:
    for name in settings.measures:
        measure = MEASURES[name]
        for one in inputs:
            if one.group != measure.inputs:
                continue
            for server in servers:
                if measure.call is None or has(SUBJECTS[server.name], measure.call):
                    yield name, measure, one, server


def _machine() -> dict[str, object]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())
