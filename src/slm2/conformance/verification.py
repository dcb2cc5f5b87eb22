"""Hosts against the tiers: each asked by a thread of its own, the same questions to all (contract/conformance.md)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from slm2.artifact import Artifact, read
from slm2.conformance import tier1, tier2, tier3
from slm2.conformance.asking import Part, Running, check
from slm2.conformance.hosts import Host
from slm2.conformance.process import BrokenTestee, Process
from slm2.conformance.verdict import Check, HostVerdict

__all__ = ["ARTIFACT", "Progress", "Verification", "parts", "verify"]

# progress(host, part, done, total), counted in the things that are compared.
Progress = Callable[[str, str, int, int], None]

# The name under which reports show what is proved of the artifact itself.
ARTIFACT = "artifact"


@dataclass(frozen=True, slots=True)
class Verification:
    """What is verified.

    Attributes:
        artifact: bytes of the file that every host opens.
        tier: up to which is asked.
        parts: the questions.
        source_dir: a folder with the publisher's files, to compare with them; None where it is not at hand.
        root: the checkout in which hosts were built; None outside one.
    """

    artifact: bytes
    tier: int
    parts: Sequence[Part]
    source_dir: Path | None
    root: Path | None


def parts(data: bytes, tier: int) -> list[Part]:
    """All questions up to a tier."""
    asked = tier1.parts(data)
    if tier >= tier2.TIER:
        asked += tier2.parts()
    if tier >= tier3.TIER:
        asked += tier3.parts()
    return asked


def verify(plan: Verification, hosts: Sequence[Host], progress: Progress) -> list[HostVerdict]:
    """Verify the artifact and hosts; the verdicts in the order of the hosts, that of the artifact first.

    Raises:
        Slm2Error: a code of contract/artifact.md, ``source_missing``, ``source_unsupported``.
    """
    opened = read(plan.artifact)
    with _as_file(plan.artifact) as path, ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        # What interprets takes longest, and so begins first.
        ordered = sorted(hosts, key=lambda host: not host.slow)
        asked = {host.name: pool.submit(_host, plan, opened, path, host, progress) for host in ordered}
        sealed = pool.submit(_artifact, plan, progress)
        try:
            return [sealed.result(), *(asked[host.name].result() for host in hosts)]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """Hosts open a file, wherever the bytes came from."""
    with tempfile.TemporaryDirectory(prefix="slm2-verify-") as folder:
        path = Path(folder) / "artifact.slm2"
        path.write_bytes(data)
        yield str(path)


def _artifact(plan: Verification, progress: Progress) -> HostVerdict:
    """What no host is asked: the seals, proved again, and what the oracles say live."""
    total = 1 + (plan.source_dir is not None)
    done = _Counter(partial(progress, ARTIFACT, "sealed facts"), total)
    checks = [*tier1.artifact_checks(plan.artifact, plan.source_dir, done.advance)]
    if plan.tier >= tier2.TIER:
        checks += [tier2.distribution_check(), *tier2.live_checks(plan.source_dir)]
    return HostVerdict(ARTIFACT, "the artifact itself", {}, tuple(checks))


def _host(plan: Verification, opened: Artifact, path: str, host: Host, progress: Progress) -> HostVerdict:
    reason = host.missing(plan.root)
    if reason is not None:
        return HostVerdict(host.name, host.title, missing=reason)
    command = host.started_by(plan.root)
    try:
        running = Running(lambda: Process(command, path))
    except BrokenTestee as error:
        return HostVerdict(host.name, host.title, missing=str(error))
    try:
        checks = [tier1.hello_check(running.hello, opened)]
        checks += [_part(running, host, part, progress) for part in plan.parts]
        if plan.tier >= tier3.TIER:
            checks.append(tier3.memory_check(running))
        ending = running.close()
        checks.append(Check("its end", 1, 1, int(ending is not None), ending))
    except BaseException:
        running.kill()
        raise
    facts = {str(name): str(value) for name, value in running.hello["host"].items()}
    return HostVerdict(host.name, host.title, facts, tuple(checks))


def _part(running: Running, host: Host, part: Part, progress: Progress) -> Check:
    questions = part.reduced if host.slow and part.reduced is not None else part.questions
    done = _Counter(partial(progress, host.name, part.name), sum(question.weight for question in questions))
    return check(running, part, slow=host.slow, advance=done.advance)


class _Counter:
    """Tells how far a part is."""

    def __init__(self, tell: Callable[[int, int], None], total: int) -> None:
        self._tell, self._total, self._done = tell, total, 0
        tell(0, total)

    def advance(self, weight: int) -> None:
        self._done += weight
        self._tell(self._done, self._total)
