"""Documents for differential tests: generated ones, made to be nasty, and real ones found on every machine with Python."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

# Scripts and kinds of characters, as ranges of code points.
ALPHABETS: dict[str, list[tuple[int, int]]] = {
    "ascii": [(0x20, 0x7E)],
    "controls": [(0x00, 0x1F), (0x7F, 0x9F)],
    "latin": [(0xA0, 0x24F), (0x1E00, 0x1EFF)],
    "greek and cyrillic": [(0x370, 0x52F), (0x1F00, 0x1FFF)],
    "hebrew and arabic": [(0x590, 0x6FF), (0x750, 0x77F), (0xFB1D, 0xFDFF), (0xFE70, 0xFEFC)],
    "indic": [(0x900, 0xDFF)],
    "south-east": [(0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF)],
    "hangul": [(0x1100, 0x11FF), (0xAC00, 0xD7A3), (0x3130, 0x318F)],
    "han and kana": [(0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF)],
    "marks": [(0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x898, 0x89F), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0)],
    "numbers": [(0x30, 0x39), (0x660, 0x669), (0x6F0, 0x6F9), (0xB2, 0xB3), (0x2150, 0x218B), (0x1D7CE, 0x1D7FF), (0x1FBF0, 0x1FBF9)],
    "spaces": [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0x85, 0x85),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
    ],
    "almost spaces": [(0x1C, 0x1F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0xFEFF, 0xFEFF), (0x180E, 0x180E)],
    "emoji": [(0x1F300, 0x1FAFF), (0x1F1E6, 0x1F1FF), (0xFE0F, 0xFE0F), (0x200D, 0x200D), (0x1F3FB, 0x1F3FF)],
    "punctuation": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0x2010, 0x205E), (0x3001, 0x3003), (0xFF01, 0xFF0F)],
    "far": [(0x10300, 0x1107F), (0x11930, 0x11943), (0x1E900, 0x1E95F), (0xE0001, 0xE01EF), (0x10FFFE, 0x10FFFF)],
    "anything": [(0x00, 0xD7FF), (0xE000, 0x10FFFF)],
}

# Text at which pre-tokenizers differ: contractions, newlines after spaces, digits, broken special tokens, sequences that compose.
CONTRACTIONS = ["'s", "'S", "'ſ", "'re", "'RE", "'vE", "'ll", "'lL", "'d", "'t", "'m", "'", "''", "’s", "'stuff", "I'm", "don't", "DON'T"]
WHITE_SPACE = [
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    " \n",
    "\n ",
    " \n \n ",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\u0085",
    "\v",
    "\f",
]
NUMBERS = ["1", "12", "1234567890", "٣", "²", "½", "Ⅷ", "\x1c", "\x1f"]
PUNCTUATION = [".", "...", "!\n", "?!\r\n\r\n", "->", "(x):\n", "/", "\\n", "=" * 20, "-" * 40]
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "<|im_<|im_end|>end|>"]
BROKEN = ["<|im_", "im_start|>", "<|", "|>", "<|im_start", "<|IM_END|>", "<think >"]
COMPOSING = [
    "e\u0301",
    "\u00e9",
    "\u1e69",
    "s\u0323\u0307",
    "q\u0307\u0323",
    "\u1100\u1161\u11a8",
    "\uac00\u11a8",
    "\u0344",
    "\u2126",
    "\u212b",
]
OLD_TABLES = ["\ufb1d", "x\u0898\u0334", "\U00011935\U00011930"]
SEQUENCES = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "\u202eabc\u202c", "\ufeff", "\u0000", "\u200d"]
WORDS = ["नमस्ते", "สวัสดี", "你好，世界", "こんにちは", "안녕하세요", "שלום", "مرحبا", "Привет", "naïve café"]
FRAGMENTS = [
    *CONTRACTIONS, *WHITE_SPACE, *NUMBERS, *PUNCTUATION, *SPECIAL, *BROKEN, *COMPOSING, *OLD_TABLES, *SEQUENCES, *WORDS
]  # fmt: skip


def character(rng: random.Random, alphabet: str) -> str:
    """A scalar value of an alphabet."""
    first, last = rng.choice(ALPHABETS[alphabet])
    code = rng.randint(first, last)
    return chr(code) if not 0xD800 <= code <= 0xDFFF else "\ufffd"


def run(rng: random.Random) -> str:
    """A stretch of one kind: a fragment, a repeat of one character, or characters of one alphabet; up to 2 kB."""
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(FRAGMENTS)
    alphabet = rng.choice(list(ALPHABETS))
    if kind < 0.40:
        return character(rng, alphabet) * rng.choice([2, 3, 7, 31, 300, 500])
    length = rng.choice([1, 2, 3, 5, 8, 13, 40]) if kind < 0.995 else rng.choice([200, 500])
    return "".join(character(rng, alphabet) for _ in range(length))


def generated(seed: int, count: int) -> Iterator[str]:
    """Documents of up to about 2 kB each."""
    rng = random.Random(seed)
    for _ in range(count):
        limit = rng.choice([1, 5, 20, 60, 150, 320])
        parts: list[str] = []
        size = 0
        while size < limit:
            parts.append(run(rng))
            size += len(parts[-1])
        yield "".join(parts)


def real(seed: int, count: int) -> Iterator[str]:
    """Stretches of up to 2,000 characters of Python's standard library: code, English, and test data in many scripts."""
    rng = random.Random(seed)
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(path for path in root.glob("**/*.py") if "site-packages" not in path.parts)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in rng.sample(files, min(400, len(files)))]
    texts = [text for text in texts if text]
    for _ in range(count):
        text = rng.choice(texts)
        start = rng.randrange(len(text))
        yield text[start : start + rng.randint(1, 2000)]
