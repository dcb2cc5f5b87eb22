"""Ids to bytes (contract/tokenizer.md, T-10 to T-12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.vector_cases.case import Case, Group, text_input

__all__ = ["FLAGS", "groups"]

FLAGS = {
    "special_text": "ids of special tokens under the three policies",
    "ill_formed": "tokens whose bytes are no text by themselves",
    "refusal": "refused with code and fields; nothing is returned",
    "round_trip": "decode gives back what was encoded",
}
LIMIT = 151_669
Encode = Callable[[str | bytes], list[int]]


def refused(comment: str, ids: list[int], special: str, code: str, fields: dict[str, Any], *flags: str) -> Case:
    """A row that ends in a refusal."""
    return Case(comment, "decode", {"ids": ids, "special": special}, "T-10", error=(code, fields), flags=("refusal", *flags))


def decoded(comment: str, ids: list[int], special: str = "refuse", clause: str = "T-10", *flags: str) -> Case:
    """A row whose bytes follow from the vocabulary."""
    return Case(comment, "decode", {"ids": ids, "special": special}, clause, flags=flags)


def policies(special: dict[str, int]) -> Group:
    """What becomes of each special token."""
    cases = []
    for text, token_id in special.items():
        fields = {"position": 1, "id": token_id}
        cases.append(decoded(f"{text} as its text", [64, token_id, 65], "bytes", "T-10", "special_text"))
        cases.append(refused(f"{text} refused", [64, token_id, 65], "refuse", "structural_id", fields, "special_text"))
    cases += [
        decoded("all of them, skipped", [64, *special.values(), 65], "skip", "T-10", "special_text"),
        decoded("all of them, as text", list(special.values()), "bytes", "T-10", "special_text"),
        decoded("only special tokens, skipped: nothing", [151_644, 151_645], "skip", "T-10", "special_text"),
    ]
    return Group("decode-policies", cases)


def out_of_range() -> Group:
    """Ids that have no token."""
    lone = (LIMIT, LIMIT + 1, 151_935, 151_936, 2**21, 2**31 - 1, 2**31, 2**32 - 1)
    rows = [(f"id {token_id}", [token_id], 0) for token_id in lone]
    rows += [
        ("after good ids", [9707, 11, LIMIT], 2),
        ("before good ids", [LIMIT, 9707], 0),
        ("the first of two", [0, LIMIT, LIMIT + 5], 1),
    ]
    cases = []
    for comment, ids, position in rows:
        for special in ("refuse", "skip", "bytes"):
            fields = {"position": position, "id": ids[position], "limit": LIMIT}
            cases.append(refused(f"{comment}, {special}", ids, special, "token_id_out_of_range", fields))
    first = {"position": 0, "id": 151_645}
    cases.append(refused("a special token before it is the first fault", [151_645, LIMIT], "refuse", "structural_id", first))
    return Group("decode-range", cases)


def plain() -> Group:
    """Plain tokens, whole text or not."""
    return Group(
        "decode-plain",
        [
            decoded("nothing", []),
            decoded("first and last plain token", [0, 151_642]),
            decoded("words", [9707, 11, 1879]),
            decoded("half of a scalar value", [9284], "refuse", "T-10", "ill_formed"),
            decoded("a scalar value of three tokens", [9284, 104, 94], "refuse", "T-10", "ill_formed"),
            decoded("the same, out of order", [94, 104, 9284], "refuse", "T-10", "ill_formed"),
            decoded("ids that no text encodes to: Hel and lo", [32713, 385]),
            decoded("one token again and again", [220] * 50),
            decoded("every one-byte token", list(range(256)), "refuse", "T-10", "ill_formed"),
        ],
    )


def round_trips(encode: Encode) -> Group:
    """T-11: what was encoded in profile contract comes back, byte for byte."""
    rows: list[tuple[str, str | bytes]] = [
        ("words", "Hello, world! It's 12:30."),
        ("nothing to normalise away", "e\u0301 \u212b q\u0307\u0323"),
        ("every kind of newline", "a\r\nb\rc\n\n d \u2028\u0085"),
        ("invisible", "\x00a\u200d\ufeff\u202e\x7f"),
        ("emoji", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001fae1"),
        ("special tokens as text", "<|im_start|>x<think></think>"),
        ("ill-formed bytes", b"\xff\xfe a\x80 \xed\xa0\x80 \xf4\x90\x80\x80"),
        ("all bytes", bytes(range(256)) * 2),
        ("cut at the end", "\u4f60\u597d".encode()[:-1]),
    ]
    cases = []
    for comment, text in rows:
        flags = ("round_trip", "ill_formed") if isinstance(text, bytes) else ("round_trip",)
        inputs = {"ids": encode(text), "special": "refuse"}
        cases.append(Case(comment, "decode", inputs, "T-11", expect=text_input(text), flags=flags))
    return Group("decode-back", cases)


def vocabulary(special: dict[str, int]) -> Group:
    """T-12: the vocabulary itself; contract/vectors/vocabulary.json has all of it as digests."""
    cases = [
        Case(f"bytes of {token_id}", "token_bytes", {"token": token_id}, "T-12", flags=("ill_formed",) if token_id in (255, 94) else ())
        for token_id in (0, 94, 220, 255, 256, 9707, 151_642, 151_643, 151_644, 151_668)
    ]
    for token_id in (LIMIT, 151_936, 2**32 - 1):
        error = ("token_id_out_of_range", {"position": 0, "id": token_id, "limit": LIMIT})
        cases.append(Case(f"bytes of {token_id}", "token_bytes", {"token": token_id}, "T-12", error=error, flags=("refusal",)))
    texts: list[tuple[str, str | bytes]] = [
        ("a word", "Hello"),
        ("with a space", " world"),
        ("sixteen spaces", " " * 16),
        ("one byte that is no text", b"\xff"),
        ("three letters that are an entry", "\u0661\u0662"),
        ("no entry", "Hello, world"),
        ("nothing is no entry", ""),
        ("an entry cut in half", "\U0001fae1".encode()[:3]),
    ]
    cases += [Case(comment, "token_id", text_input(text), "T-12") for comment, text in texts]
    cases += [
        Case(f"{text} is no plain token", "token_id", {"text": text}, "T-12", expect={"token": None}, flags=("special_text",))
        for text in ("<|im_start|>", "<think>", "<|endoftext|>")
    ]
    assert all(text in special for text in ("<|im_start|>", "<think>", "<|endoftext|>"))
    return Group("vocabulary", cases)


def groups(special: dict[str, int], encode: Encode) -> list[Group]:
    """All groups; ``encode`` is the publisher's plain encoding without normalisation."""
    return [plain(), policies(special), out_of_range(), round_trips(encode), vocabulary(special)]
