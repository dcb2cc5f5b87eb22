"""The protocol behind which both engines stand, and the choice between them.

The faces call nothing else. The engine is the Rust core (``slm2._engine``); the reference is ``slm2.reference``, slow and
plain. The choice is never silent: see :func:`select`.
"""

from __future__ import annotations

import importlib
import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol

from slm2.artifact import Profile
from slm2.errors import Slm2Error
from slm2.reference.sampling.config import Rng, SamplingConfig

if TYPE_CHECKING:  # slow to import, and not needed for text
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "Engine",
    "EngineChoice",
    "EngineGenerator",
    "EngineSampler",
    "EngineStream",
    "OfOneProcess",
    "PortableFunction",
    "SampleRow",
    "SpecialPolicy",
    "integer_id",
    "integer_ids",
    "native_reason",
    "select",
]

EngineChoice = Literal["auto", "native", "reference"]
SpecialPolicy = Literal["refuse", "skip", "bytes"]


class EngineStream(Protocol):
    """A strict streaming decoder (contract/stream.md)."""

    @property
    def pending(self) -> bytes:
        """Bytes that have come and were not delivered: an open scalar value, or what made the decoder fail."""

    def push(self, ids: Sequence[int]) -> str:
        """Text that became complete; a failure keeps the text of this call in the field ``text``."""

    def finish(self) -> None:
        """End the stream; refuses an open scalar value."""


# Id, probability, log-probability, sizes, words, deciding numbers, the most probable tokens: see :class:`slm2.sampling.Sample`.
SampleRow = tuple[int, float, float, tuple[int, int, int, int], int, tuple[float, ...], list[tuple[int, float, float]]]

PortableFunction = Literal["exp", "log", "log1p"]


class EngineSampler(Protocol):
    """Configuration, generator and history (contract/sampling.md). A refusal changes nothing."""

    def sample(self, logits: npt.NDArray[np.float32], allowed: bytes | None, top: int) -> SampleRow:
        """Draw an id and take it into the history; ``allowed`` has a bit for each id, lowest first."""

    def kept(self) -> bytes:
        """The ids that the last step kept, rising, as little-endian u32."""

    def extend(self, ids: Sequence[int]) -> None:
        """More ids that the model has seen and the sampler did not draw."""

    @property
    def position(self) -> int:
        """How many words were taken since the seed."""

    def advance(self, words: int) -> None:
        """Go on as if so many words had been taken."""

    def state(self) -> bytes:
        """All there is to say about the generator."""

    def restore(self, state: bytes) -> None:
        """Go on from a saved state."""


class EngineGenerator(Protocol):
    """Random words from a seed."""

    def word(self) -> int:
        """The next word."""

    def uniform(self) -> float:
        """A multiple of 2^-53 in [0, 1), from two words."""

    @property
    def position(self) -> int:
        """How many words were taken since the seed."""

    def advance(self, count: int) -> None:
        """Go on as if so many words had been taken."""

    def state(self) -> bytes:
        """All there is to say about the generator."""

    def restore(self, state: bytes) -> None:
        """Go on from a saved state."""


