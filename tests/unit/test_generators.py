"""The generators: published words, jumps, states, streams, the mapping to uniforms (contract/sampling.md, S-30 to S-35)."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from sampling_cases import RNG_NAMES, config, engine
from slm2.engine import EngineGenerator
from slm2.errors import Slm2Error
from slm2.reference.sampling.generators import chacha_block

ENGINES = ("native", "reference")
every_engine = pytest.mark.parametrize("choice", ENGINES)
every_generator = pytest.mark.parametrize("rng", RNG_NAMES)


def words(generator: EngineGenerator, count: int) -> list[int]:
    return [generator.word() for _ in range(count)]


@every_engine
def test_published_words(choice) -> None:
    # pcg-c-basic's demo.
    published = [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]
    assert words(engine(choice).generator("pcg32", 42, 54), 6) == published
    # draft-strombergson-chacha-test-vectors, TC1 with 8 rounds.
    block = b"".join(word.to_bytes(4, "little") for word in words(engine(choice).generator("chacha8", "00" * 32, 0), 16))
    assert block.hex() == (
        "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42"
    )
    # The C++ standard, [rand.predef].
    drawn = words(engine(choice).generator("mt19937-torch", 5489, 0), 10_000)
    assert (drawn[0], drawn[-1]) == (3499211612, 4123659995)


def test_the_twister_is_numpys() -> None:
    for seed in (0, 42, 2**32 - 1, 2**32 + 5):
        theirs = np.random.RandomState(seed % 2**32).randint(0, 2**32, 2_000, dtype=np.uint32).tolist()
        assert words(engine("native").generator("mt19937-torch", seed, 0), 2_000) == theirs


def test_the_block_function_is_that_of_rfc_8439() -> None:
    key = [int.from_bytes(bytes(range(at, at + 4)), "little") for at in range(0, 32, 4)]
    block = chacha_block([0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, 1, 0x09000000, 0x4A000000, 0], 20)
    assert block[:4] == [0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3]


@every_engine
def test_uniforms_are_two_words_in_the_order_of_each(choice) -> None:
    for rng, seed in (("pcg32", 7), ("chacha8", 7), ("mt19937-torch", 7)):
        first, second = words(engine(choice).generator(rng, seed, 0), 2)
        whole = {
            "pcg32": (first << 32 | second) >> 11,
            "chacha8": (second << 32 | first) >> 11,
            "mt19937-torch": (first << 32 | second) % 2**53,
        }[rng]
        assert engine(choice).generator(rng, seed, 0).uniform() == whole * 2.0**-53
    # 0x1.42b8056ef68fep-1 and 0x1.ac80bf125fde0p-1: the research notes, from other programs.
    assert engine(choice).generator("pcg32", 42, 54).uniform() == float.fromhex("0x1.42b8056ef68fep-1")
    assert engine(choice).generator("chacha8", "00" * 32, 0).uniform() == float.fromhex("0x1.ac80bf125fde0p-1")


@every_generator
def test_both_engines_walk_jump_and_stop_alike(rng) -> None:
    one, other = (engine(choice).generator(rng, 11, 0 if rng == "mt19937-torch" else 9) for choice in ENGINES)
    for jump in (0, 1, 3, 16, 623, 624, 1_000, 12_345):
        assert words(one, 5) == words(other, 5)
        one.advance(jump)
        other.advance(jump)
        assert one.state() == other.state()
        assert one.position == other.position
    # What one has saved the other goes on from.
    fresh = engine("reference").generator(rng, 0, 0)
    fresh.restore(one.state())
    assert words(fresh, 700) == words(one, 700)


@pytest.mark.parametrize("rng", ["pcg32", "chacha8"])
@every_engine
def test_long_jumps(rng, choice) -> None:
    once, twice = engine(choice).generator(rng, 3, 4), engine(choice).generator(rng, 3, 4)
    for count in (2**64 - 1, 2**63 + 12_345):
        once.advance(count)
    for count in (2**63 + 12_345, 2**64 - 1):
        twice.advance(count)
    assert once.state() == twice.state()


@every_engine
def test_a_generator_that_goes_word_by_word_has_a_bound(choice) -> None:
    made = engine(choice).generator("mt19937-torch", 3, 0)
    before = made.state()
    for count in (2**32 + 1, 2**64 - 1):
        with pytest.raises(Slm2Error) as caught:
            made.advance(count)
        assert (caught.value.code, caught.value.fields["field"]) == ("invalid_value", "words")
    assert made.state() == before
    made.restore(before[:1] + (2**63 - 1).to_bytes(16, "little") + before[17:])
    made.word()
    assert made.position == 2**63
    with pytest.raises(Slm2Error) as caught:
        made.restore(before[:1] + (2**63).to_bytes(16, "little") + before[17:])
    assert caught.value.code == "generator_state"


def test_streams_have_numbers_and_names() -> None:
    name = "größer"
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    for rng in ("pcg32", "chacha8"):
        for choice in ENGINES:
            assert words(engine(choice).generator(rng, 1, name), 9) == words(engine("native").generator(rng, 1, number), 9)
        assert words(engine("native").generator(rng, 1, 0), 9) != words(engine("native").generator(rng, 1, 1), 9)


def test_a_key_of_digits_is_that_of_its_number() -> None:
    seed = 0x0123456789ABCDEF
    digits = (seed.to_bytes(8, "little") + bytes(24)).hex()
    for choice in ENGINES:
        assert words(engine(choice).generator("chacha8", digits, 5), 20) == words(engine("native").generator("chacha8", seed, 5), 20)


@every_generator
@every_engine
def test_states_that_are_none_are_refused(rng, choice) -> None:
    sampler = engine(choice).sampler(config(rng=rng), [], 64)
    before = sampler.state()
    for state in (b"", before[:-1], before + b"\0", bytes([before[0] ^ 3]) + before[1:], before[:16] + b"\xff" + before[17:]):
        with pytest.raises(Slm2Error) as refusal:
            sampler.restore(state)
        assert (refusal.value.code, refusal.value.fields["rng"]) == ("generator_state", rng)
    assert sampler.state() == before
