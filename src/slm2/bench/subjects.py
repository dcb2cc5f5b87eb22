"""What is measured: slm2 and other programs for the same vocabulary, each behind the same calls.

A subject is a class under its name in :data:`SUBJECTS`. It overrides what it has a call for; a measure that needs another is not run
for it (:func:`has`). To measure something else (appending, rendering, sampling), add a method here and a measure in ``measures``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from array import array
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

__all__ = ["ORACLE_VERSION", "SUBJECTS", "Subject", "absent", "has", "version"]

ORACLE_VERSION = "0.23.3"

_UNKNOWN = "unknown"

_QWEN_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


class Subject:
    """A program that encodes. Text in is ``str``; ids out in the form that costs it least, which ``output`` names.

    Attributes:
        title: how tables call it.
        distribution: whose version is told; None for what is measured by name alone.
        requires: how its version must begin.
        modules: imported before loading is timed.
        output: what ``encode`` hands back.
        needs_source: whether it loads files made of the publisher's tokenizer.json.
        profile: which oracle its ids are compared with.
    """

    title: ClassVar[str]
    distribution: ClassVar[str]
    requires: ClassVar[str] = ""
    modules: ClassVar[tuple[str, ...]] = ()
    output: ClassVar[str] = "list"
    needs_source: ClassVar[bool] = True
    profile: ClassVar[Literal["publisher", "contract"]] = "publisher"

    def load(self, folder: Path) -> None:
        """Load from the files of ``slm2.bench.sources``."""
        raise NotImplementedError

    def encode(self, text: str) -> object:
        """Ids in the cheapest form that it documents for one text."""
        return self.encode_list(text)

    def encode_list(self, text: str) -> list[int]:
        """Ids as a list of ints."""
        raise NotImplementedError

    def encode_special(self, text: str) -> object:
        """:meth:`encode` where the text of a special token becomes that token; most do so always."""
        return self.encode(text)

    def numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401  (each has its own form)
        """The ids in what :meth:`encode` handed back."""
        ids: list[int] = encoded if isinstance(encoded, list) else encoded.tolist()
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> object:
        """All of them in one call, on that many threads where it can be told."""
        raise NotImplementedError

    def batch_numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        """All ids in what :meth:`encode_batch` handed back, text after text."""
        return [number for one in encoded for number in self.numbers(one)]

    def decode(self, ids: list[int]) -> str:
        """Text of ids, special tokens as their text."""
        raise NotImplementedError


_Class = TypeVar("_Class", bound=type[Subject])
SUBJECTS: dict[str, type[Subject]] = {}


def _subject(name: str) -> Callable[[_Class], _Class]:
    def register(cls: _Class) -> _Class:
        SUBJECTS[name] = cls
        return cls

    return register


def has(cls: type[Subject], call: str) -> bool:
    """Whether a subject has a call that not every subject has."""
    return getattr(cls, call) is not getattr(Subject, call)


def version(cls: type[Subject]) -> str:
    """Of its distribution under this interpreter; ``unknown`` where there is none, as of slm2 in a checkout."""
    try:
        return metadata.version(cls.distribution)
    except metadata.PackageNotFoundError:
        return _UNKNOWN


def absent(cls: type[Subject], folder: Path) -> str | None:
    """Why a subject cannot be measured under this interpreter; None where it can."""
    found = version(cls)
    if found == _UNKNOWN and not issubclass(cls, _Ours):
        return f"{cls.distribution} is not installed"
    if not found.startswith(cls.requires):
        return f"{cls.distribution} is {found}, not {cls.requires}*"
    missing = [module for module in cls.modules if importlib.util.find_spec(module) is None]
    if missing:
        return f"there is no module {missing[0]}"
    if cls.needs_source and not (folder / "tokenizer.json").exists():
        return "it needs the publisher's tokenizer.json"
    return None


class _Ours(Subject):
    distribution = "slm2"
    modules: ClassVar[tuple[str, ...]] = ("slm2", "numpy")
    output = "numpy"
    needs_source = False
    engine: ClassVar[str] = "native"

    def load(self, folder: Path) -> None:
        slm2 = importlib.import_module("slm2")
        artifact = folder / "artifact.slm2"
        contract = slm2.load(artifact if artifact.exists() else None, engine=self.engine, profile=self.profile)
        self._tokenizer = contract.tokenizer

    def encode(self, text: str) -> object:
        return self._tokenizer.encode_array(text)

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text)
        return ids

    def encode_special(self, text: str) -> object:
        return self._tokenizer.encode_trusted_array(text)

    def encode_batch(self, texts: list[str], threads: int) -> object:
        return self._tokenizer.encode_batch_arrays(texts, threads=threads)

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode_text(ids, special="bytes")
        return text


@_subject("slm2")
class Slm2(_Ours):
    """The native engine as the publisher's pipeline encodes: with its NFC."""

    title = "slm2"
    modules = ("slm2", "slm2._engine", "slm2.native_tokenizer", "numpy")


