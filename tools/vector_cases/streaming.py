"""Ids to text as they come (contract/stream.md), and the page as a second, plain program that gives the expectations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tools.vector_cases.case import Case, Group

__all__ = ["FLAGS", "expected", "groups"]

FLAGS = {
    "grouping": "the same ids in every grouping give the same text at the same ids",
    "ill_formed": "bytes that cannot go on as UTF-8 end the stream; nothing becomes U+FFFD",
    "special_text": "structural ids under the three policies",
    "refusal": "found before any id of the call was taken; the stream goes on",
    "closed": "what can still be asked after the end",
    "invisible": "text that some decoders strip",
    "field_case": "a symptom from public bug reports of other engines",
}

Call = list[int] | str
Encode = Callable[[str | bytes], list[int]]
LIMIT = 151_669


def expected(calls: list[Call], special: str, token_bytes: Callable[[int], bytes]) -> list[dict[str, Any]]:
    """The outcome of each call by D-1 to D-7."""
    model = _Model(special, token_bytes)
    return [model.finish() if call == "finish" else model.push(list(map(int, call))) for call in calls]


class _FaultError(Exception):
    """A refusal of the model."""

    def __init__(self, code: str, **fields: object) -> None:
        super().__init__(code)
        self.outcome = {"error": {"code": code, "fields": fields}}


class _Model:
    def __init__(self, special: str, token_bytes: Callable[[int], bytes]) -> None:
        self.special, self.token_bytes = special, token_bytes
        self.pending, self.taken, self.closed = b"", 0, False

    def push(self, ids: list[int]) -> dict[str, Any]:
        try:
            self._check(ids)
            text = ""
            for token_id in ids:
                text += self._take(token_id, text)
        except _FaultError as fault:
            return {**fault.outcome, "pending": self.pending.hex()}
        return {"text": text, "pending": self.pending.hex()}

    def finish(self) -> dict[str, Any]:
        if self.closed:
            return {**_FaultError("stream_closed", position=self.taken).outcome, "pending": self.pending.hex()}
        self.closed = True
        if self.pending:
            fault = _FaultError("unfinished_text", position=self.taken, pending=self.pending.hex())
            return {**fault.outcome, "pending": self.pending.hex()}
        return {"pending": ""}

    def _check(self, ids: list[int]) -> None:
        """D-5 and D-6: what is refused before any id is taken."""
        if self.closed:
            raise _FaultError("stream_closed", position=self.taken)
        tail: bytes | None = self.pending  # None: the text will have failed before
        for offset, token_id in enumerate(ids):
            if token_id >= LIMIT:
                raise _FaultError("token_id_out_of_range", position=self.taken + offset, id=token_id, limit=LIMIT)
            is_structural = token_id >= LIMIT - 26
            if is_structural and tail == b"" and self.special == "refuse":
                raise _FaultError("structural_id", position=self.taken + offset, id=token_id)
            if tail is not None and not is_structural:
                _, tail, failed = _decoded(tail + self.token_bytes(token_id))
                tail = None if failed else tail
            elif is_structural and tail:
                tail = None

    def _take(self, token_id: int, before: str) -> str:
        is_structural = token_id >= LIMIT - 26
        data = b"" if is_structural and self.special != "bytes" else self.token_bytes(token_id)
        failed = is_structural and self.pending != b""
        text, rest, ill_formed = ("", self.pending, False) if failed else _decoded(self.pending + data)
        self.pending = rest
        if failed or ill_formed:
            self.closed = True
            raise _FaultError("ill_formed_text", position=self.taken, id=token_id, text=before + text, pending=rest.hex())
        self.taken += 1
        return text


def _decoded(data: bytes) -> tuple[str, bytes, bool]:
    """Complete text, the bytes from the open scalar value on, and whether they cannot become one: as Python's decoder sees it."""
    try:
        return data.decode("utf-8"), b"", False
    except UnicodeDecodeError as error:
        return data[: error.start].decode("utf-8"), data[error.start :], error.reason != "unexpected end of data"


def stream(comment: str, clause: str, special: str, calls: list[Call], *flags: str) -> Case:
    """One row; the model fills in the outcome."""
    return Case(comment, "stream", {"special": special, "calls": calls}, clause, flags=flags)


def groupings(ids: list[int]) -> Iterator[list[Call]]:
    """All ways to cut a sequence into calls, each ended by ``finish``."""
    for cuts in range(2 ** (len(ids) - 1)):
        calls: list[Call] = []
        for number, token_id in enumerate(ids):
            last = calls[-1] if calls and not cuts >> (number - 1) & 1 else None
            if isinstance(last, list):
                last.append(token_id)
            else:
                calls.append([token_id])
        yield [*calls, "finish"]


def every_grouping() -> Group:
    """D-1 for sequences of three and four ids."""
    sequences = [
        ("a scalar value of three tokens", [9284, 104, 94], "refuse"),
        ("text, three tokens of an emoji", [30113, 26525, 232], "refuse"),
        ("ill-formed at the third id", [9707, 9284, 9707], "refuse"),
        ("special token between words, skipped", [9707, 151_645, 1879], "skip"),
        ("special token inside a scalar value", [9707, 9284, 151_645, 104], "bytes"),
    ]
    cases = []
    for comment, ids, special in sequences:
        for calls in groupings(ids):
            sizes = " + ".join(str(len(call)) for call in calls[:-1])
            cases.append(stream(f"{comment}: {sizes}", "D-1", special, calls, "grouping"))
    return Group("stream-grouping", cases)


