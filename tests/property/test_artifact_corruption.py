"""Every one-byte corruption and every truncation of a small artifact, for both readers (contract/artifact.md)."""

from __future__ import annotations

import hashlib
import os
import random
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from slm2.artifact import read
from slm2.engine import Engine, select
from slm2.error_table import ERRORS
from slm2.errors import Slm2Error

SMALL = (Path(__file__).resolve().parents[1] / "data" / "small-v1.slm2").read_bytes()
PAGE = Path(__file__).resolve().parents[2] / "contract" / "artifact.md"
CHUNKS = 16
# With the digests put right a corruption costs more: then, in the two long tables whose entries are all alike, and for what opened
# artifacts do, these other values of a byte are tried: each bit flipped, the extremes and the neighbours. With the environment
# variable SLM2_EXHAUSTIVE set it is all 255 everywhere (an hour).
FLIPS = [1 << bit for bit in range(8)]
LONG_TABLES = [range(section.offset, section.offset + section.length) for section in read(SMALL).sections if section.length > 1_000]


def telling_values(value: int) -> set[int]:
    """Other values of a byte to put in its place."""
    if "SLM2_EXHAUSTIVE" in os.environ:
        return all_values(value)
    return {0x00, 0xFF, (value + 1) % 256, (value - 1) % 256, *(value ^ flip for flip in FLIPS)} - {value}


def all_values(value: int) -> set[int]:
    """Every other value of a byte."""
    return set(range(256)) - {value}


Verdict = tuple[str, dict] | None


def verdict(engine: str, data: bytes) -> tuple[Verdict, Engine | None]:
    """The refusal (code and fields), or the opened engine."""
    try:
        return None, select(engine, data)
    except Slm2Error as error:
        return (error.code, error.fields), None


def both(data: bytes) -> tuple[Verdict, list[Engine]]:
    """The verdict of both readers, which must be one."""
    native, native_engine = verdict("native", data)
    reference, reference_engine = verdict("reference", data)
    assert native == reference
    return reference, [engine for engine in (native_engine, reference_engine) if engine is not None]


def sealed(content: bytes) -> bytes:
    return content[:-32] + hashlib.sha256(content[:-32]).digest()


def texts() -> list[bytes]:
    """A hundred short texts in which the small artifact's tables all take part."""
    rng = random.Random(20261130)
    strings = ["ab", "abc", " a", " ", "\n", "é", "e\u0301", "\u0344", "<s>", "語", "z"]
    parts = [*(string.encode("utf-8") for string in strings), b"\xcc", b"\xff"]
    return [b"".join(rng.choices(parts, k=rng.randint(0, 6))) for _ in range(100)]


TEXTS = texts()


def corruptions(chunk: int, *, everywhere: bool) -> Iterator[tuple[bytes, bool]]:
    """The small artifact with one byte changed, for the positions of a chunk; whether the value is one of the telling ones."""
    for at in range(chunk, len(SMALL), CHUNKS):
        telling = telling_values(SMALL[at])
        sparing = not everywhere and any(at in table for table in LONG_TABLES)
        for value in telling if sparing else all_values(SMALL[at]):
            yield SMALL[:at] + bytes([value]) + SMALL[at + 1 :], value in telling


def compare_engines(engines: list[Engine]) -> None:
    """Both engines opened a changed artifact: they must still do the same with it, and come to an end."""
    native, reference = engines
    for text in TEXTS:
        assert native.encode(text, "contract") == reference.encode(text, "contract")
    # What these ids do not show: normalisation, special tokens, source ranges, decoding, the stream.
    for text in TEXTS[:10]:
        assert native.find_special(text) == reference.find_special(text)
        assert native.encode_spans(text, "publisher", "bytes") == reference.encode_spans(text, "publisher", "bytes")
        ids = native.encode_trusted(text, "contract")
        assert ids == reference.encode_trusted(text, "contract")
        assert native.decode(ids, "bytes") == reference.decode(ids, "bytes")
        assert streamed(native, ids) == streamed(reference, ids)


def streamed(engine: Engine, ids: list[int]) -> tuple[str, Verdict]:
    """The text of a stream, or how it ended."""
    stream = engine.stream_decoder("bytes")
    try:
        return stream.push(ids), None
    except Slm2Error as error:
        return "", (error.code, error.fields)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_corruption_is_refused_alike(chunk):
    for data, _ in corruptions(chunk, everywhere=True):
        refusal, _ = both(data)
        assert refusal is not None


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_corruption_with_the_digests_put_right_has_one_verdict(chunk):
    encoded = 0
    for data, is_telling in corruptions(chunk, everywhere=False):
        refusal, engines = both(sealed(data))
        if refusal is not None and refusal[0] == "artifact_semantic_digest":
            body = data[:32] + bytes.fromhex(refusal[1]["actual"]) + data[64:]
            refusal, engines = both(sealed(body))
        if refusal is None and is_telling:
            compare_engines(engines)
            encoded += 1
    assert encoded > 50


def test_every_truncation_is_refused_alike():
    for length in range(len(SMALL)):
        assert both(SMALL[:length])[0] is not None
    assert both(SMALL + b"\0")[0][0] == "artifact_file_length"


def test_every_truncation_with_length_and_digest_put_right_is_refused_alike():
    for length in range(96, len(SMALL)):
        data = SMALL[:16] + length.to_bytes(8, "little") + SMALL[24:length]
        assert both(sealed(data))[0] is not None


def reached_codes() -> set[str]:
    """Codes that corruptions reach, with the digests put right where that goes further."""
    codes = {verdict("native", SMALL[:10])[0][0]}
    for chunk in range(CHUNKS):
        for data, is_telling in corruptions(chunk, everywhere=False):
            for changed in (data, sealed(data)) if is_telling else ():
                refusal, _ = verdict("native", changed)
                codes.add(refusal[0] if refusal else "")
    return codes


def test_each_code_of_the_page_is_reached():
    defined = {code for code in ERRORS if code.startswith("artifact_")}
    on_page = set(re.findall(r"`(artifact_\w+)`", PAGE.read_text(encoding="utf-8")))
    assert on_page <= defined
    assert reached_codes() - {""} == defined


def test_the_small_artifact_is_what_its_tool_makes():
    tool = runpy.run_path(str(PAGE.parents[1] / "tools" / "small_artifact.py"))
    assert tool["build"]() == SMALL
