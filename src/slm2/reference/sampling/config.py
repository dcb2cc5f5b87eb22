"""What a sampler is told: every parameter by name, none with a default of its surroundings (contract/sampling.md, S-1 to S-5)."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from slm2.artifact import PROFILES, Profile
from slm2.errors import Slm2Error
from slm2.reference.json_text import json_type, shown, shown_key

__all__ = ["MEANINGLESS_FROM", "PUBLISHER_STREAM", "RNGS", "WIDTH", "Rng", "SamplingConfig", "float32", "seed_key", "stream_number"]

# The logits of Qwen3-0.6B: 151,669 ids with a token, and padding up to a multiple of 256.
WIDTH = 151_936
MEANINGLESS_FROM = 151_669

# Whose stream profile publisher reproduces: the torch release, and the width of the registers in which its softmax sums.
PUBLISHER_STREAM = "torch-2.13-cpu-avx512"

Rng = Literal["pcg32", "chacha8", "mt19937-torch"]
RNGS: tuple[Rng, ...] = ("pcg32", "chacha8", "mt19937-torch")
_PAIRS: dict[str, tuple[str, ...]] = {"contract": ("pcg32", "chacha8"), "publisher": ("mt19937-torch",)}
_U32, _U64 = 2**32 - 1, 2**64 - 1
_KEY_DIGITS = 64
# Digits that Python prints whatever its settings say.
_MOST_BITS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingConfig:
    """All that decides, beside the logits and the history, which id comes.

    Every field must be given, ``stream`` and those after it apart, which are off unless they are named.

    Attributes:
        profile: ``contract`` or ``publisher`` (decisions D1, D8).
        temperature: 0 for the greatest logit, else above 0; rounded to float32 before it is used.
        top_k: how many of the greatest logits stay, those equal to the last of them too; 0 is off.
        top_p: share of the mass that stays, from 0 to 1; 1 is off.
        min_p: share of the greatest probability that a token must have, from 0 to 1; 0 is off.
        repetition_penalty: above 0; 1 is off; rounded to float32 before it is used.
        rng: ``pcg32`` or ``chacha8`` in profile ``contract``, ``mt19937-torch`` in profile ``publisher``.
        seed: from 0 to 2^64 - 1; with ``chacha8`` also the 64 hex digits of a key.
        max_tokens: after how many ids a generation ends, at least 1.
        stop_ids: ids that end a generation.
        stream: a number from 0 to 2^64 - 1 or a name; not with ``mt19937-torch``, which has no streams.
        logit_bias: what is added to the logits of ids.
        banned_ids: ids that cannot be drawn.
        presence_penalty: taken once from the logit of each id of the output.
        frequency_penalty: taken from the logit of each id of the output as often as it is there.
        stop_strings: texts that end a generation and are not part of its text.
    """

    profile: Profile
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    rng: Rng
    seed: int | str
    max_tokens: int
    stop_ids: Sequence[int]
    stream: int | str = 0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    banned_ids: Sequence[int] = ()
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stop_strings: Sequence[str] = ()

    def __post_init__(self) -> None:
        _one_of("profile", self.profile, PROFILES)
        _one_of("rng", self.rng, RNGS)
        if self.rng not in _PAIRS[self.profile]:
            raise Slm2Error("sampling_pairing", profile=self.profile, rng=self.rng, expected=" or ".join(_PAIRS[self.profile]))
        self._set("temperature", _scale("temperature", self.temperature, zero=True))
        self._set("repetition_penalty", _scale("repetition_penalty", self.repetition_penalty, zero=False))
        self._set("top_p", _share("top_p", self.top_p))
        self._set("min_p", _share("min_p", self.min_p))
        _integer("top_k", self.top_k, 0, _U32)
        _integer("max_tokens", self.max_tokens, 1, _U32)
        self._set("seed", _seed(self.rng, self.seed))
        self._check_stream()
        self._set("stop_ids", _ids("stop_ids", self.stop_ids))
        self._set("banned_ids", _ids("banned_ids", self.banned_ids))
        self._set("presence_penalty", _offset("presence_penalty", self.presence_penalty))
        self._set("frequency_penalty", _offset("frequency_penalty", self.frequency_penalty))
        self._set("logit_bias", _bias(self.logit_bias))
        self._set("stop_strings", _texts("stop_strings", self.stop_strings))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_stream(self) -> None:
        if isinstance(self.stream, str):
            _well_formed("stream", self.stream)
        else:
            _integer("stream", self.stream, 0, _U64, "an integer from 0 to 2^64 - 1 or a name")
        if self.rng == "mt19937-torch" and self.stream != 0:
            raise _invalid("stream", "absent with mt19937-torch, which has no streams", self.stream)

    @property
    def report_name(self) -> str:
        """The profile as reports name it, with the torch release where it is the publisher's."""
        return self.profile if self.profile == "contract" else f"{self.profile} ({PUBLISHER_STREAM})"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SamplingConfig:
        """The fields by name, as a file of JSON has them; keys of ``logit_bias`` may be ids in decimal digits.

        Raises:
            Slm2Error: ``unknown_field``, ``missing_field``, or what the constructor raises.
        """
        if not isinstance(values, Mapping):
            raise Slm2Error("invalid_type", field="config", expected="object", found=json_type(values))
        known = [member.name for member in fields(cls)]
        for name in values:
            if name not in known:
                raise Slm2Error("unknown_field", field=shown_key(name), known=", ".join(known))
        for name in known[: known.index("stream")]:
            if name not in values:
                raise Slm2Error("missing_field", field=name)
        given = dict(values)
        if isinstance(given.get("logit_bias"), Mapping):
            given["logit_bias"] = {_numeral(key): value for key, value in given["logit_bias"].items()}
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, ready for JSON; what is off and may be absent is left out."""
        values: dict[str, Any] = {member.name: getattr(self, member.name) for member in fields(self)}
        values["stop_ids"], values["banned_ids"] = list(self.stop_ids), list(self.banned_ids)
        values["stop_strings"] = list(self.stop_strings)
        values["logit_bias"] = {str(token): value for token, value in self.logit_bias.items()}
        optional = [member.name for member in fields(self)][10:]
        # An empty name is a stream of its own, and not stream 0.
        return {name: value for name, value in values.items() if name not in optional or value or value == ""}


def float32(value: float) -> float:
    """A float64 rounded to float32, infinite where it is too large."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def seed_key(seed: int | str) -> bytes:
    """The 32 bytes of a ChaCha key: 64 hex digits, or a number little-endian and 24 zero bytes (decisions D7)."""
    return bytes.fromhex(seed) if isinstance(seed, str) else seed.to_bytes(8, "little") + bytes(24)


