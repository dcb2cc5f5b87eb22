"""Calls of a tokenizer as people make them, from a seed: texts, pairs, batches and rows of words under every argument."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

SPECIAL = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "</tool_response>", "<|fim_pad|>",
)  # fmt: skip
PIECES_OF_SPECIAL = ("<|", "|>", "<", ">", "<|im_", "im_end|>", "<think", "<<think>>", "<|im_end|", "|><|im_end|>|", "<|im_<|im_end|>")
PROSE = ("It's", "the", "naïve", "café's", "first-class", "“résumé”,", "isn't", "We'LL", "3,141", "2026's", "€7.50…\n\tDONE!!\r\n")
CODE = (
    "def f(x):\n    return x**2  # ok\n",
    "for(int i=0;i<10;i++){}",
    '{"a": [1, null]}',
    "\t\tif x != y:\n",
    "https://x.org/?q=1&r=%20",
    "<div>",
)
SCRIPTS = ("中文分词", "日本語のテキスト", "한국어", "Привет, мир", "مرحبا بالعالم", "हिन्दी", "ไทยแลนด์", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "ΑΒΓ Σίσυφος")
MARKS = (
    "e\u0301", "o\u0323\u0302", "\u0344\u0f71", "a\u0300\u0323\u0301", "\u1112\u1161\u11ab", "\u212b", "q\u0307\u0323", "\u09c7\u09be",
    "\u0958", "\u0301", "é\u0323", "\U0001d15e", "\u0f71\u0f72\u0f74", "가\u11a8", "\u2126\u0301", "\u0bc6\u0bbe", "n\u0303", "ḍ\u0307",
)  # fmt: skip
EMOJI = ("👍🏽", "👩‍👩‍👧‍👦", "🇩🇪", "❤️", "☺", "🫠", "1️⃣")
WHITE = (" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2003", "\u3000", "   \n  ", "\u200b", "\x00", "\x1c")

POOLS = (PROSE, CODE, SCRIPTS, MARKS, EMOJI, WHITE)


class Call(NamedTuple):
    """One call.

    Attributes:
        method: ``__call__``, ``encode`` or ``tokenize``.
        arguments: by position.
        settings: by name.
        attributes: of the tokenizer, set before it.
    """

    method: str
    arguments: tuple[Any, ...]
    settings: dict[str, Any]
    attributes: dict[str, Any]


def text(rng: random.Random, *, special: bool) -> str:
    """A text of at most some dozens of pieces; most are of one kind, some mix them."""
    if rng.random() < 0.06:
        return ""
    pools = [*POOLS, PIECES_OF_SPECIAL]
    chosen = [rng.choice(pools)] if rng.random() < 0.4 else rng.sample(pools, rng.randint(2, 4))
    if special and rng.random() < 0.5:
        chosen.append(SPECIAL)
    joint = rng.choice((" ", "", "", "\n"))
    made = joint.join(rng.choice(rng.choice(chosen)) for _ in range(rng.randint(1, rng.choice((3, 8, 25)))))
    return made if special else _without(made)


def _without(made: str) -> str:
    """The text with a blank in the middle of each special token's text that pieces made."""
    while any(token in made for token in SPECIAL):
        for token in SPECIAL:
            made = made.replace(token, f"{token[:2]} {token[2:]}")
    return made


def call(rng: random.Random, *, special: bool) -> Call:
    """One call."""

    def one() -> str:
        return text(rng, special=special)

    def words() -> list[str]:
        return [one() for _ in range(rng.randint(0, 6))]

    split = rng.random() < 0.2
    of_kind: Callable[[], Any] = words if split else one
    batched, paired = rng.random() < 0.55, rng.random() < 0.3
    method = "__call__" if rng.random() < 0.85 or split else rng.choice(("encode", "tokenize"))
    if method != "__call__":
        batched = False
    arguments: list[Any] = []
    if batched:
        size = rng.randint(1, 6)
        first = [of_kind() for _ in range(size)]
        if split and not any(first):
            first = [["x"], *first]
        if paired and rng.random() < 0.4:
            arguments = [[(item, of_kind()) for item in first]]
        else:
            arguments = [first, *([[of_kind() for _ in first]] if paired else [])]
    else:
        arguments = [of_kind(), *([of_kind()] if paired else [])]
    settings = {} if method == "tokenize" else _settings(rng, batched=batched, split=split, only_ids=method == "encode")
    attributes = {"padding_side": rng.choice(("left", "right")), "truncation_side": rng.choice(("left", "right"))}
    return Call(method, tuple(arguments), settings, attributes)


