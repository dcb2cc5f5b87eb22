"""A run: every measure over every input, subject after subject in each round, and the ids compared with the oracle's before."""

from __future__ import annotations

import hashlib
import os
import platform
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
from slm2.bench.measures import MEASURES, Request
from slm2.bench.subjects import ORACLE_VERSION, SUBJECTS, has
from slm2.bench.texts import cut
from slm2.bench.workers import Answer, Server, once
from slm2.contract import load
from slm2.engine import native_reason
from slm2.files import read_file, reading

__all__ = ["FORM", "ORDINARY_EXCEPT", "Settings", "default_subjects", "run"]

FORM = 1
# The columns whose text is made to be strange; a subject that is wrong on these alone counts where ids have no part.
ORDINARY_EXCEPT = ("hostile", "decomposed", "nfd")
_REFERENCE_LIMIT = 20_000
_ALL = "all"

Progress = Callable[[str, int, int], None]


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
    contract = load(settings.artifact, engine="native" if native_reason() is None else "reference")
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
        _ALL: plain and [Input(_ALL, b"".join(cut(text.data, settings.size // len(plain)) for text in plain))],
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
            with reading(str(settings.tokenizer_json)):
                sources.write(settings.tokenizer_json, folder)
        if settings.artifact is not None:
            (folder / "artifact.slm2").write_bytes(read_file(str(settings.artifact)))
        started = list(_started(settings.subjects, settings, folder, stack))
        servers = [server for server in started if server.ready]
        oracles = _oracles({SUBJECTS[server.name].profile for server in servers}, settings, folder, stack)
        wanted = {"texts", *(MEASURES[measure].inputs for measure in settings.measures)}
        inputs = [one for one in _inputs(settings, folder) if one.group in wanted]
        sitting = _Sitting(settings, folder, servers, inputs, oracles, progress)
        return {
            "form": FORM,
            "made": time.strftime("%Y-%m-%d", time.gmtime()),
            "machine": _machine(),
            "settings": {
                "rounds": settings.rounds,
                "threads": settings.threads,
                "megabytes": settings.size / 1e6,
                "timeout": settings.timeout,
                "tokenizer_json": settings.tokenizer_json and hashlib.sha256(settings.tokenizer_json.read_bytes()).hexdigest(),
            },
            "oracles": {profile: oracle.told() for profile, oracle in oracles.items()},
            "subjects": {server.name: _told(server) for server in started},
            "inputs": [{"name": one.name, "group": one.group, "bytes": one.bytes, "special": one.special} for one in inputs],
            "checks": sitting.checks(),
            "results": sitting.results(),
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


@dataclass(frozen=True)
class _Sitting:
    """All that a run has at hand."""

    settings: Settings
    folder: Path
    servers: Sequence[Server]
    inputs: Sequence[_Given]
    oracles: Mapping[str, _Oracle]
    progress: Progress

    def checks(self) -> list[Answer]:
        """The oracle's answers written, and everybody compared with them."""
        rows: list[Answer] = []
        for place, one in enumerate(self.inputs):
            for profile, oracle in self.oracles.items():
                answer = oracle.server.ask(one.request("answers", self._answers(profile, one), oracle.limit))
                if "failure" in answer:
                    rows.append({"subject": oracle.server.name, "group": one.group, "input": one.name, **answer})
            for server in self.servers:
                profile = SUBJECTS[server.name].profile
                answer = server.ask(one.request("check", self._answers(profile, one), self.oracles[profile].limit))
                rows.append({"subject": server.name, "group": one.group, "input": one.name, **answer})
            self.progress("ids compared", place + 1, len(self.inputs))
        return rows

    def results(self) -> list[Answer]:
        """Subject after subject in each round, so that a busy minute is everybody's. Who failed once is not asked again."""
        rows: list[Answer] = []
        failed: set[tuple[str, str, str]] = set()
        for number in range(self.settings.rounds):
            plan = list(self._plan(number))
            for place, (name, one, server) in enumerate(plan):
                key = (server.name, name, one.name)
                if key not in failed:
                    answer = self._measured(name, one, server)
                    if "failure" in answer:
                        failed.add(key)
                    said = answer if "failure" in answer else {"figures": answer}
                    rows.append({"subject": server.name, "measure": name, "input": one.name, "round": number, **said})
                self.progress("measures", number * len(plan) + place + 1, self.settings.rounds * len(plan))
        return rows

    def _plan(self, number: int) -> Iterator[tuple[str, _Given, Server]]:
        """What a round measures. Another subject begins each round: what the one before it leaves in the processor's caches differs."""
        first = number % max(1, len(self.servers))
        servers = [*self.servers[first:], *self.servers[:first]]
        for name in self.settings.measures:
            measure = MEASURES[name]
            for one in self.inputs:
                if one.group == measure.inputs:
                    able = (server for server in servers if measure.call is None or has(SUBJECTS[server.name], measure.call))
                    yield from ((name, one, server) for server in able)

    def _measured(self, name: str, one: _Given, server: Server) -> Answer:
        profile = SUBJECTS[server.name].profile
        request = one.request(name, self._answers(profile, one), self.oracles[profile].limit, self.settings.threads)
        if MEASURES[name].fresh:
            return once(server.name, self.folder, server.python, request, self.settings.timeout)
        return server.ask(request)

    def _answers(self, profile: str, one: _Given) -> str:
        return str(self.folder / f"answers-{profile}-{one.group}-{one.name}")


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
