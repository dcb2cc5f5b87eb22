"""The protocol behind which both engines stand, and the choice between them.

The faces call nothing else. The engine is the Rust core (``slm2._engine``); the reference is ``slm2.reference``, slow and
plain. The choice is never silent: see :func:`select`.
"""

from __future__ import annotations

import importlib
import operator
import sys
import warnings
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol

from slm2.artifact import Profile
from slm2.errors import LONGEST_SHOWN, Slm2Error
from slm2.reference.sampling.config import Rng, SamplingConfig

if TYPE_CHECKING:  # slow to import, and not needed for text
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "MAX_PRETOKEN",
    "DeltaRow",
    "Engine",
    "EngineChoice",
    "EngineChunks",
    "EngineComposition",
    "EngineGeneratedText",
    "EngineGenerator",
    "EngineReply",
    "EngineSampler",
    "EngineSession",
    "EngineStream",
    "EngineText",
    "OfOneProcess",
    "PortableFunction",
    "ReplyRow",
    "SampleRow",
    "SpecialPolicy",
    "TokenRow",
    "Unit",
    "check_special",
    "integer_id",
    "integer_ids",
    "native_reason",
    "packed_ids",
    "select",
    "shown_integer",
]

EngineChoice = Literal["auto", "native", "reference"]
SpecialPolicy = Literal["refuse", "skip", "bytes"]
Unit = Literal["bytes", "code_points", "utf16"]

# The longest piece, in bytes, where the caller of load() says nothing: memory for one is 16 times as much.
MAX_PRETOKEN = 2**27
_LIMITS = (256, 2**31 - 1)
# Of a memoryview: integers that are no bytes, in the order of the machine.
_INTEGER_FORMATS = frozenset("hHiIlLqQ")


class EngineStream(Protocol):
    """A strict streaming decoder (contract/stream.md)."""

    @property
    def pending(self) -> bytes:
        """Bytes that have come and were not delivered: an open scalar value, or what made the decoder fail."""

    def push(self, ids: Sequence[int]) -> str:
        """Text that became complete; a failure keeps the text of this call in the field ``text``."""

    def finish(self) -> None:
        """End the stream; refuses an open scalar value."""


class EngineChunks(Protocol):
    """The ids of a text that arrives in parts, cut anywhere (contract/tokenizer.md, T-15)."""

    @property
    def pending(self) -> int:
        """Bytes that wait for what comes after them."""

    def push(self, data: bytes) -> list[int]:
        """The ids that are certain with these bytes; ``pretoken_too_long`` ends the text."""

    def push_u32(self, data: bytes) -> bytes:
        """The same as little-endian u32."""

    def rest(self) -> list[int]:
        """The ids of what waits, if the text ended here; it goes on all the same."""

    def finish(self) -> list[int]:
        """End the text: the ids of what waits."""

    def finish_u32(self) -> bytes:
        """The same as little-endian u32."""


class EngineText(Protocol):
    """The ids of a text that grows at its end (contract/tokenizer.md, T-16)."""

    @property
    def count(self) -> int:
        """How many ids the text has."""

    def copy(self) -> EngineText:
        """Another one that goes on from here."""

    def append(self, data: bytes) -> tuple[int, list[int]]:
        """How many of the ids stay, and those that come after them. A failure leaves all as it was."""


# Id, role, part, trust class, message, and (source, start, end) of what the token touches.
TokenRow = tuple[int, str, str, str, int | None, list[tuple[str, int, int]]]


# Kind, text, ids, name, arguments, reason.
ReplyRow = tuple[str, str, list[int], str, str, str]


class EngineReply(Protocol):
    """A reader of one reply (contract/template.md, M-90 to M-97)."""

    @property
    def state(self) -> str:
        """Of the machine, by name."""

    @property
    def message(self) -> str:
        """What was said so far, as a message of a conversation, in JSON (M-97)."""

    def push(self, ids: Sequence[int]) -> list[ReplyRow]:
        """What the ids say."""

    def finish(self) -> list[ReplyRow]:
        """The end, where no token ended the turn."""


# Ids to keep, ids to append, what was lost (message, ids, reason), state.
DeltaRow = tuple[int, list[int], list[tuple[int, int, str]], str]


