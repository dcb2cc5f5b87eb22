"""What is encoded: the files of a folder, or texts made from what every installation has; and inputs that are made to be hard.

What is made depends on the seeds, the artifact's vocabulary and, for prose and code, this Python's library: the same on every run.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import importlib
import json
import lzma
import random
import struct
import sysconfig
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from slm2.bench.texts import cut, messages, pick
from slm2.errors import Slm2Error
from slm2.files import read_file

__all__ = ["Input", "giants", "in_order", "made_texts", "read_texts", "special_lines", "texts_of_messages"]

MANY_FILES = 16
# The order of columns; what has another name comes after these.
_ORDER = ("english", "code", "json", "json_log", "european", "chinese", "ja_ko", "ar_he_hi_th", "chat")
SPECIAL_LINES = 16_000
_RANDOM_BYTES = 3  # of which base64 makes four characters


@dataclass(frozen=True)
class Input:
    """A text with the name of its column."""

    name: str
    data: bytes

    def holds(self, special_texts: Sequence[str]) -> bool:
        """Whether the text of a special token stands in it."""
        return any(text.encode("utf-8") in self.data for text in special_texts)


def read_texts(folder: Path, size: int) -> list[Input]:
    """One text for each file of a folder, named by the file; all files together where there are many, and those of each folder in it.

    Files end where UTF-8 does not go on; ``.xz`` is unpacked.

    Args:
        folder: to read.
        size: bytes of a text at most.

    Raises:
        Slm2Error: ``file_unreadable``; ``invalid_value`` where there is no text.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    named = {path.name.split(".")[0]: [path] for path in files} if len(files) <= MANY_FILES else {folder.resolve().name: files}
    for inside in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        named[inside.name] = sorted(path for path in inside.rglob("*") if path.is_file())
    texts = (Input(name, _joined((_read(path) for path in paths), size)) for name, paths in named.items())
    found = in_order(text for text in texts if text.data)
    if not found:
        raise Slm2Error("invalid_value", field="corpus", expected="a folder with text", found=str(folder))
    return found


def in_order(texts: Iterable[Input]) -> list[Input]:
    """The usual kinds first."""
    return sorted(texts, key=lambda text: _ORDER.index(text.name) if text.name in _ORDER else len(_ORDER))


def _read(path: Path) -> bytes:
    data = read_file(str(path))
    if path.suffix == ".xz":
        try:
            data = lzma.decompress(data)
        except lzma.LZMAError as error:
            raise Slm2Error("file_unreadable", path=str(path), reason=str(error)) from None
    return data.decode("utf-8", "ignore").encode("utf-8")


def _joined(parts: Iterator[bytes], size: int) -> bytes:
    taken: list[bytes] = []
    left = size
    for part in parts:
        taken.append(cut(part, left))
        left -= len(taken[-1])
        if left <= 0:
            break
    return b"".join(taken)


def made_texts(vocabulary: Sequence[bytes], size: int) -> list[Input]:
    """One text of each kind.

    Args:
        vocabulary: bytes of each plain token, from the first: scripts have their words from it.
        size: bytes of a text at most.
    """
    makers: dict[str, Callable[[], Iterator[str]]] = {"english": _english, "code": _code, "json": _json_logs, "chat": _chat}
    words = _words_by_script(vocabulary)
    for name, (make, names) in _IN_SCRIPTS.items():
        scripts = [words[script] for script in names if script in words]
        if scripts:
            makers[name] = partial(make, scripts, random.Random(name))
    return in_order(Input(name, _joined((text.encode("utf-8") for text in maker()), size)) for name, maker in makers.items())


def _words_by_script(vocabulary: Sequence[bytes]) -> dict[str, list[str]]:
    """Words that the vocabulary has beyond ASCII, most frequent first, by the first word of the names of their letters."""
    words: dict[str, list[str]] = {}
    for token in vocabulary:
        try:
            word = token.decode("utf-8").strip()
        except UnicodeDecodeError:
            continue
        if (
            not word.isascii()
            and unicodedata.category(word[0])[0] == "L"
            and all(unicodedata.category(letter)[0] in "LM" for letter in word)
        ):
            scripts = [unicodedata.name(letter, "?").split()[0] for letter in word]
            words.setdefault(max(sorted(set(scripts)), key=scripts.count), []).append(word)
    return words


def _word(source: random.Random, scripts: Sequence[list[str]]) -> str:
    """Frequent ones more often (Zipf's law, nearly); every third a compound that is in no vocabulary."""
    words = scripts[int(source.random() * len(scripts))]
    one, other = (words[int(len(words) ** source.random()) - 1] for _ in range(2))
    return one + other if source.random() < 1 / 3 else one


def _prose(scripts: Sequence[list[str]], source: random.Random) -> Iterator[str]:
    while True:
        language = [pick(source, scripts)]
        sentence = " ".join(_word(source, language) for _ in range(4 + int(source.random() * 16)))
        yield sentence.capitalize() + pick(source, (". ", ". ", ", ", "? ", ".\n", ".\n\n"))