@_subject("slm2-contract")
class Slm2Contract(_Ours):
    """The native engine, text as it is."""

    title = "slm2, profile contract"
    modules = ("slm2", "slm2._engine", "slm2.native_tokenizer", "numpy")
    profile = "contract"


@_subject("slm2-reference")
class Slm2Reference(_Ours):
    """The reference in Python."""

    title = "slm2 reference"
    engine = "reference"


@_subject("slm2-reference-contract")
class Slm2ReferenceContract(_Ours):
    """The reference in Python, text as it is."""

    title = "slm2 reference, profile contract"
    engine = "reference"
    profile = "contract"


@_subject("tokenizers")
class Tokenizers(Subject):
    """The publisher's program, and the oracle where it has the version that the contract was proved against."""

    title = "tokenizers 0.23"
    distribution = "tokenizers"
    requires = "0."
    modules = ("tokenizers",)
    file: ClassVar[str] = "tokenizer.json"

    def load(self, folder: Path) -> None:
        self._tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(folder / self.file))

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> object:
        del threads  # RAYON_NUM_THREADS says
        return self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)

    def batch_numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        return [number for one in encoded for number in one.ids]

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=False)
        return text


@_subject("tokenizers-contract")
class TokenizersContract(Tokenizers):
    """The same without normalizer: the oracle of profile contract."""

    title = "tokenizers 0.23 without NFC"
    profile = "contract"
    file = "tokenizer-contract.json"


@_subject("tokenizers-1")
class Tokenizers1(Subject):
    """The release candidate, which has another pipeline."""

    title = "tokenizers 1.0 rc"
    distribution = "tokenizers"
    requires = "1."
    modules = ("tokenizers",)
    output = "Encoding"

    def load(self, folder: Path) -> None:
        self._tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> object:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def encode_list(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        return [int(number) for number in encoded.ids]

    def encode_batch(self, texts: list[str], threads: int) -> object:
        del threads
        return self._tokenizer.encode_batch(texts, add_special_tokens=False)

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=False)
        return text


@_subject("fastokens")
class Fastokens(Subject):
    """Ids in an Encoding that makes its list when asked."""

    title = "fastokens"
    distribution = "fastokens"
    modules = ("fastokens",)
    output = "Encoding"

    def load(self, folder: Path) -> None:
        self._tokenizer = importlib.import_module("fastokens").Tokenizer.from_file(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> object:
        return self._tokenizer.encode(text)

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        ids: list[int] = encoded.ids
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> object:
        del threads
        return self._tokenizer.encode_batch_flat(texts)

    def batch_numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        return array("I", encoded[0]).tolist()

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids)
        return text


@_subject("gigatoken")
class Gigatoken(Subject):
    """Ids in a NumPy array."""

    title = "gigatoken"
    distribution = "gigatoken"
    modules = ("gigatoken", "numpy")
    output = "numpy"

    def load(self, folder: Path) -> None:
        self._tokenizer = importlib.import_module("gigatoken").Tokenizer(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> object:
        return self._tokenizer.encode(text)

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).tolist()
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> object:
        return self._tokenizer.encode_batch(texts, parallel=threads > 1)

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids).decode("utf-8", "replace")
        return text


