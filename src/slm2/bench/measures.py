"""What is measured of a subject. A measure is a function in :data:`MEASURES`; it runs in a process of its own.

Throughput is bytes of UTF-8 over the CPU time of the process, all of its threads together: being preempted does not change it. Every
pass gets strings that no pass had before, since CPython keeps the UTF-8 of a string that was asked for it.
"""

from __future__ import annotations

import math
import statistics
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from .subjects import Subject
from .texts import cut, documents, messages, shuffled

__all__ = ["MEASURES", "Figure", "Measure", "Request", "check", "loaded", "write_answers"]

PASSES = 3
_FEWEST_IDS = 10_000
# Seconds after which no thread spins any more that a library started with its import: those of NumPy's algebra do so for 0.1.
_SETTLED = 0.3
SPECIAL_SHARES = (0.25, 0.5, 1)

_Input = TypeVar("_Input")
_Span = tuple[float, float]


@dataclass(frozen=True)
class Request:
    """What a worker is asked.

    Attributes:
        measure: a name in MEASURES, or ``check`` or ``answers``.
        path: the text, UTF-8.
        special: whether texts of special tokens in it are to become those tokens.
        answers: where the oracle's ids lie.
        limit: how many bytes of the text the oracle answers for; None for all.
        lines: compare line by line, not document by document.
        threads: of a batch call.
        seconds: no further pass begins after them.
    """

    measure: str
    path: str = ""
    special: bool = False
    answers: str = ""
    limit: int | None = None
    lines: bool = False
    threads: int = 1
    seconds: float = 4.0

    def text(self) -> bytes:
        """The bytes of the text."""
        return Path(self.path).read_bytes()

    def checked_text(self) -> bytes:
        """The part that the oracle answers for."""
        data = self.text()
        return data if self.limit is None else cut(data, self.limit)

    def pieces(self) -> list[bytes]:
        """What of it is compared piece by piece."""
        data = self.checked_text()
        return data.splitlines() if self.lines else documents(data)

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return asdict(self)


Figures = dict[str, float]
Unit = Literal["MB/s", "Mtok/s", "µs", "ms", "MB", ""]


@dataclass(frozen=True)
class Figure:
    """One number that a measure gives: its heading in tables, and its unit; more is better of what is a second's worth."""

    title: str
    unit: Unit
    told: bool = False

    @property
    def more_is_better(self) -> bool:
        """Throughput, not time or memory."""
        return self.unit.endswith("/s")


@dataclass(frozen=True)
class Measure:
    """A measure.

    Attributes:
        title: its heading.
        figures: what ``run`` gives, by name. Those that are only ``told`` are in the JSON and in no ratio.
        inputs: which texts it runs over, one after the other; ``all`` is one in which all plain ones have a part.
        run: of a subject, loaded unless ``fresh``.
        verdict: which comparison with the oracle says whether the figures count.
        call: the optional call that it needs, if any.
        fresh: it gets a new process in which nothing was loaded.
    """

    title: str
    figures: dict[str, Figure]
    inputs: Literal["texts", "giants", "special", "messages", "all"]
    run: Callable[[Subject, Request], Figures]
    verdict: Literal["documents", "whole", "messages", "decoded", "batch", "ordinary"]
    call: str | None = None
    fresh: bool = False


def loaded(subject: Subject, folder: Path) -> Subject:
    """Load, and encode one short text, so that what a subject sets up late is no part of a cold pass."""
    subject.load(folder)
    subject.encode("Hello 1")
    subject.encode_special("Hello 1")
    return subject


def _clock() -> _Span:
    return time.perf_counter(), time.process_time()


def _timed(run: Callable[[_Input], object], given: _Input) -> _Span:
    """Seconds by the clock on the wall and of CPU."""
    wall, cpu = _clock()
    run(given)
    wall_end, cpu_end = _clock()
    return wall_end - wall, max(cpu_end - cpu, 1e-9)