def _decomposed(scripts: Sequence[list[str]], source: random.Random) -> Iterator[str]:
    return (unicodedata.normalize("NFD", sentence) for sentence in _prose(scripts, source))


def _clauses(scripts: Sequence[list[str]], source: random.Random) -> Iterator[str]:
    while True:
        between = " " if source.random() < 0.1 else ""
        yield between.join(_word(source, scripts) for _ in range(2 + int(source.random() * 9)))
        yield pick(source, ("，", "，", "、", "。", "。\n", "？", "：", "（", "）"))


# How the text of a kind is made, and the scripts of its words.
_IN_SCRIPTS = {
    "european": (_prose, ("LATIN", "CYRILLIC", "GREEK")),
    "chinese": (_clauses, ("CJK",)),
    "ja_ko": (_clauses, ("HIRAGANA", "KATAKANA", "HANGUL", "CJK")),
    "ar_he_hi_th": (_prose, ("ARABIC", "HEBREW", "DEVANAGARI", "THAI")),
    "decomposed": (_decomposed, ("LATIN", "HANGUL", "GREEK")),
}


def _modules() -> Iterator[str]:
    """The modules of the standard library that are written in Python."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if not {"site-packages", "test", "tests", "idlelib", "pydoc_data", "lib2to3"} & set(path.parts):
            yield path.read_bytes().decode("utf-8", "ignore")


def _english() -> Iterator[str]:
    """The reference manual that help() shows, then docstrings."""
    topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    yield from (topics[name] + "\n\n" for name in sorted(topics))
    for module in _modules():
        try:
            tree = ast.parse(module)
        except (SyntaxError, ValueError):  # some are kept to be wrong
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield (ast.get_docstring(node) or "") + "\n\n"


def _code() -> Iterator[str]:
    yield from _modules()


def _json_logs() -> Iterator[str]:
    source = random.Random(16)
    levels = ("INFO", "INFO", "INFO", "DEBUG", "WARNING", "ERROR")
    services = ("checkout", "search", "auth", "billing", "inventory", "gateway")
    phrases = ("request finished", "cache miss", "retrying upstream", "user logged in", "slow query", "connection reset by peer")
    second = 0.0
    while True:
        second += source.random() * 3
        record = {
            "ts": f"2026-03-{1 + int(second / 86400) % 28:02}T{int(second / 3600) % 24:02}:{int(second / 60) % 60:02}:{second % 60:06.3f}Z",
            "level": pick(source, levels),
            "service": pick(source, services),
            "trace_id": f"{int(source.random() * 2**52):013x}",
            "msg": pick(source, phrases),
            "http": {"method": pick(source, ("GET", "POST", "PUT")), "path": f"/api/v1/items/{int(source.random() * 1e5)}", "status": 200},
            "latency_ms": round(source.random() * 900, 2),
            "tags": [pick(source, ("eu-west", "us-east", "canary", "beta")) for _ in range(int(source.random() * 3))],
        }
        yield json.dumps(record) + "\n"


def _chat() -> Iterator[str]:
    """Conversations as the template lays them out: the text of a special token every 60 bytes or so."""
    said = messages()
    source = random.Random(17)
    while True:
        yield f"<|im_start|>user\n{pick(source, said)}<|im_end|>\n"
        yield f"<|im_start|>assistant\n<think>\n\n</think>\n\n{pick(source, said)}<|im_end|>\n"


def giants(size: int) -> list[Input]:
    """Texts that are one pre-token, or nearly, of ``size`` bytes."""
    texts = {
        "a": b"a" * size,
        "letters": _some("abcdefghijklmnopqrstuvwxyz", size),
        "spaces": b" " * size,
        "newlines": b"\n" * size,
        "base64": base64.b64encode(hashlib.shake_256(b"base64").digest(size // 4 * _RANDOM_BYTES)),
        "punctuation": _some("!#$%&*+-./:;<=>?@^_|~", size),
        "cjk": _some("".join(map(chr, range(0x4E00, 0x5E00))), size),
        "marks": b"a" + _some("\u0300\u0301\u0302\u0316\u0323\u0327\u0328\u0345", size),
    }
    return [Input(name, data) for name, data in texts.items()]


def _some(alphabet: str, size: int) -> bytes:
    """Characters of chance, all of one length in UTF-8; the bits are a hash's, since millions are wanted."""
    letters = [letter.encode("utf-8") for letter in alphabet]
    count = size // len(letters[0])
    bits = hashlib.shake_256(alphabet.encode("utf-8")).digest(2 * count)
    return b"".join(letters[number % len(letters)] for (number,) in struct.iter_unpack("<H", bits))


def special_lines(special_texts: Sequence[str]) -> Input:
    """16,000 lines, each of them a word after the text of a special token."""
    lines = (f"{special_texts[place % len(special_texts)]}word\n" for place in range(SPECIAL_LINES))
    return Input("special", "".join(lines).encode("utf-8"))


def texts_of_messages() -> Input:
    """The chat messages, a line each."""
    return Input("messages", "\n".join(messages()).encode("utf-8"))