def as_it_comes(encode: Encode) -> Group:
    """D-1 and D-7: one id a call."""
    texts = [
        ("words", "Hello, world!"),
        ("Han", "\u4f60\u597d\uff0c\u4e16\u754c"),
        ("emoji of several tokens", "\U0001fae1\U0001f9ff\U0001f468\u200d\U0001f469"),
        ("marks come as they are", "e\u0301x"),
        ("Hangul of rare syllables", "\ubdc1\uc3d8"),
        ("NUL and byte-order mark", "\ufeff\x00\ufeff"),
        ("noncharacters and the last scalar value", "\uffff\U0010ffff"),
        ("first and last of each length", "\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000"),
        ("the text of special tokens", "<think>\n</think>"),
    ]
    cases: list[Case] = []
    for comment, text in texts:
        clause, flags = ("D-7", ("invisible",)) if "\ufeff" in text else ("D-1", ())
        cases.append(stream(comment, clause, "refuse", [*([token_id] for token_id in encode(text)), "finish"], *flags))
    cases += [
        stream("nothing", "D-1", "refuse", ["finish"]),
        stream("empty calls", "D-1", "refuse", [[], [9707], [], "finish"]),
        stream("byte by byte", "D-1", "refuse", [*(encode(bytes([byte])) for byte in "\U0001f600".encode()), "finish"]),
    ]
    return Group("stream-text", cases)


def ill_formed(encode: Encode) -> Group:
    """D-2: the id at which it cannot go on; D-6: nothing after it."""
    rows = [
        ("continuation first", b"\x80"),
        ("overlong lead", b"\xc0\xaf"),
        ("overlong of three bytes", b"\xe0\x80\xaf"),
        ("first surrogate", b"\xed\xa0\x80"),
        ("above the last scalar value", b"\xf4\x90\x80\x80"),
        ("lead F5", b"\xf5\x80"),
        ("FF", b"\xff"),
        ("lead and letter", b"\xe4a"),
        ("two leads", b"\xe4\xe4"),
        ("three of four bytes, then a lead", b"\xf0\x9f\x98\xf0"),
    ]
    cases = []
    for comment, data in rows:
        ids = [encode(bytes([byte]))[0] for byte in data]
        one_by_one: list[Call] = [[9707], *([token_id] for token_id in ids), [9707], "finish"]
        cases.append(stream(f"{comment}, byte by byte", "D-2", "refuse", one_by_one, "ill_formed", "closed"))
        cases.append(stream(f"{comment}, text before in the call", "D-2", "skip", [[9707, *ids, 9707], "finish"], "ill_formed", "closed"))
    return Group("stream-broken", cases)


def structural() -> Group:
    """D-3 to D-5."""
    half, rest = [9284], [104, 94]
    cases = []
    end, far = 151_645, 2**32 - 1
    rows: list[tuple[str, str, list[Call], tuple[str, ...]]] = [
        ("D-4", "between words", [[9707], [end], [1879], "finish"], ("special_text",)),
        ("D-5", "in one call with text", [[9707, end, 1879], [11], "finish"], ("special_text",)),
        ("D-3", "inside a scalar value", [half, [end], rest, "finish"], ("special_text", "closed")),
        ("D-3", "inside a scalar value of the same call", [[9707, *half, end], "finish"], ("special_text", "closed")),
        ("D-4", "after a scalar value is complete", [[*half, *rest, 151_668], "finish"], ("special_text",)),
        ("D-4", "first of all", [[151_644], [9707], "finish"], ("special_text",)),
        ("D-5", "id without a token", [[9707], [LIMIT], [1879], "finish"], ("refusal",)),
        ("D-5", "id without a token, in a call with others", [[9707, 11, 151_936], [1879], "finish"], ("refusal",)),
        ("D-5", "id without a token while a scalar value is open", [half, [far], rest, "finish"], ("refusal",)),
        ("D-5", "id without a token after ill-formed bytes", [[9707, 94, LIMIT], [11], "finish"], ("refusal",)),
    ]
    for special in ("refuse", "skip", "bytes"):
        cases += [stream(f"{special}: {comment}", clause, special, calls, *flags) for clause, comment, calls, flags in rows]
    again: list[Call] = [half, [end, *rest, 151_668], "finish"]
    cases.append(stream("refuse: inside a scalar value, then where none is open", "D-3", "refuse", again, "special_text", "closed"))
    cases.append(stream("refuse: special token after ill-formed bytes", "D-2", "refuse", [[94, 94, 151_645], "finish"], "ill_formed"))
    return Group("stream-structural", cases)


def ends() -> Group:
    """D-6."""
    rows: list[tuple[str, list[Call]]] = [
        ("inside a scalar value", [[9707], [9284], "finish"]),
        ("one byte short", [[9284, 104], "finish"]),
        ("twice", [[9707], "finish", "finish"]),
        ("text after the end", ["finish", [9707]]),
        ("nothing after the end", ["finish", []]),
        ("an id without a token after the end", ["finish", [LIMIT]]),
        ("after an unfinished end", [[9284], "finish", [104, 94], "finish"]),
        ("pending stays after a failure", [[94], "finish", [9707]]),
    ]
    return Group("stream-end", [stream(comment, "D-6", "skip", calls, "closed") for comment, calls in rows])


def reports() -> Group:
    """Reports about other engines: U+FFFD where text was cut between tokens."""
    rows = [
        ("Han of three tokens", [8508, 43720, 50292]),
        ("emoji of three tokens", [9284, 104, 94]),
        ("word and emoji", [30113, 26525, 232]),
    ]
    return Group("stream-reports", [stream(name, "D-1", "refuse", [*([one] for one in ids), "finish"], "field_case") for name, ids in rows])


def groups(encode: Encode) -> list[Group]:
    """All groups; ``encode`` is the publisher's plain encoding."""
    return [every_grouping(), as_it_comes(encode), ill_formed(encode), structural(), ends(), reports()]