@_subject("splintr")
class Splintr(Subject):
    """Ids as the bytes of u32, of this machine's order."""

    title = "splintr"
    distribution = "splintr-rs"
    modules = ("splintr",)
    output = "bytes"

    def load(self, folder: Path) -> None:
        self._tokenizer = importlib.import_module("splintr").from_json(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> object:
        return self._tokenizer.encode_flat(text)

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text)
        return ids

    def numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        return array("I", encoded).tolist()

    def encode_batch(self, texts: list[str], threads: int) -> object:
        del threads
        return self._tokenizer.encode_batch_flat(texts)

    def batch_numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        return array("I", encoded[0]).tolist()

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode_with_special(ids)
        return text


@_subject("quicktok")
class Quicktok(Subject):
    """Carries its own copy of the vocabulary; its list form is the faster one for one text."""

    title = "quicktok"
    distribution = "quicktok-v1"
    modules = ("quicktok",)
    needs_source = False

    def load(self, folder: Path) -> None:
        del folder
        self._tokenizer = importlib.import_module("quicktok").get_encoding("qwen3")

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, allowed_special="all")
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> object:
        return self._tokenizer.encode_batch(texts, threads=threads, with_special=True)

    def batch_numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        ids: list[int] = encoded[0].tolist()
        return ids

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids)
        return text


@_subject("tokie")
class Tokie(Subject):
    """Ids in an Encoding; uses threads inside one call above 10 kB."""

    title = "tokie"
    distribution = "tokie"
    modules = ("tokie",)
    output = "Encoding"

    def load(self, folder: Path) -> None:
        self._tokenizer = importlib.import_module("tokie").Tokenizer.from_json(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> object:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        ids: list[int] = encoded.ids
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> object:
        del threads
        return self._tokenizer.encode_batch_flat(texts, add_special_tokens=False)

    def batch_numbers(self, encoded: Any) -> list[int]:  # noqa: ANN401
        ids: list[int] = encoded[0].tolist()
        return ids

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids)
        return text


@_subject("bpe-qwen")
class BpeQwen(Subject):
    """Its compiled module alone: the package around it imports transformers."""

    title = "bpe-qwen"
    distribution = "bpe-qwen"

    def load(self, folder: Path) -> None:
        package = importlib.util.find_spec("bpe_qwen")
        assert package is not None
        (library,) = (path for place in package.submodule_search_locations or () for path in Path(place).glob("bpe_qwen*.so"))
        spec = importlib.util.spec_from_file_location("bpe_qwen", library)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self._tokenizer = module.QwenTokenizer(str(folder / "bpe-qwen"))

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text)
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> object:
        return self._tokenizer.encode_batch_parallel(texts, threads)

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids)
        return text


@_subject("tiktoken")
class Tiktoken(Subject):
    """Its format has no NFC, so its ids differ on decomposed text."""

    title = "tiktoken"
    distribution = "tiktoken"
    modules = ("tiktoken", "numpy")
    output = "numpy"

    def load(self, folder: Path) -> None:
        ranks = importlib.import_module("tiktoken.load").load_tiktoken_bpe(str(folder / "qwen.tiktoken"))
        special = json.loads((folder / "special.json").read_bytes())
        tiktoken = importlib.import_module("tiktoken")
        self._tokenizer = tiktoken.Encoding("qwen3", pat_str=_QWEN_PATTERN, mergeable_ranks=ranks, special_tokens=special)

    def encode(self, text: str) -> object:
        return self._tokenizer.encode_to_numpy(text, allowed_special="all")

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, allowed_special="all")
        return ids

    def encode_batch(self, texts: list[str], threads: int) -> object:
        return self._tokenizer.encode_batch(texts, num_threads=threads, allowed_special="all")

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(ids)
        return text