class EngineSession(Protocol):
    """A conversation that keeps its cache (contract/template.md, M-100 to M-107). A refusal changes nothing."""

    @property
    def messages(self) -> list[str]:
        """The conversation so far, each message as JSON."""

    @property
    def cached_ids(self) -> list[int]:
        """What the cache holds when every delta was followed."""

    def extend(self, messages: object, enable_thinking: bool | None) -> DeltaRow:
        """Add messages and ask for a reply; None takes the session's ``enable_thinking``."""

    def reply(self, ids: Sequence[int]) -> list[ReplyRow]:
        """Add the reply to the last prompt by its ids."""

    def settled(self) -> DeltaRow:
        """The prompt up to the last turn as it is once a user turn follows; the session does not change."""

    def settle(self) -> DeltaRow:
        """The same, and the cache holds it from now on."""

    def fork(self) -> EngineSession:
        """Another one that goes on from here."""

    def save(self) -> bytes:
        """A checkpoint."""


class EngineComposition(Protocol):
    """What the template made of a request (contract/template.md)."""

    @property
    def dropped_reasoning(self) -> list[int]:
        """Messages whose reasoning was left out (M-52)."""

    @property
    def state(self) -> str:
        """The state of the machine, by name; a reply goes on from there."""

    def ids(self, profile: Profile) -> list[int]:
        """The ids of the prompt."""

    def tokens(self, profile: Profile) -> list[TokenRow]:
        """Each id with its origin (M-62)."""

    def text(self) -> str:
        """The prompt as text, structural tokens included."""

    def findings(self) -> list[tuple[str, int, int]]:
        """``(source, offset, id)`` of the texts of special tokens in callers' text (M-70)."""


class EngineAssembly(Protocol):
    """A prompt within its budget (contract/prompt.md)."""

    def ids(self) -> list[int]:
        """The ids of the prompt."""

    def tokens(self) -> list[TokenRow]:
        """Each id with its origin (P-52)."""

    def report(self) -> str:
        """The report as JSON, without ids and tokens (P-78)."""

    def to_json(self) -> str:
        """All of it as JSON."""

    def delta(self, cached: Sequence[int]) -> str:
        """What it keeps of a cache that holds these ids, as JSON (P-80)."""


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