def _passes(run: Callable[[_Input], object], make: Callable[[], _Input], count: int, seconds: float) -> list[_Span]:
    """The same over new inputs, up to ``count`` times and at least twice, for there to be a warm one."""
    begun = time.perf_counter()
    spans: list[_Span] = []
    while len(spans) < count and (len(spans) < 2 or time.perf_counter() - begun < seconds):
        spans.append(_timed(run, make()))
    return spans


def _each(encode: Callable[[str], object]) -> Callable[[Sequence[str]], None]:
    def run(texts: Sequence[str]) -> None:
        for text in texts:
            encode(text)

    return run


def _encoder(subject: Subject, request: Request) -> Callable[[str], object]:
    return subject.encode_special if request.special else subject.encode


def _cold_and_warm(spans: Sequence[_Span], amount: float) -> Figures:
    """The first pass, and the best of those after it."""
    return {"cold": amount / spans[0][1], "warm": amount / min(cpu for _, cpu in spans[1:])}


def _documents(subject: Subject, request: Request) -> Figures:
    data = request.text()
    pieces = documents(data)
    run = _each(_encoder(subject, request))
    spans = _passes(run, lambda: [piece.decode("utf-8") for piece in pieces], PASSES, request.seconds)
    return _cold_and_warm(spans, len(data) / 1e6)


def _unseen(subject: Subject, request: Request) -> Figures:
    """Half of the documents, in an order of chance, fill whatever the subject keeps; the other half is measured."""
    pieces = shuffled(documents(request.text()), 5)
    half = len(pieces) // 2
    run = _each(_encoder(subject, request))
    run([piece.decode("utf-8") for piece in pieces[:half]])
    unseen = pieces[half:]
    _, cpu = _timed(run, [piece.decode("utf-8") for piece in unseen])
    return {"unseen": sum(map(len, unseen)) / 1e6 / cpu}


def _whole(subject: Subject, request: Request) -> Figures:
    data = request.text()
    spans = _passes(_encoder(subject, request), lambda: data.decode("utf-8"), PASSES, request.seconds)
    return _cold_and_warm(spans, len(data) / 1e6)


def _giant(subject: Subject, request: Request) -> Figures:
    """Cold alone: warm, a cache answers with the whole text as its key."""
    data = request.text()
    _, cpu = _timed(_encoder(subject, request), data.decode("utf-8"))
    return {"cold": len(data) / 1e6 / cpu}


