"""Random words from a seed, and uniforms from words (contract/sampling.md, S-30 to S-35; decisions D7)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from slm2.errors import Slm2Error
from slm2.reference.sampling.config import Rng, seed_key

__all__ = ["ChaCha8", "Generator", "Mt19937", "Pcg32", "ReferenceGenerator", "generator", "restored"]

_U32, _U64 = 2**32 - 1, 2**64 - 1
# How far a generator that can only go on word by word advances in one call.
MOST_BY_WORD = 2**32
Words = npt.NDArray[np.uint32]


class Generator(Protocol):
    """A stream of 32-bit words.

    Attributes:
        position: how many words were taken since the seed.
    """

    position: int

    def word(self) -> int:
        """The next word."""

    def uniform(self) -> float:
        """A multiple of 2^-53 in [0, 1), from two words."""

    def advance(self, count: int) -> None:
        """Go on as if ``count`` words had been taken."""

    def state(self) -> bytes:
        """All there is to say about the generator (S-35)."""


class Pcg32:
    """PCG XSH-RR 64/32 (O'Neill 2014); the first of two words is the high one."""

    MULTIPLIER = 6364136223846793005

    def __init__(self, seed: int, stream: int) -> None:
        """``srandom(initstate = seed, initseq = stream)``."""
        self._increment = (stream << 1 | 1) & _U64
        self._state = ((self._increment + seed) * self.MULTIPLIER + self._increment) & _U64
        self.position = 0

    def word(self) -> int:
        old = self._state
        self._state = (old * self.MULTIPLIER + self._increment) & _U64
        self.position = (self.position + 1) & _U64
        mixed = ((old >> 18 ^ old) >> 27) & _U32
        turn = old >> 59
        return (mixed >> turn | mixed << (-turn & 31)) & _U32

    def uniform(self) -> float:
        high = self.word()
        return _of_53_bits(high, self.word())

    def advance(self, count: int) -> None:
        """Brown's jump: the map x -> a x + c, applied ``count`` times by squaring."""
        power, offset, a, c, left = 1, 0, self.MULTIPLIER, self._increment, count
        while left:
            if left & 1:
                power, offset = power * a & _U64, (offset * a + c) & _U64
            a, c, left = a * a & _U64, (a + 1) * c & _U64, left >> 1
        self._state = (power * self._state + offset) & _U64
        self.position = (self.position + count) & _U64

    def state(self) -> bytes:
        return struct.pack("<B16sQQ", 1, self.position.to_bytes(16, "little"), self._state, self._increment)

    @classmethod
    def of_state(cls, position: int, content: bytes) -> Pcg32:
        made = cls(0, 0)
        made.position = position
        made._state, made._increment = struct.unpack("<QQ", content)
        if not made._increment & 1 or position > _U64:
            raise Slm2Error("generator_state", rng="pcg32", reason="the increment is even or the position too large")
        return made


class ChaCha8:
    """ChaCha with 8 rounds, a 64-bit counter from 0 and the stream as nonce, as rand_chacha has it; the second word is the high one."""

    CONSTANT = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
    QUARTERS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
    PERIOD = 2**68

    def __init__(self, key: bytes, stream: int) -> None:
        self._key, self._stream, self.position = key, stream, 0
        self._block: tuple[int, Sequence[int]] = (-1, ())

    def word(self) -> int:
        counter, at = divmod(self.position, 16)
        if self._block[0] != counter:
            self._block = (counter, self._words(counter))
        self.position = (self.position + 1) % self.PERIOD
        return self._block[1][at]

    def _words(self, counter: int) -> list[int]:
        key = struct.unpack("<8I", self._key)
        start = (*self.CONSTANT, *key, counter & _U32, counter >> 32, self._stream & _U32, self._stream >> 32)
        return chacha_block(start, 8)

    def uniform(self) -> float:
        low = self.word()
        return _of_53_bits(self.word(), low)

    def advance(self, count: int) -> None:
        self.position = (self.position + count) % self.PERIOD

    def state(self) -> bytes:
        return struct.pack("<B16s32sQ", 2, self.position.to_bytes(16, "little"), self._key, self._stream)

    @classmethod
    def of_state(cls, position: int, content: bytes) -> ChaCha8:
        made = cls(content[:32], int.from_bytes(content[32:], "little"))
        if position >= cls.PERIOD:
            raise Slm2Error("generator_state", rng="chacha8", reason="the position is too large")
        made.position = position
        return made


def chacha_block(start: Sequence[int], rounds: int) -> list[int]:
    """One block of ChaCha (Bernstein 2008) from its 16 words."""
    words = list(start)
    for _ in range(rounds // 2):
        for a, b, c, d in ChaCha8.QUARTERS:
            for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                words[x] = (words[x] + words[y]) & _U32
                mixed = words[z] ^ words[x]
                words[z] = (mixed << turn | mixed >> (32 - turn)) & _U32
    return [(word + first) & _U32 for word, first in zip(words, start, strict=True)]


class Mt19937:
    """The Mersenne Twister (Matsumoto and Nishimura 1998) as torch's CPU generator seeds it: init_genrand(seed mod 2^32)."""

    SIZE, MIDDLE = 624, 397

    def __init__(self, seed: int) -> None:
        word = seed & _U32
        words = [word]
        for at in range(1, self.SIZE):
            word = (1812433253 * (word ^ word >> 30) + at) & _U32
            words.append(word)
        self._words = np.array(words, np.uint32)
        self._at = self.SIZE
        self.position = 0

    def _twist(self) -> None:
        words, size, middle = self._words, self.SIZE, self.MIDDLE
        # Three stretches, each of which reads nothing that it writes, then the last word.
        for start, end in ((0, size - middle), (size - middle, 2 * (size - middle)), (2 * (size - middle), size - 1)):
            ahead = words[start + middle : end + middle] if start == 0 else words[start + middle - size : end + middle - size]
            words[start:end] = ahead ^ self._mixed(words[start:end], words[start + 1 : end + 1])
        words[size - 1 :] = words[middle - 1 : middle] ^ self._mixed(words[size - 1 :], words[:1])
        self._at = 0

    @staticmethod
    def _mixed(upper: Words, lower: Words) -> Words:
        joined = (upper & np.uint32(0x80000000)) | (lower & np.uint32(0x7FFFFFFF))
        return (joined >> np.uint32(1)) ^ np.where(lower & np.uint32(1), np.uint32(0x9908B0DF), np.uint32(0))

    def words(self, count: int) -> Words:
        """The next words."""
        out = np.empty(count, np.uint32)
        done = 0
        while done < count:
            if self._at == self.SIZE:
                self._twist()
            taken = min(count - done, self.SIZE - self._at)
            out[done : done + taken] = self._words[self._at : self._at + taken]
            self._at += taken
            done += taken
        self.position += count
        out ^= out >> np.uint32(11)
        out ^= (out << np.uint32(7)) & np.uint32(0x9D2C5680)
        out ^= (out << np.uint32(15)) & np.uint32(0xEFC60000)
        return out ^ (out >> np.uint32(18))

    def word(self) -> int:
        return int(self.words(1)[0])

    def uniform(self) -> float:
        """As torch maps 64 bits: the first word is the high one, and the *low* 53 bits count."""
        high = self.word()
        return ((high << 32 | self.word()) & (2**53 - 1)) * 2.0**-53

    def uniforms(self, count: int) -> npt.NDArray[np.float64]:
        """That many uniforms at once."""
        pairs = self.words(2 * count).astype(np.uint64)
        joined = (pairs[0::2] << np.uint64(32)) | pairs[1::2]
        return (joined & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53

    def advance(self, count: int) -> None:
        """Go on word by word, so that one call takes at most 2^32.

        Raises:
            Slm2Error: ``invalid_value``.
        """
        if count > MOST_BY_WORD:
            expected = "an integer from 0 to 2^32 with mt19937-torch, which goes on word by word"
            raise Slm2Error("invalid_value", field="words", expected=expected, found=str(count))
        while count:
            taken = min(count, self.SIZE - self._at) or min(count, self.SIZE)
            if self._at == self.SIZE:
                self._twist()
            self._at += taken
            self.position += taken
            count -= taken

    def state(self) -> bytes:
        return struct.pack("<B16sH", 3, self.position.to_bytes(16, "little"), self._at) + self._words.astype("<u4").tobytes()

    @classmethod
    def of_state(cls, position: int, content: bytes) -> Mt19937:
        made = cls(0)
        made.position, made._at = position, int.from_bytes(content[:2], "little")
        made._words = np.frombuffer(content[2:], "<u4").astype(np.uint32)
        if made._at > cls.SIZE or position > _U64 >> 1:
            raise Slm2Error("generator_state", rng="mt19937-torch", reason="the index or the position is too large")
        return made


def _of_53_bits(high: int, low: int) -> float:
    """(high * 2^32 + low) >> 11, times 2^-53: exact, and in [0, 1)."""
    return ((high << 32 | low) >> 11) * 2.0**-53


def generator(rng: Rng, seed: int | str, stream: int) -> Pcg32 | ChaCha8 | Mt19937:
    """A generator at the beginning of a stream."""
    if rng == "chacha8":
        return ChaCha8(seed_key(seed), stream)
    assert isinstance(seed, int)  # SamplingConfig refuses digits elsewhere
    return Pcg32(seed, stream) if rng == "pcg32" else Mt19937(seed)


_LENGTHS: dict[Rng, tuple[int, int]] = {"pcg32": (1, 33), "chacha8": (2, 57), "mt19937-torch": (3, 2515)}


def restored(rng: Rng, state: bytes) -> Pcg32 | ChaCha8 | Mt19937:
    """The generator whose :meth:`Generator.state` this is.

    Raises:
        Slm2Error: ``generator_state``.
    """
    kind, length = _LENGTHS[rng]
    if len(state) != length or state[0] != kind:
        raise Slm2Error("generator_state", rng=rng, reason=f"{length} bytes that begin with {kind} were expected")
    kinds: dict[Rng, type[Pcg32] | type[ChaCha8] | type[Mt19937]] = {"pcg32": Pcg32, "chacha8": ChaCha8, "mt19937-torch": Mt19937}
    return kinds[rng].of_state(int.from_bytes(state[1:17], "little"), state[17:])


class ReferenceGenerator:
    """A generator that can be restored in place; see :class:`slm2.engine.EngineGenerator`."""

    def __init__(self, rng: Rng, seed: int | str, stream: int) -> None:
        self._rng: Rng = rng
        self._generator = generator(rng, seed, stream)

    def word(self) -> int:
        return self._generator.word()

    def uniform(self) -> float:
        return self._generator.uniform()

    @property
    def position(self) -> int:
        return self._generator.position

    def advance(self, count: int) -> None:
        self._generator.advance(count)

    def state(self) -> bytes:
        return self._generator.state()

    def restore(self, state: bytes) -> None:
        self._generator = restored(self._rng, state)