class EngineGeneratedText(Protocol):
    """The text of ids that were drawn, until something ends it, and why it ended (contract/sampling.md, S-80 to S-84)."""

    def check_open(self) -> None:
        """Raise ``generation_ended`` where it has."""

    def take(self, token: int) -> str:
        """Take an id that was drawn: the text that is delivered with it."""

    @property
    def ids(self) -> list[int]:
        """All that were taken, one that stopped it included."""

    @property
    def text(self) -> str:
        """All that was delivered."""

    @property
    def reason(self) -> str | None:
        """Why it ended: ``StopToken``, ``MaxTokens``, ``StopString`` or ``FatalError``; None where it goes on or an id was refused."""

    @property
    def stopped_by(self) -> str | None:
        """The limit that was met, also where the reason is ``FatalError``."""

    @property
    def stop_string(self) -> str | None:
        """Which string ended it."""

    @property
    def pending(self) -> bytes:
        """Bytes that came and are no text."""


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
    def name(self) -> Literal["native", "reference"]:
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
    def template_section(self) -> bytes | None:
        """The template program as the artifact holds it; None where it has none."""

    @property
    def provenance(self) -> dict[str, str]:
        """What the compiler recorded of the sources."""

    @property
    def max_pretoken(self) -> int:
        """The longest piece and run of marks that it encodes, in bytes (contract/tokenizer.md, T-13)."""

    def encode(self, data: str | bytes, profile: Profile) -> list[int]:
        """Ids of text, no byte of which can become a special token."""

    def encode_u32(self, data: str | bytes, profile: Profile) -> bytes:
        """The same ids as little-endian u32."""

    def encode_array(self, data: str | bytes, profile: Profile) -> npt.NDArray[np.uint32]:
        """The same ids as a one-dimensional read-only array."""

    def encode_into(self, data: bytes, profile: Profile, out: memoryview) -> int:
        """Write the same ids to the beginning of a writable view of u32; how many they are. ``output_too_small`` says how many."""

    def encode_batch(self, texts: Sequence[str | bytes], profile: Profile, threads: int) -> list[list[int]]:
        """The ids of each text, in their order, on as many threads."""

    def encode_batch_arrays(self, texts: Sequence[str | bytes], profile: Profile, threads: int) -> list[npt.NDArray[np.uint32]]:
        """The same as one-dimensional read-only arrays."""

    def count(self, data: str | bytes, profile: Profile) -> int:
        """How many ids text has."""

    def count_until(self, data: str | bytes, profile: Profile, limit: int) -> int | None:
        """How many, where they are not more than ``limit``; else None, found without encoding the rest."""

    def encode_spans(self, data: bytes, profile: Profile, unit: Unit) -> list[tuple[int, int, int]]:
        """``(id, start, end)``: each id with the range of ``data`` that it came from, in a unit (contract/tokenizer.md, offsets)."""

    def piece_ends(self, data: bytes) -> list[int]:
        """The byte after each piece of ``data``, which is taken as it is: it is not normalised first (contract/tokenizer.md, T-4)."""

    def chunks(self, profile: Profile) -> EngineChunks:
        """A text that arrives in parts, before its first byte."""

    def growing_text(self, profile: Profile) -> EngineText:
        """A text that grows, empty."""

    def encode_trusted(self, data: bytes, profile: Profile) -> list[int]:
        """Ids of text in which the text of a special token is that token."""

    def encode_trusted_array(self, data: bytes, profile: Profile) -> npt.NDArray[np.uint32]:
        """The same ids as a one-dimensional read-only array."""

    def find_special(self, data: bytes) -> list[tuple[int, int, int]]:
        """``(start, end, id)`` of the texts of special tokens in ``data``: leftmost, longest, not overlapping."""

    def decode(self, ids: Sequence[int], special: SpecialPolicy) -> bytes:
        """The bytes of the tokens one after the other; ``invalid_type`` with its place where something is no integer."""

    def decode_text(self, ids: Sequence[int], special: SpecialPolicy) -> str:
        """The text that a stream decoder gives for all of them and ``finish``; refused as there, and as in ``decode``."""

    def decode_u32(self, ids: bytes, special: SpecialPolicy) -> bytes:
        """The same from ids as little-endian u32."""

    def token_bytes(self, token_id: int) -> bytes:
        """Bytes of a plain token or text of a special one."""

    def token_id(self, data: bytes) -> int | None:
        """The plain token that has exactly these bytes."""

    def compose(self, request: object) -> EngineComposition:
        """What the template makes of a request: an object with ``messages`` and so on. The refusals are those of contract/template.md."""

    def assemble(self, request: object, profile: Profile, on_special: str) -> EngineAssembly:
        """A prompt within its budget; ``on_special`` is ``literal`` or ``reject``. The refusals are those of contract/prompt.md."""

    def reply_reader(self, state: str) -> EngineReply:
        """A reader of one reply, which begins in the state in which a prompt ended."""

    def session(self, profile: Profile, tools: object, enable_thinking: bool | None, preserve_thinking: bool) -> EngineSession:
        """An empty conversation; tools are a list of JSON schemas, or None."""

    def restore_session(self, data: bytes) -> EngineSession:
        """The session of a checkpoint."""

    def stream_decoder(self, special: SpecialPolicy) -> EngineStream:
        """A fresh streaming decoder."""

    def sampler(self, config: SamplingConfig, prompt: Sequence[int], width: int) -> EngineSampler:
        """A sampler at the beginning of its stream, over rows of ``width`` logits."""

    def generated_text(self, config: SamplingConfig, special: SpecialPolicy) -> EngineGeneratedText:
        """The text of ids that are drawn, until something of a configuration ends it."""

    def generator(self, rng: Rng, seed: int | str, stream: int | str) -> EngineGenerator:
        """A generator by itself, of values that SamplingConfig would take."""

    def portable(self, function: PortableFunction, values: bytes) -> bytes:
        """exp, log or log1p of each of some little-endian float64, to compare their bits."""


def check_special(special: SpecialPolicy) -> SpecialPolicy:
    """The policy, where it is one.

    Raises:
        Slm2Error: ``invalid_value``.
    """
    if special not in ("refuse", "skip", "bytes"):
        raise Slm2Error("invalid_value", field="special", expected="refuse, skip or bytes", found=repr(special))
    return special