def stream_number(stream: int | str) -> int:
    """The number of a stream; of a name the first 8 bytes, little-endian, of its SHA-256 as UTF-8 (decisions D7)."""
    return stream if isinstance(stream, int) else int.from_bytes(hashlib.sha256(stream.encode("utf-8")).digest()[:8], "little")


# ---- one field at a time ----


def _invalid(name: str, expected: str, found: object) -> Slm2Error:
    if isinstance(found, int) and not isinstance(found, bool):
        # No integer of more digits than Python prints comes from a reader of JSON that is the contract's.
        text = shown(str(found)) if found.bit_length() <= _MOST_BITS else f"an integer of {found.bit_length()} bits"
    else:
        text = repr(found) if isinstance(found, float) else shown(found)
    return Slm2Error("invalid_value", field=name, expected=expected, found=text)


def _mistyped(name: str, expected: str, found: object) -> Slm2Error:
    return Slm2Error("invalid_type", field=name, expected=expected, found=json_type(found))


def _one_of(name: str, value: object, names: Sequence[str]) -> None:
    if not isinstance(value, str):
        raise _mistyped(name, "a string", value)
    if value not in names:
        raise _invalid(name, " or ".join(names), value)


def _integer(name: str, value: object, low: int, high: int, expected: str = "") -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _mistyped(name, expected or "an integer", value)
    if not low <= value <= high:
        raise _invalid(name, expected or f"an integer from {low} to {high}", value)
    return value


def _number(name: str, value: object, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _mistyped(name, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise _invalid(name, expected, -math.inf if value < 0 else math.inf) from None


def _scale(name: str, value: object, *, zero: bool) -> float:
    """A temperature or a penalty: what divides must be usable as float32 too."""
    expected = f"{'0, or ' if zero else ''}a number above 0 that float32 can hold"
    number = _number(name, value, expected)
    if zero and number == 0.0:
        return 0.0
    if not (number > 0.0 and 0.0 < float32(number) < math.inf):
        raise _invalid(name, expected, number)
    return number


def _share(name: str, value: object) -> float:
    number = _number(name, value, "a number from 0 to 1")
    if not 0.0 <= number <= 1.0:
        raise _invalid(name, "a number from 0 to 1", number)
    return number + 0.0  # -0.0 is 0.0


def _offset(name: str, value: object) -> float:
    expected = "a finite number that float32 can hold"
    number = _number(name, value, expected)
    if not math.isfinite(float32(number)):
        raise _invalid(name, expected, number)
    return number + 0.0


def _seed(rng: str, seed: object) -> int | str:
    digits = "an integer from 0 to 2^64 - 1" + (", or 64 hex digits" if rng == "chacha8" else "")
    if isinstance(seed, str) and rng == "chacha8":
        if len(seed) != _KEY_DIGITS or not set(seed.lower()) <= set("0123456789abcdef"):
            raise _invalid("seed", digits, seed)
        return seed.lower()
    return _integer("seed", seed, 0, _U64, digits)


def _sequence(name: str, values: object, expected: str) -> Sequence[object]:
    if not isinstance(values, list | tuple):
        raise _mistyped(name, expected, values)
    return values


def _ids(name: str, values: object) -> tuple[int, ...]:
    members = _sequence(name, values, "a list of integers")
    return tuple(_integer(f"{name}[{at}]", member, 0, WIDTH - 1) for at, member in enumerate(members))


def _bias(values: object) -> dict[int, float]:
    if not isinstance(values, Mapping):
        raise _mistyped("logit_bias", "a mapping of ids to numbers", values)
    return {_integer("logit_bias", token, 0, WIDTH - 1): _offset(f"logit_bias[{token}]", values[token]) for token in values}


def _numeral(key: object) -> object:
    """An id of its decimal digits; digits that are written in another way could name one id twice."""
    number = int(key) if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) <= 10 else None
    return key if str(number) != key else number


def _texts(name: str, values: object) -> tuple[str, ...]:
    members = _sequence(name, values, "a list of strings")
    for at, member in enumerate(members):
        if not isinstance(member, str):
            raise _mistyped(f"{name}[{at}]", "a string", member)
        if not member:
            raise _invalid(f"{name}[{at}]", "a text that is not empty", member)
        _well_formed(f"{name}[{at}]", member)
    return tuple(str(member) for member in members)


def _well_formed(name: str, text: str) -> None:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise _invalid(name, "text without lone surrogates", text)