def _settings(rng: random.Random, *, batched: bool, split: bool, only_ids: bool) -> dict[str, Any]:
    """Each setting with its own probability; names that encode() does not know are left out for it."""

    def chance(share: float, name: str, *values: Any) -> dict[str, Any]:
        return {name: rng.choice(values)} if rng.random() < share else {}

    settings: dict[str, Any] = {"is_split_into_words": True} if split else {}
    settings |= chance(0.5, "max_length", 0, 1, 2, 3, 4, 5, 8, 8, 16, 32, 64)
    if "max_length" in settings or rng.random() < 0.1:
        settings |= chance(1.0, "truncation", True, True, False, "longest_first", "only_first", "only_second", "do_not_truncate")
        settings |= chance(0.4, "stride", 0, 1, 1, 2, 3, 7)
    settings |= chance(0.6, "padding", True, "longest", "max_length", False, "do_not_pad")
    if "padding" in settings:
        if settings["padding"] == "max_length":
            settings.setdefault("max_length", rng.choice((8, 20, 40)))
        settings |= chance(0.3, "pad_to_multiple_of", 1, 4, 8) | chance(0.3, "padding_side", "left", "right")
    settings |= chance(0.2, "add_special_tokens", False) | chance(0.3, "return_tensors", "pt", "np")
    if only_ids:
        return settings
    for name in (
        "return_offsets_mapping",
        "return_token_type_ids",
        "return_special_tokens_mask",
        "return_length",
        "return_overflowing_tokens",
    ):
        settings |= chance(0.3, name, True)
    settings |= chance(0.1, "return_attention_mask", False)
    return settings if batched else settings | chance(0.05, "split_special_tokens", True)


def calls(seed: int, count: int, *, special: bool) -> Iterator[Call]:
    """So many calls; each has a seed of its own, so that one can be made again without those before it."""
    for number in range(count):
        yield call(random.Random(seed * 1_000_003 + number), special=special)


def outcome(tokenizer: Any, one: Call) -> dict[str, Any]:
    """All that can be seen of a call: fields with their types, and each encoding with its ways between characters, words and tokens."""
    for name, value in one.attributes.items():
        setattr(tokenizer, name, value)
    try:
        made = getattr(tokenizer, one.method)(*one.arguments, **one.settings)
    except BaseException as error:  # the publisher's program panics, which is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"refused": True}
    if one.method != "__call__":
        return {"made": plain(made)}
    seen = {"fields": plain(made), "n_sequences": made.n_sequences}
    return seen | {"encodings": [read(encoding) for encoding in made.encodings]}


def plain(value: Any) -> Any:
    """Lists, with the type of what they were."""
    if hasattr(value, "dtype"):
        return (type(value).__name__, str(value.dtype), tuple(value.shape), plain(value.tolist()))
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


FIELDS = ("ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids", "sequence_ids", "n_sequences")


def read(encoding: Any) -> dict[str, Any]:
    """Everything of an encoding."""
    seen = {name: getattr(encoding, name) for name in FIELDS} | {"length": len(encoding)}
    seen["overflowing"] = [cut.ids for cut in encoding.overflowing]
    for name, most in (("token_to_sequence", 40), ("token_to_chars", 40), ("token_to_word", 40)):
        seen[name] = [getattr(encoding, name)(at) for at in range(min(most, len(encoding)))]
    for name in ("word_to_tokens", "word_to_chars", "char_to_token", "char_to_word"):
        seen[name] = [getattr(encoding, name)(at, number) for number in range(seen["n_sequences"]) for at in range(12)]
    return seen