def integer_ids(field: str, ids: Iterable[int]) -> list[int]:
    """The ids of a caller as a list of ints, read once: any iterable of integers that has an order.

    Raises:
        Slm2Error: ``invalid_type`` where it is text, bytes, a set, a mapping or no iterable, or holds something that is no integer.
    """
    if isinstance(ids, str | bytes | bytearray | Set | Mapping) or not isinstance(ids, Iterable):
        raise Slm2Error("invalid_type", field=field, expected="a sequence of integers", found=type(ids).__name__)
    if isinstance(ids, memoryview):
        try:
            ids = ids.tolist()
        except (ValueError, NotImplementedError):  # released, or of another format
            raise Slm2Error("invalid_type", field=field, expected="a sequence of integers", found="memoryview") from None
    given = list(ids)
    if set(map(type, given)) <= {int}:  # a tenth of the time that asking them one by one takes
        return given
    return [integer_id(f"{field}[{position}]", token_id) for position, token_id in enumerate(given)]


def packed_ids(ids: Iterable[int]) -> bytes | None:
    """The ids of a list, a tuple or a buffer of integers as little-endian u32, many at once; None where :func:`integer_ids` must look.

    That is so for any other iterable, and where something in it is no integer or is no u32.
    """
    try:
        if isinstance(ids, list | tuple):
            packed = array("I", ids)
        else:
            view = memoryview(ids)  # type: ignore[arg-type]  # whether it is a buffer is what is asked
            if view.ndim != 1 or view.format not in _INTEGER_FORMATS:
                return None
            packed = array("I", view.tolist()) if view.format != "I" else array("I", view.tobytes())
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def integer_id(field: str, token_id: int) -> int:
    """One id of a caller as an int.

    Raises:
        Slm2Error: ``invalid_type``.
    """
    if type(token_id) is int:
        return token_id
    try:
        return operator.index(token_id)
    except TypeError:  # no integer, or an array of NumPy, which is one only where it holds one
        raise Slm2Error("invalid_type", field=field, expected="an integer", found=type(token_id).__name__) from None


def shown_integer(value: int) -> str:
    """An integer for an error, in digits where they are few: Python refuses to write thousands of them."""
    number = operator.index(value)
    return str(number) if number.bit_length() <= LONGEST_SHOWN else f"an integer of {number.bit_length()} bits"


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


def select(choice: EngineChoice, artifact: bytes | str, max_pretoken: int = MAX_PRETOKEN) -> Engine:
    """Open an artifact with the engine asked for.

    Args:
        choice: ``native`` or ``reference`` by name, or ``auto``: the native engine, else the reference with one warning.
        artifact: its bytes, or its path.
        max_pretoken: the longest piece and run of marks that it encodes, in bytes: 256 to 2^31 - 1.

    Raises:
        Slm2Error: ``engine_unavailable``, ``invalid_value``, ``limit_out_of_range``, or a code of contract/artifact.md.
        OSError, ValueError: of a path, as of Python's ``open``.
    """
    if choice not in ("auto", "native", "reference"):
        raise Slm2Error("invalid_value", field="engine", expected="auto, native or reference", found=repr(choice))
    if not _LIMITS[0] <= max_pretoken <= _LIMITS[1]:
        raise Slm2Error("limit_out_of_range", found=max_pretoken, minimum=_LIMITS[0], maximum=_LIMITS[1])
    reason = None if choice == "reference" else native_reason()
    if choice == "native" and reason is not None:
        raise Slm2Error("engine_unavailable", engine="native", reason=reason)
    if choice != "reference" and reason is None:
        from slm2._engine import NativeEngine  # noqa: PLC0415

        # A file it reads itself, into the memory that it keeps: bytes of Python would be written once more.
        return NativeEngine(artifact, max_pretoken) if isinstance(artifact, bytes) else NativeEngine.of_file(Path(artifact), max_pretoken)
    if choice == "auto":
        warnings.warn(
            f"slm2 uses the reference engine: same results, hundreds of times slower ({reason}). "
            "Install it with a Rust toolchain for the native engine, or say engine='reference'.",
            RuntimeWarning,
            stacklevel=3,
        )
    from slm2.reference.engine import ReferenceEngine  # noqa: PLC0415  (its load reads the whole artifact in Python)

    return ReferenceEngine(artifact if isinstance(artifact, bytes) else Path(artifact).read_bytes(), max_pretoken)