def _growth(subject: Subject, request: Request) -> Figures:
    """The exponent with which time grows from a sixteenth of the text to all of it; each part is cold, but for the parts before it."""
    data = request.text()
    encode = _encoder(subject, request)
    points = []
    for part in (16, 8, 4, 2, 1):
        piece = cut(data, len(data) // part)
        _, cpu = _timed(encode, piece.decode("utf-8"))
        points.append((len(piece), cpu))
    return {"exponent": _exponent(points)}


def _exponent(points: Sequence[tuple[int, float]]) -> float:
    """Of the power of the size that fits the seconds best."""
    sizes, seconds = zip(*points, strict=True)
    return statistics.linear_regression(list(map(math.log, sizes)), list(map(math.log, seconds))).slope


def _special(subject: Subject, request: Request) -> Figures:
    """Time for all lines, each with the text of a special token, and the exponent with which it grows up to there (best of three)."""
    lines = request.text().splitlines(keepends=True)
    points = []
    for share in SPECIAL_SHARES:
        part = b"".join(lines[: round(len(lines) * share)])
        spans = _passes(subject.encode_special, lambda part=part: part.decode("utf-8"), 3, request.seconds)  # type: ignore[misc]
        points.append((len(part), min(cpu for _, cpu in spans)))
    return {"time": points[-1][1] * 1e3, "exponent": _exponent(points)}


def _messages(subject: Subject, request: Request) -> Figures:
    """Everything warm; the median over 25 rounds of all messages."""
    del request
    texts = messages()
    figures = {}
    for name, encode in (("native", subject.encode), ("list", subject.encode_list)):
        run = _each(encode)
        run(texts)
        spans = _passes(run, lambda: texts, 25, 2.0)
        figures[name] = statistics.median(cpu for _, cpu in spans) / len(texts) * 1e6
    return figures


def _decode(subject: Subject, request: Request) -> Figures:
    """The subject's own ids, as lists."""
    data = request.text()
    encode = _encoder(subject, request)
    whole = subject.numbers(encode(data.decode("utf-8")))
    parts = [subject.numbers(encode(piece.decode("utf-8"))) for piece in documents(data)]

    def run(lists: list[list[int]]) -> None:
        for ids in lists:
            subject.decode(ids)

    # The clock takes as long as one call for a short text.
    repeated = math.ceil(_FEWEST_IDS / max(len(whole), 1))
    figures = {}
    for name, lists in (("whole", [whole] * repeated), ("documents", parts * repeated)):
        spans = _passes(run, lambda lists=lists: lists, PASSES, request.seconds)  # type: ignore[misc]
        figures[name] = sum(map(len, lists)) / 1e6 / min(cpu for _, cpu in spans)
    return figures


def _memory() -> float:
    """Resident MB of this process (10^6 bytes)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    return math.nan


def _load(subject: Subject, request: Request) -> Figures:
    """From nothing to the first ids; what importing its modules costs apart from the rest. Wall time: a load reads files."""
    text = request.text().decode("utf-8")
    empty, begun = _memory(), time.perf_counter()
    for module in subject.modules:
        __import__(module)
    imported, import_end = _memory(), time.perf_counter()
    subject.load(Path(request.answers).parent)
    load_end = time.perf_counter()
    subject.encode("x")
    ready, first_end = _memory(), time.perf_counter()
    subject.encode(text)
    return {
        "load": (load_end - import_end) * 1e3,
        "ready": (first_end - begun) * 1e3,
        "load_memory": ready - imported,
        "ready_memory": ready - empty,
        "text_memory": _memory() - empty,
    }


def _batch(subject: Subject, request: Request) -> Figures:
    """Wall time of one call over all documents; ids compared afterwards. Starting threads and late imports are no part of it."""
    loaded(subject, Path(request.answers).parent)
    subject.encode_batch(["Hello 1", "Hello 2"], request.threads)
    time.sleep(_SETTLED)
    data = request.text()
    pieces = shuffled(documents(data), 1)
    spans = _passes(
        lambda texts: subject.encode_batch(texts, request.threads),
        lambda: [piece.decode("utf-8") for piece in pieces],
        4,
        request.seconds,
    )
    figures = {
        "cold": len(data) / 1e6 / spans[0][0],
        "warm": len(data) / 1e6 / min(wall for wall, _ in spans[1:]),
        "cores": max(cpu / wall for wall, cpu in spans),
    }
    in_order = [piece.decode("utf-8") for piece in documents(cut(data, request.limit) if request.limit is not None else data)]
    expected = _read(Path(request.answers + ".ids")).tolist()
    figures["equal"] = float(subject.batch_numbers(subject.encode_batch(in_order, request.threads)) == expected)
    return figures


def write_answers(subject: Subject, request: Request) -> Figures:
    """The oracle's part: ids of each document, of the whole, and the text that the whole decodes to, into files."""
    data = request.checked_text()
    encode = _encoder(subject, request)
    flat, ends = array("I"), array("I")
    for piece in request.pieces():
        flat.extend(subject.numbers(encode(piece.decode("utf-8"))))
        ends.append(len(flat))
    whole = subject.numbers(encode(data.decode("utf-8")))
    base = request.answers
    for ending, numbers in ((".ids", flat), (".ends", ends), (".whole", array("I", whole))):
        Path(base + ending).write_bytes(numbers.tobytes())
    Path(base + ".text").write_bytes(subject.decode(whole).encode("utf-8"))
    return {"bytes": len(data), "pieces": len(ends), "ids": len(whole)}


def _read(path: Path) -> array[int]:
    numbers = array("I")
    numbers.frombytes(path.read_bytes())
    return numbers


def check(subject: Subject, request: Request) -> dict[str, Any]:
    """Compare with the oracle: how many documents differ, whether the whole is equal, whether the oracle's ids decode to its text."""
    data = request.checked_text()
    encode = _encoder(subject, request)
    flat, whole = _read(Path(request.answers + ".ids")), _read(Path(request.answers + ".whole")).tolist()
    start, differing, first = 0, 0, None
    pieces = request.pieces()
    for piece, end in zip(pieces, _read(Path(request.answers + ".ends")), strict=True):
        expected = flat[start:end].tolist()
        start = end
        found = _attempt(lambda piece=piece: subject.numbers(encode(piece.decode("utf-8"))))  # type: ignore[misc]
        if found != expected:
            differing += 1
            first = first or _difference(piece, expected, found)
    found_whole = _attempt(lambda: subject.numbers(encode(data.decode("utf-8"))))
    decoded = _attempt(lambda: subject.decode(whole)) if type(subject).decode is not Subject.decode else None
    text = Path(request.answers + ".text").read_bytes().decode("utf-8")
    return {
        "pieces": len(pieces),
        "differing": differing,
        "whole": found_whole == whole,
        "decoded": decoded == text,
        "first": first if first or found_whole == whole else _difference(data, whole, found_whole),
    }


def _attempt(run: Callable[[], _Input]) -> _Input | str:
    """What it gives, or what it raised; Rust's panics come as BaseException."""
    try:
        return run()
    except BaseException as error:  # a subject's failure is a result
        return f"{type(error).__name__}: {error}"[:200]


def _difference(piece: bytes, expected: list[int], found: list[int] | str) -> dict[str, object]:
    """Where ids part, short enough for a report."""
    if isinstance(found, str):
        return {"error": found}
    place = next((at for at, (one, other) in enumerate(zip(expected, found, strict=False)) if one != other), min(len(expected), len(found)))
    begin = max(0, place - 1)
    shown = piece[:80].decode("utf-8", "replace")
    return {"at": place, "expected": expected[begin : place + 4], "found": found[begin : place + 4], "text": shown}


MEASURES: dict[str, Measure] = {
    "unseen": Measure(
        "2 kB documents never seen, after other text of the kind", {"unseen": Figure("unseen", "MB/s")}, "texts", _unseen, "documents"
    ),
    "documents": Measure(
        "2 kB documents", {"cold": Figure("cold", "MB/s"), "warm": Figure("warm", "MB/s")}, "texts", _documents, "documents"
    ),
    "whole": Measure(
        "a whole file in one call", {"cold": Figure("cold", "MB/s"), "warm": Figure("warm", "MB/s")}, "texts", _whole, "whole"
    ),
    "giant": Measure("one giant pre-token", {"cold": Figure("cold", "MB/s")}, "giants", _giant, "whole"),
    "growth": Measure("one giant pre-token", {"exponent": Figure("exponent of growth", "", told=True)}, "giants", _growth, "whole"),
    "special": Measure(
        "16,000 texts of special tokens in one input",
        {"time": Figure("time", "ms"), "exponent": Figure("exponent of growth", "", told=True)},
        "special",
        _special,
        "whole",
    ),
    "messages": Measure(
        "a chat message of 60 characters, the call from Python included",
        {"native": Figure("native form", "µs"), "list": Figure("list", "µs")},
        "messages",
        _messages,
        "messages",
    ),
    "decode": Measure(
        "decoding",
        {"whole": Figure("a whole file", "Mtok/s"), "documents": Figure("2 kB documents", "Mtok/s")},
        "texts",
        _decode,
        "decoded",
        call="decode",
    ),
    "load": Measure(
        "from a new process to the first ids",
        {
            "load": Figure("load alone", "ms"),
            "ready": Figure("import, load, first call", "ms"),
            "load_memory": Figure("growth of load alone", "MB"),
            "ready_memory": Figure("growth of import, load, first call", "MB"),
            "text_memory": Figure("growth after one text", "MB"),
        },
        "all",
        _load,
        "ordinary",
        fresh=True,
    ),
    "batch": Measure(
        "one batch call on several threads, wall time",
        {"cold": Figure("cold", "MB/s"), "warm": Figure("warm", "MB/s"), "cores": Figure("cores used", "", told=True)},
        "all",
        _batch,
        "batch",
        call="encode_batch",
        fresh=True,
    ),
}