class Engine(Protocol):
    """One opened artifact. Ids are ints in [0, token_limit); offsets count bytes of the caller's text."""

    @property
    def name(self) -> str:
        """``native`` or ``reference``."""

    @property
    def contract_version(self) -> int:
        """Of the artifact."""

    @property
    def vocabulary_size(self) -> int:
        """Plain tokens have the ids below it."""

    @property
    def token_limit(self) -> int:
        """The lowest id above which no id has a token: 151,669 for Qwen3."""

    @property
    def file_digest(self) -> str:
        """SHA-256 of the file, hex."""

    @property
    def semantic_digest(self) -> str:
        """SHA-256 of the behaviour, hex (decisions D13)."""

    @property
    def special_tokens(self) -> list[tuple[int, bytes]]:
        """Id and text of each special token, ids rising."""

    @property
    def provenance(self) -> dict[str, str]:
        """What the compiler recorded of the sources."""

    def encode(self, data: bytes, profile: Profile) -> list[int]:
        """Ids of text, no byte of which can become a special token."""

    def encode_u32(self, data: bytes, profile: Profile) -> bytes:
        """The same ids as little-endian u32."""

    def encode_spans(self, data: bytes, profile: Profile) -> list[tuple[int, int, int]]:
        """``(id, start, end)``: each id with the bytes of ``data`` that it came from (contract/tokenizer.md, offsets)."""

    def encode_trusted(self, data: bytes, profile: Profile) -> list[int]:
        """Ids of text in which the text of a special token is that token."""

    def find_special(self, data: bytes) -> list[tuple[int, int, int]]:
        """``(start, end, id)`` of the texts of special tokens in ``data``: leftmost, longest, not overlapping."""

    def decode(self, ids: Sequence[int], special: SpecialPolicy) -> bytes:
        """The bytes of the tokens one after the other."""

    def token_bytes(self, token_id: int) -> bytes:
        """Bytes of a plain token or text of a special one."""

    def token_id(self, data: bytes) -> int | None:
        """The plain token that has exactly these bytes."""

    def stream_decoder(self, special: SpecialPolicy) -> EngineStream:
        """A fresh streaming decoder."""

    def sampler(self, config: SamplingConfig, prompt: Sequence[int], width: int) -> EngineSampler:
        """A sampler at the beginning of its stream, over rows of ``width`` logits."""

    def generator(self, rng: Rng, seed: int | str, stream: int | str) -> EngineGenerator:
        """A generator by itself, of values that SamplingConfig would take."""

    def portable(self, function: PortableFunction, values: bytes) -> bytes:
        """exp, log or log1p of each of some little-endian float64, to compare their bits."""


def integer_ids(field: str, ids: Iterable[int]) -> list[int]:
    """The ids of a caller as a list of ints, read once: any iterable of integers that has an order.

    Raises:
        Slm2Error: ``invalid_type`` where it is text, bytes, a set, a mapping or no iterable, or holds something that is no integer.
    """
    if isinstance(ids, str | bytes | bytearray | Set | Mapping) or not isinstance(ids, Iterable):
        raise Slm2Error("invalid_type", field=field, expected="a sequence of integers", found=type(ids).__name__)
    return [integer_id(f"{field}[{position}]", token_id) for position, token_id in enumerate(ids)]


def integer_id(field: str, token_id: int) -> int:
    """One id of a caller as an int.

    Raises:
        Slm2Error: ``invalid_type``.
    """
    if type(token_id) is int:
        return token_id
    if not hasattr(type(token_id), "__index__"):
        raise Slm2Error("invalid_type", field=field, expected="an integer", found=type(token_id).__name__)
    return operator.index(token_id)


class OfOneProcess:
    """What stands over an opened artifact, and so is of one process, whichever the engine."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is neither pickled nor copied; call slm2.load() in each process")


def native_reason() -> str | None:
    """Why the native engine is not there; None where it is."""
    try:
        importlib.import_module("slm2._engine")  # absent where no Rust toolchain was at hand
    except ImportError as error:
        return f"it was not built: no Rust toolchain, or no crate index in reach, when slm2 was installed; {error}"
    return None


def select(choice: EngineChoice, data: bytes) -> Engine:
    """Open an artifact with the engine asked for.

    Args:
        choice: ``native`` or ``reference`` by name, or ``auto``: the native engine, else the reference with one warning.
        data: the artifact.

    Raises:
        Slm2Error: ``engine_unavailable``, ``invalid_value``, or a code of contract/artifact.md.
    """
    if choice not in ("auto", "native", "reference"):
        raise Slm2Error("invalid_value", field="engine", expected="auto, native or reference", found=repr(choice))
    reason = None if choice == "reference" else native_reason()
    if choice == "native" and reason is not None:
        raise Slm2Error("engine_unavailable", engine="native", reason=reason)
    if choice != "reference" and reason is None:
        from slm2._engine import NativeEngine  # noqa: PLC0415

        return NativeEngine(data)
    if choice == "auto":
        warnings.warn(
            f"slm2 uses the reference engine: same results, hundreds of times slower ({reason}). "
            "Install it with a Rust toolchain for the native engine, or say engine='reference'.",
            RuntimeWarning,
            stacklevel=3,
        )
    from slm2.reference.engine import ReferenceEngine  # noqa: PLC0415  (its load reads the whole artifact in Python)

    return ReferenceEngine(data)
