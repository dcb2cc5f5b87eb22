"""Generations: ids to text until something ends them, and why they ended (contract/sampling.md, S-80 to S-84; decisions D12)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import slm2
from sampling_cases import config, engine
from slm2.errors import Slm2Error
from slm2.generation import Generation
from slm2.reference.sampling.stop_strings import StopStrings
from slm2.sampling import STOP_IDS, WIDTH

ENGINES = ("native", "reference")
every_engine = pytest.mark.parametrize("choice", ENGINES)
HELLO, COMMA, WORLD, HALF = 9707, 11, 1879, 9284


def row_of(token: int) -> np.ndarray:
    row = np.zeros(WIDTH, np.float32)
    row[token] = 1.0
    return row


def generated(choice, ids, special="refuse", **changes) -> Generation:
    generation = Generation(engine(choice), config(temperature=0, stop_ids=STOP_IDS, **changes), special=special)
    for token in ids:
        generation.step(row_of(token))
    return generation


@every_engine
def test_stop_tokens_and_limits(choice) -> None:
    result = generated(choice, [HELLO, COMMA, STOP_IDS[0]]).result
    assert (result.text, result.reason, result.stopped_by, result.ids[-1]) == ("Hello,", "StopToken", "StopToken", STOP_IDS[0])
    result = generated(choice, [HELLO, COMMA], max_tokens=2).result
    assert (result.text, result.reason, result.stopped_by) == ("Hello,", "MaxTokens", "MaxTokens")
    assert generated(choice, [HELLO, STOP_IDS[1]], max_tokens=2).result.reason == "StopToken"
    assert generated(choice, [HELLO]).result.reason is None


@every_engine
@pytest.mark.parametrize(
    ("ids", "limit", "text", "pending"),
    [
        ([HELLO, HALF, HELLO], None, "Hello", b"\xf0\x9f\xab" + b"Hello"),
        ([HELLO, HALF, STOP_IDS[0]], "StopToken", "Hello", b"\xf0\x9f\xab"),
        ([HELLO, COMMA, HALF], "MaxTokens", "Hello,", b"\xf0\x9f\xab"),
        ([COMMA, HALF, HELLO], "MaxTokens", ",", b"\xf0\x9f\xab" + b"Hello"),
    ],
)
def test_fatal_errors_win_and_keep_the_bytes(choice, ids, limit, text, pending) -> None:
    max_tokens = 3 if limit == "MaxTokens" else 10
    result = generated(choice, ids, max_tokens=max_tokens).result
    half = slm2.load(engine="native").tokenizer.token_bytes(HALF)
    assert (result.reason, result.stopped_by, result.text) == ("FatalError", limit, text)
    assert result.pending == half + (b"Hello" if pending.endswith(b"Hello") else b"")


@every_engine
def test_after_the_end_nothing_is_drawn(choice) -> None:
    generation = generated(choice, [STOP_IDS[0]])
    position = generation.sampler.position
    with pytest.raises(Slm2Error) as caught:
        generation.step(row_of(HELLO))
    assert (caught.value.code, caught.value.fields["reason"]) == ("generation_ended", "StopToken")
    assert generation.sampler.position == position


@every_engine
def test_ids_that_the_decoder_refuses_end_it_without_a_reason(choice) -> None:
    generation = generated(choice, [HELLO])
    with pytest.raises(Slm2Error) as caught:
        generation.step(row_of(151_644))
    assert caught.value.code == "structural_id"
    assert generation.result.reason is None
    assert generation.result.text == "Hello"
    with pytest.raises(Slm2Error) as caught:
        generation.step(row_of(HELLO))
    assert caught.value.code == "generation_ended"
    publisher = Generation(engine(choice), config(temperature=0, rng="mt19937-torch"), special="skip")
    with pytest.raises(Slm2Error) as caught:
        publisher.step(row_of(151_800))
    assert caught.value.code == "token_id_out_of_range"
    assert publisher.result.ids == (151_800,)


@every_engine
def test_a_refused_row_can_be_tried_again(choice) -> None:
    generation = generated(choice, [HELLO])
    with pytest.raises(Slm2Error):
        generation.step(np.full(WIDTH, np.nan, np.float32))
    assert generation.step(row_of(COMMA)).text == ","


@every_engine
def test_stop_strings(choice) -> None:
    result = generated(choice, [HELLO, COMMA, WORLD], stop_strings=["lo, w"]).result
    assert (result.text, result.reason, result.stop_string) == ("Hel", "StopString", "lo, w")
    held = generated(choice, [HELLO, COMMA], stop_strings=["lo, wx"])
    assert held.result.text == "Hel"
    held.step(row_of(STOP_IDS[0]))
    assert (held.result.text, held.result.reason) == ("Hello,", "StopToken")
    failed = generated(choice, [HELLO, HALF, HELLO], stop_strings=["lo!"])
    assert (failed.result.text, failed.result.reason) == ("Hello", "FatalError")


def test_stop_strings_do_not_depend_on_how_text_is_cut() -> None:
    text, strings = "aababcaabx", ["abc", "aabx", "bca"]
    told = set()
    for size in range(4):
        for cuts in itertools.combinations(range(1, len(text)), size):
            parts = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
            found = StopStrings(strings)
            given = []
            for part in parts:
                given.append(found.push(part))
                if found.found is not None:
                    break
            told.add(("".join(given), found.found))
    assert told == {("aab", "abc")}


@pytest.mark.parametrize(("text", "strings"), [("abababx", ["ababx"]), ("xxab", ["ab", "xab"]), ("a\nb", ["\n"]), ("no", ["yes"])])
def test_stop_strings_are_found_where_a_search_finds_them(text, strings) -> None:
    found = StopStrings(strings)
    given = "".join(found.push(char) for char in text if found.found is None)
    ends = {text.find(string) + len(string): string for string in sorted(strings, key=len) if string in text}
    if not ends:
        assert (given + found.release(), found.found) == (text, None)
    else:
        end = min(ends)
        assert (given, found.found) == (text[: end - len(ends[end])], ends[end])


@every_engine
def test_a_generation_runs_to_its_end(choice) -> None:
    contract = slm2.load(engine=choice)
    setting = config(temperature=0, stop_ids=STOP_IDS, max_tokens=50)
    ids = [HELLO, COMMA, WORLD, STOP_IDS[0]]
    generation = contract.generation(setting, [1, 2], special="refuse")
    steps = list(generation.run(lambda drawn: row_of(ids[len(drawn)])))
    assert [step.text for step in steps] == ["Hello", ",", " world", ""]
    assert steps[-1].reason == "StopToken"
    only_commas = np.zeros(WIDTH, np.bool_)
    only_commas[[COMMA, STOP_IDS[0]]] = True
    held = contract.generation(setting, special="refuse")
    list(held.run(lambda drawn: row_of(ids[len(drawn)]) - (len(drawn) == 2) * row_of(COMMA), constraint=lambda _: only_commas))
    assert set(held.result.ids) <= {COMMA, STOP_IDS[0]}


def test_reports_say_whose_stream_it_is() -> None:
    assert Generation(engine("native"), config(rng="mt19937-torch"), special="skip").result.profile == "publisher (torch-2.13-cpu-avx512)"


@pytest.mark.parametrize("choice", ["native", "reference"])
def test_text_held_back_is_kept_where_an_id_is_refused(choice) -> None:
    generation = Generation(engine(choice), config(stop_strings=["Hello, world!"], temperature=0, top_k=0), special="refuse")
    generation.step(row_of(9707))  # Hello
    with pytest.raises(Slm2Error) as caught:
        generation.step(row_of(151_644))
    assert caught.value.code == "structural_id"
    assert generation.result.text == "Hello"
    assert generation.result.reason is None
