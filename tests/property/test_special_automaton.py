"""Special tokens that hold each other, overlap and repeat: the automaton against trying all (contract/tokenizer.md, T-7 and T-8)."""

from __future__ import annotations

import random
import runpy

import pytest

from machine import ROOT
from slm2.artifact import Parts, read, seal
from slm2.engine import Engine, select

SEED = 20_261_130
SMALL = read(runpy.run_path(str(ROOT / "tools" / "small_artifact.py"))["build"]())
ALPHABETS = ["ab", "a", "<|>", "aé", "ab ", "\u4e2d\u4e00a"]


def engines(texts: list[bytes]) -> tuple[Engine, Engine]:
    """The small artifact with other special tokens."""
    special = [(len(SMALL.tokens) + 3 * number, text) for number, text in enumerate(texts)]
    data = seal(Parts(SMALL.tokens, special, SMALL.dfa, SMALL.merges, SMALL.normalization, SMALL.facts, SMALL.provenance, None))
    return select("native", data), select("reference", data)


def word(rng: random.Random, alphabet: str, longest: int) -> bytes:
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, longest))).encode()


def tried(texts: list[bytes], data: bytes) -> list[tuple[int, int]]:
    """Leftmost, longest, not overlapping, by trying all at each place."""
    found, at = [], 0
    while at < len(data):
        longest = max((len(text) for text in texts if data.startswith(text, at)), default=0)
        if longest:
            found.append((at, at + longest))
        at += max(longest, 1)
    return found


@pytest.mark.parametrize("chunk", range(4))
def test_random_texts_over_few_letters(chunk):
    rng = random.Random(SEED + chunk)
    seen = 0
    for _ in range(100):
        alphabet = rng.choice(ALPHABETS)
        texts = sorted({word(rng, alphabet, rng.choice([1, 3, 9])) for _ in range(rng.randint(1, 12))}, key=lambda _: rng.random())
        native, reference = engines(texts)
        for _ in range(40):
            data = b"".join(rng.choice([*texts, word(rng, alphabet + "x", 4), b"\xff"]) for _ in range(rng.randint(0, 9)))
            found = native.find_special(data)
            assert [(start, end) for start, end, _ in found] == tried(texts, data), (SEED + chunk, texts, data)
            assert found == reference.find_special(data), (SEED + chunk, texts, data)
            assert native.encode_trusted(data, "publisher") == reference.encode_trusted(data, "publisher"), (SEED + chunk, texts, data)
            seen += len(found)
    assert seen > 5_000


@pytest.mark.parametrize(
    ("texts", "data", "found"),
    [
        (["ab", "abcd", "bc"], "abcx", [(0, 2)]),  # the longer one fails after the shorter was complete; b is spent
        (["abcd", "bc"], "abcx", [(1, 3)]),  # the longer one fails, and holds another
        (["abcde", "bcd", "c"], "abcdx", [(1, 4)]),  # of those inside it the leftmost, although c is complete first
        (["abcde", "cd", "bcx"], "abcdx", [(2, 4)]),
        (["aa"], "aaaaa", [(0, 2), (2, 4)]),  # itself, again and again
        (["aab", "aa"], "aaab", [(0, 2)]),
        (["aba"], "ababa", [(0, 3)]),
        (["aaa", "a"], "aaaa", [(0, 3), (3, 4)]),
        (["|", "|>x"], "|<|>x|", [(0, 1), (2, 5), (5, 6)]),  # one ends where the other goes on alone
        (["<ab", "<abcde", "<abcxy"], "<abcd<abcxy<abcde", [(0, 3), (5, 11), (11, 17)]),  # stretches without a branch, broken and whole
        (["<abcd", "bc"], "<abc<abcd", [(2, 4), (4, 9)]),  # a stretch in which another ends
        (["a"], "", []),
        (["a" * 255], "a" * 254, []),
        (["a" * 255, "a" * 100 + "b"], "a" * 254 + "b", [(154, 255)]),
    ],
)
def test_each_kind_of_overlap(texts, data, found):
    native, reference = engines([text.encode() for text in texts])
    for engine in (native, reference):
        assert [(start, end) for start, end, _ in engine.find_special(data.encode())] == found
