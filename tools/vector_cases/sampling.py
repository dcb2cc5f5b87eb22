"""Logits to ids (contract/sampling.md)."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from tools.vector_cases.case import Case, Group

from slm2.reference.sampling.recipe import Recipe
from slm2.reference.sampling.trace import link

__all__ = ["FLAGS", "TRACE_FLAGS", "groups", "trace_groups"]

FLAGS = {
    "edge": "sits on a threshold, a tie or the end of a range",
    "refusal": "refused with code and fields; neither generator nor history has moved",
    "extra": "what is off unless it is named",
    "published": "words that the generator's own publication shows",
    "generation": "why a generation ends, and its text",
}
TRACE_FLAGS = {"recorded": "drawn by transformers and torch, recorded by tools/record_traces.py"}
RECORDED = Path(__file__).resolve().parents[2] / "tests" / "data" / "torch-2.13-cpu-avx512.json"
WIDTH = 151_936
Json = dict[str, Any]

BASE: Json = {
    "profile": "contract", "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.0, "repetition_penalty": 1.0,
    "rng": "pcg32", "seed": 7, "max_tokens": 64, "stop_ids": [151_645, 151_643],
}  # fmt: skip
TORCH = {"profile": "publisher", "rng": "mt19937-torch"}
MINUS_INFINITY = "ff800000"


def f32(value: float) -> str:
    """The bits of a float32."""
    return struct.pack(">f", value).hex()


def recipe(seed: int, step: int = 0, **changes: Any) -> Json:  # noqa: ANN401
    """A row that any host rebuilds."""
    return {"recipe": {"seed": seed, "step": step, "scale": 1.0, "head": 9.0, "bfloat16": False, **changes}}


def explicit(values: dict[int, float], fill: float = float("-inf")) -> Json:
    """A row of one value with exceptions."""
    return {"fill": f32(fill), "set": {str(token): f32(value) for token, value in values.items()}}


def sampled(comment: str, clause: str, rows: list[Json], *flags: str, **changes: Any) -> Case:  # noqa: ANN401
    """A row of the table; fields of the configuration and inputs of the operation by name."""
    width, history = changes.pop("width", WIDTH), changes.pop("history", ())
    inputs: Json = {name: changes.pop(name) for name in ("allowed", "top") if name in changes}
    error = changes.pop("error", None)
    config = BASE | changes
    asked = {"config": config, "width": width, "history": list(history), "rows": rows, **inputs}
    flags = (*flags, "refusal") if error else flags
    return Case(comment, "sample", asked, clause, error=error, profile=config["profile"], flags=flags)


def rows_of_contract() -> Group:
    """Whole rows as models make them, in profile contract."""
    walk = [recipe(1, step) for step in range(3)]
    return Group(
        "sampling-rows",
        [
            sampled("the publisher's values for thinking", "S-5", walk, top=5),
            sampled("the same from chacha8", "S-31", walk, rng="chacha8", seed=7),
            sampled("a key of 64 digits and a named stream", "S-33", walk, rng="chacha8", seed="00ff" * 16, stream="a stream"),
            sampled("a numbered stream", "S-30", walk, stream=54, seed=42),
            sampled("top_k off: the total of all lanes", "S-21", walk[:2], top_k=0),
            sampled("neither top_k nor top_p: everything is kept", "S-23", walk[:1], top_k=0, top_p=1.0, top=3),
            sampled("min_p alone", "S-24", walk, top_k=0, top_p=1.0, min_p=0.05),
            sampled("bfloat16 logits: ties at the k-th", "S-18", [recipe(2, 0, bfloat16=True)], "edge", temperature=1.0),
            sampled("a penalty over prompt and output, each id once", "S-13", walk, history=[5, 5, 9, 151_000], repetition_penalty=1.3),
            sampled("temperature 0: no word is taken", "S-17", walk, temperature=0, top=2),
            sampled("log-probabilities of the kept", "S-26", walk[:1], temperature=1.3, top_k=7, top_p=1.0, top=10),
            sampled("what a draw tells", "S-60", walk[:1], min_p=0.02, top=20),
        ],
    )


def edges_of_contract() -> Group:
    """Ties, equalities and ends of ranges, on narrow rows."""
    halves = {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0}
    return Group(
        "sampling-edges",
        [
            sampled("four equal, top_p 0.5: one beyond equality stays", "S-23", [explicit(halves)], "edge", width=16, top_p=0.5, top=4),
            sampled("equal weights by rising id", "S-22", [explicit({9: 1.0, 3: 1.0, 12: 1.0})], "edge", width=16, top_p=0.4, top=4),
            sampled("scores that differ and weigh the same", "S-22", [explicit({9: 1e-30, 3: 0.0, 12: 2e-30})], "edge", width=16, top=4),
            sampled("top_p 0: the greatest stays", "S-23", [recipe(3)], "edge", top_p=0.0),
            sampled("min_p 1: all that equal the greatest", "S-24", [explicit({1: 2.0, 7: 2.0, 8: 1.9})], "edge", width=16, min_p=1.0,
                    top=4),
            sampled("all ties with the k-th stay", "S-18", [explicit(halves | {5: 1.0})], "edge", width=16, top_k=2, top_p=1.0, top=9),
            sampled("a division that merges neighbours before top_k", "S-18",
                    [{"fill": MINUS_INFINITY, "set": {"1": "3f800001", "2": "3f800000", "3": "3f800002"}}], "edge",
                    width=16, top_k=1, temperature=3.0, top_p=1.0, top=4),
            sampled("weights that underflow are kept where nothing cuts", "S-20", [explicit({1: 0.0, 2: -800.0, 3: -745.0})], "edge",
                    width=16, temperature=1.0, top_p=1.0, top=4),
            sampled("zeros of both signs tie", "S-14", [explicit({4: -0.0, 2: 0.0, 9: -0.0})], "edge", width=16, temperature=0),
            sampled("-0.0 is divided by the penalty", "S-14", [explicit({4: -0.0, 2: -1e-3})], "edge", width=16, history=[4, 2],
                    repetition_penalty=2.0, top=2),
            sampled("subnormal logits", "S-20", [explicit({4: 1e-45, 2: -1e-45, 3: 1e-40})], "edge", width=16, temperature=1.0, top=4),
            sampled("one id is left", "S-25", [explicit({4: -3.5})], "edge", width=16),
            sampled("a row narrower than the lanes", "S-21", [explicit({0: 0.5, 1: 0.25, 2: 0.0}, 0.0)], "edge", width=3, top_k=0, top=3),
            sampled("ids without meaning are out", "S-11", [explicit({151_669: 9.0, 151_935: 9.0, 7: 1.0, 8: 0.5})], "edge", top=4),
        ],
    )  # fmt: skip


def extras() -> Group:
    """What is off unless it is named, in its place in the order."""
    rows = [recipe(4, step) for step in range(3)]
    every_other = "55" * (WIDTH // 8)
    return Group(
        "sampling-extras",
        [
            sampled("a mask of allowed ids", "S-11", rows, "extra", allowed=every_other),
            sampled("banned ids", "S-11", [explicit({1: 3.0, 2: 2.0, 3: 1.0})], "extra", width=16, banned_ids=[1], top=4),
            sampled("presence and frequency, of the output alone", "S-15", [explicit({1: 3.0, 2: 2.9, 3: 2.8})] * 4, "extra", width=16,
                    history=[1, 1, 2], presence_penalty=0.5, frequency_penalty=0.25, temperature=0, top=1),
            sampled("a bias after the penalties", "S-16", [explicit({1: 3.0, 2: 2.0})], "extra", width=16, history=[2],
                    repetition_penalty=2.0, logit_bias={"2": 1.5}, top=2),
            sampled("all of them", "S-16", rows, "extra", history=[5, 6], repetition_penalty=1.2, presence_penalty=0.1,
                    frequency_penalty=0.2, logit_bias={"11": 4.0, "5": -1.0}, banned_ids=[12, 13], allowed=every_other),
            sampled("what is out stays out, where a penalty that raises is infinite for it", "S-15",
                    [explicit({1: 3.0}), explicit({1: 3.0}), explicit({2: 1.0})], "extra", width=16, temperature=0,
                    frequency_penalty=-3.4e38),
            sampled("-0.0 lies 0.0 below 0.0", "S-20", [explicit({1: -0.0, 2: 0.0})], "edge", width=16, top_k=0, top_p=0.0, top=2),
            sampled("0.0 lies 0.0 above -0.0", "S-20", [explicit({1: 0.0, 2: -0.0})], "edge", width=16, top_k=0, top_p=0.0, top=2),
            sampled("a stream whose name is empty is not stream 0", "S-33", rows[:1], "edge", stream=""),
        ],
    )  # fmt: skip


def rows_of_publisher() -> Group:
    """Profile publisher, with all bits of the result."""
    walk = [recipe(1, step) for step in range(2)]
    tie = explicit(dict.fromkeys(range(4), 0.0))
    return Group(
        "sampling-publisher",
        [
            sampled("the publisher's values for thinking", "S-53", walk, top=5, **TORCH),
            sampled("top_k off", "S-51", walk[:1], top_k=0, top=3, **TORCH),
            sampled("softmax alone", "S-50", walk[:1], top_k=0, top_p=1.0, top=3, **TORCH),
            sampled("min_p", "S-52", walk, min_p=0.2, repetition_penalty=1.1, history=[3, 5], **TORCH),
            sampled("probability and its logarithm", "S-54", walk[:1], top=20, top_p=1.0, **TORCH),
            sampled("four equal, top_p 0.5: the higher ids stay, as the sort leaves them", "S-57", [tie], "edge", width=16, top_p=0.5,
                    top=4, **TORCH),
            sampled("forty equal: introsort decides", "S-57", [explicit({}, 1.0)], "edge", width=40, top_k=0, top_p=0.5, top=40, **TORCH),
            sampled("bfloat16 ties across the cut of a whole row", "S-57", [recipe(2, 0, bfloat16=True)], "edge", top_k=0, **TORCH),
            sampled("where the mass equals the bound, the two profiles differ", "S-58", [explicit({0: 0.0, 1: 0.0})], "edge", width=16,
                    top_p=0.5, temperature=1.0, top=2, **TORCH),
            sampled("a row narrower than 16 is summed in order", "S-50", [recipe(5, scale=0.5)], "edge", width=9, top_k=0, top=9, **TORCH),
            sampled("a last stretch goes to the first lanes", "S-50", [recipe(5, scale=0.5)], "edge", width=41, top_k=0, top=5, **TORCH),
            sampled("temperature 0", "S-17", walk, temperature=0, **TORCH),
            sampled("ids without meaning can be drawn", "S-11", [explicit({151_700: 9.0, 5: 1.0})], "edge", **TORCH),
        ],
    )  # fmt: skip


def refusals() -> Group:
    """What is no configuration, no row, or leaves nothing."""

    def value(field: str, found: str, expected: str) -> tuple[str, Json]:
        return "invalid_value", {"field": field, "expected": expected, "found": found}

    above = "0, or a number above 0 that float32 can hold"
    good = [recipe(6)]
    pairing = ("sampling_pairing", {"profile": "publisher", "rng": "pcg32", "expected": "mt19937-torch"})
    nan, infinity = {"fill": f32(0.0), "set": {"5": "7fc00000", "9": "7f800000"}}, {"fill": f32(0.0), "set": {"9": "7f800000"}}
    return Group(
        "sampling-refusals",
        [
            sampled("temperature below 0", "S-2", good, error=value("temperature", "-1.0", above), temperature=-1.0),
            sampled("top_p above 1", "S-2", good, error=value("top_p", "1.5", "a number from 0 to 1"), top_p=1.5),
            sampled("penalty 0", "S-2", good, error=value("repetition_penalty", "0.0", above.removeprefix("0, or ")),
                    repetition_penalty=0.0),
            sampled("a field is missing", "S-1", good, error=("missing_field", {"field": "min_p"}), min_p=None),
            sampled("another profile's generator", "S-3", good, error=pairing, profile="publisher"),
            sampled("a stream of the twister", "S-2", good, stream=3,
                    error=value("stream", "3", "absent with mt19937-torch, which has no streams"), **TORCH),
            sampled("NaN", "S-10", [nan], error=("logits_invalid", {"id": 5, "found": "NaN"}), width=16),
            sampled("+infinity", "S-10", [infinity], error=("logits_invalid", {"id": 9, "found": "Infinity"}), width=16),
            sampled("nothing is left", "S-17", [explicit({})], error=("logits_excluded", {"width": 16}), width=16),
            sampled("nothing is left of torch's row", "S-17", [explicit({})], error=("logits_excluded", {"width": 16}), width=16, **TORCH),
            sampled("a mask too short", "S-11", good, error=("allowed_length", {"found": 2, "expected": 18_992}), allowed="ffff"),
            sampled("a logit that overflows", "S-12", [explicit({3: 3e38, 5: -3e38})],
                    error=("logits_overflow", {"id": 3, "operation": "temperature"}), width=16),
            sampled("a history outside the row", "S-5", good, history=[1, WIDTH],
                    error=("token_id_out_of_range", {"position": 1, "id": WIDTH, "limit": WIDTH})),
        ],
    )  # fmt: skip


def without_missing(group: Group) -> Group:
    """A field that a case sets to None is left out of its configuration."""
    for case in group.cases:
        config = case.inputs["config"]
        for name in [name for name, value in config.items() if value is None]:
            del config[name]
    return group


def generators() -> Group:
    """Words, uniforms, jumps and states."""
    jumps: list[list[int]] = [[], [1], [2, 15], [624, 623], [100_000]]
    far = [2**64 - 1, 2**63 + 5]

    def words(comment: str, clause: str, rng: str, *inputs: Any) -> Case:  # noqa: ANN401
        seed, stream, advance, *flags = inputs
        asked = {"rng": rng, "seed": seed, "stream": stream, "advance": [str(count) for count in advance], "count": 6}
        return Case(comment, "random_words", asked, clause, flags=tuple(flags))

    cases = [
        words("pcg-c-basic's demo", "S-30", "pcg32", 42, 54, [], "published"),
        words("draft-strombergson-chacha-test-vectors TC1", "S-31", "chacha8", "00" * 32, 0, [], "published"),
        words("the C++ standard's seed", "S-32", "mt19937-torch", 5489, 0, [], "published"),
        words("the C++ standard's ten thousandth word is the first of these", "S-32", "mt19937-torch", 5489, 0, [9_999], "published"),
        words("a seed modulo 2^32", "S-32", "mt19937-torch", 2**32 + 42, 0, []),
        words("a key of another order of digits", "S-31", "chacha8", bytes(range(32)).hex(), 1, []),
        words("a named stream", "S-33", "pcg32", 1, "größer", []),
        words("the greatest seed and stream", "S-31", "chacha8", 2**64 - 1, 2**64 - 1, []),
    ]
    for rng, seed, stream in (("pcg32", 9, 3), ("chacha8", 9, 3), ("mt19937-torch", 9, 0)):
        cases += [words(f"{rng} after jumps {jump}", "S-34", rng, seed, stream, jump) for jump in jumps[1:]]
    cases += [words(f"{rng} after very long jumps", "S-34", rng, 9, 3, far, "edge") for rng in ("pcg32", "chacha8")]
    state = bytes([1]) + (5).to_bytes(16, "little") + (123456789).to_bytes(8, "little") + (7).to_bytes(8, "little")
    asked = {"rng": "pcg32", "seed": 1, "count": 4}
    even = state[:-8] + (8).to_bytes(8, "little")
    cases += [
        Case("a state to go on from", "restore", {**asked, "state": state.hex()}, "S-35"),
        Case("an even increment", "restore", {**asked, "state": even.hex()}, "S-35", flags=("refusal",),
             error=("generator_state", {"rng": "pcg32", "reason": "the increment is even or the position too large"})),
        Case("a state of another kind", "restore", {**asked, "state": "02" + state[1:].hex()}, "S-35", flags=("refusal",),
             error=("generator_state", {"rng": "pcg32", "reason": "33 bytes that begin with 1 were expected"})),
        Case("further than a generator goes that does so word by word", "random_words",
             {"rng": "mt19937-torch", "seed": 1, "stream": 0, "advance": [str(2**32 + 1)], "count": 1}, "S-34", flags=("refusal",),
             error=("invalid_value", {"field": "words",
                                      "expected": "an integer from 0 to 2^32 with mt19937-torch, which goes on word by word",
                                      "found": str(2**32 + 1)})),
    ]  # fmt: skip
    return Group("sampling-words", cases)


def portable() -> Group:
    """Bits of exp, log and log1p."""

    def bits(values: list[float]) -> list[str]:
        return [struct.pack(">d", value).hex() for value in values]

    infinity = float("inf")
    ends = [0.0, -0.0, -infinity, infinity, 710.0, 709.782712893383973096, -745.13321910194110842, -746.0, -708.4, -740.5, 1e-300, -1e-17]
    steps = [k * 0.34657359027997264 * sign + nudge for k in (0, 1, 2, 3, 50) for sign in (1, -1) for nudge in (-1e-15, 0.0, 1e-15)]
    even = [-(n * n) / 97.0 for n in range(1, 40)]
    logs = [5e-324, 1e-310, 2.2250738585072014e-308, 0.5, 0.7071067811865475, 0.7071067811865476, 1.0, 1.4142135623730951, 2.0, 1e300]
    ones = [
        -0.0,
        -(2.0**-54),
        -(2.0**-53),
        -(2.0**-52),
        -1e-9,
        -0.25,
        -0.2928932188134524,
        -0.29289321881345254,
        -0.5,
        -0.999,
        -(1 - 2.0**-53),
    ]
    return Group(
        "sampling-math",
        [
            Case("ends of the range", "portable", {"function": "exp", "values": bits(ends)}, "S-40", flags=("edge",)),
            Case("around multiples of half a log 2", "portable", {"function": "exp", "values": bits(steps)}, "S-40", flags=("edge",)),
            Case("weights as they come", "portable", {"function": "exp", "values": bits(even)}, "S-41"),
            Case("around the ends of the reduction", "portable", {"function": "log", "values": bits(logs)}, "S-42", flags=("edge",)),
            Case("masses as they come", "portable", {"function": "log", "values": bits([1.0 + n / 7.0 for n in range(30)])}, "S-42"),
            Case("around the ends of the reduction", "portable", {"function": "log1p", "values": bits(ones)}, "S-43", flags=("edge",)),
            Case("uniforms as they come", "portable", {"function": "log1p", "values": bits([-n / 31.0 for n in range(1, 31)])}, "S-43"),
        ],
    )


def recipes() -> Group:
    """The logits themselves."""
    rows = [
        ("S-70", recipe(7, 3)),
        ("S-71", recipe(2**63, 5, scale=0.5, head=0.0)),
        ("S-72", recipe(8, 1, bfloat16=True)),
        ("S-73", recipe(9, 2)),
    ]
    return Group(
        "sampling-recipes", [Case(f"recipe of {clause}", "recipe", {**row, "width": WIDTH, "count": 5}, clause) for clause, row in rows]
    )


def traces() -> Group:
    """Recording and replaying."""
    rows = [explicit({1: 1.0, 2: 0.5, 3: 0.25}), explicit({1: 1.0, 2: 1.5, 3: 0.25})]
    asked = {"config": BASE, "width": 16, "history": [3], "rows": rows}
    torch = {**asked, "config": {**BASE, **TORCH}}
    head = {"trace": 1, "config": BASE, "prompt": [], "width": 16, "torch": None}
    step: Json = {
        "step": 0, "logits": "0" * 64, "allowed": None, "position": 0, "id": 1, "sizes": [3, 3, 3, 3], "kept": "0" * 64, "words": 2,
        "history": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "numbers": ["0x1.0p-1", "0x0.0p+0", "0x1.0p+0", "0x1.0p+0"], "probability": "0x1.0p+0", "log_probability": "0x0.0p+0",
    }  # fmt: skip
    other = {"step": 0, "field": "history", "expected": "1" * 64, "found": step["history"]}
    changed = {**step, "history": "1" * 64}
    return Group(
        "sampling-traces",
        [
            Case("a trace, its audit and its replay", "trace", asked, "S-61", profile="contract"),
            Case("the same of torch's stream", "trace", torch, "S-62", profile="publisher"),
            Case("a step of another history", "replay", {"lines": [head, {**changed, "chain": link(step["history"], changed)}]}, "S-63",
                 error=("trace_differs", other), flags=("refusal",)),
            Case("a field that was changed by itself", "replay", {"lines": [head, {**step, "chain": "2" * 64}]}, "S-62", flags=("refusal",),
                 error=("trace_differs", {"step": 0, "field": "chain", "expected": "2" * 64, "found": link(step["history"], step)})),
            Case("no trace", "replay", {"lines": [{**head, "trace": 2}]}, "S-61", flags=("refusal",),
                 error=("trace_invalid", {"line": 1, "reason": 'its head must say "trace": 1'})),
        ],
    )  # fmt: skip


def generations() -> Group:
    """Ids to text, until something ends it."""
    greedy = {**BASE, "temperature": 0, "max_tokens": 4}

    def generated(comment: str, clause: str, ids: list[int], special: str = "refuse", **changes: Any) -> Case:  # noqa: ANN401
        asked = {"config": {**greedy, **changes}, "special": special, "ids": ids}
        return Case(comment, "generate", asked, clause, profile="contract", flags=("generation",))

    return Group(
        "sampling-generations",
        [
            generated("a stop id has no text", "S-80", [9707, 11, 151_645]),
            generated("the other stop id", "S-80", [151_643]),
            generated("as many as may be", "S-80", [9707, 11, 1879, 0]),
            generated("it goes on", "S-80", [9707]),
            generated("a stop id that is the last of them", "S-80", [9707, 11, 1879, 151_645]),
            generated("after the end nothing is drawn", "S-80", [151_645, 9707]),
            generated("bytes that are no text", "S-81", [9707, 9284, 9707]),
            generated("a scalar value open at a stop id", "S-81", [9707, 9284, 151_645]),
            generated("a scalar value open at the last of them", "S-81", [9707, 11, 1879, 9284]),
            generated("bytes that are no text, at the last of them", "S-81", [9707, 11, 9284, 9707]),
            generated("a structural id that does not stop, refused", "S-82", [9707, 151_644]),
            generated("a structural id that does not stop, skipped", "S-82", [9707, 151_644, 11], "skip"),
            generated("a stop string over two ids", "S-84", [9707, 11, 1879], stop_strings=["lo, w"]),
            generated("text held back, and delivered at the end", "S-84", [9707, 11, 151_645], stop_strings=["lo, wx"]),
            generated("of two that end together the longer", "S-84", [9707, 11, 1879], stop_strings=["world", ", world"]),
            generated("what follows in the same id is dropped", "S-84", [9707, 1879], stop_strings=["l"]),
            generated("a structural id that does not stop, as text", "S-82", [9707, 151_644, 11], "bytes"),
            generated("a refused id gives back what was held", "S-82", [9707, 151_644], stop_strings=["Hello, world!"]),
            generated("a stop string at the last of them", "S-84", [9707, 11, 1879, 0], stop_strings=["!"]),
            generated("a limit gives back what was held", "S-84", [9707, 11, 1879, 11], stop_strings=[",!"]),
            generated("a string inside the beginning of another", "S-84", [9707, 11], stop_strings=["llo,x", "lo,"]),
            generated("bytes that are no text give back what was held", "S-84", [9707, 9284, 9707], stop_strings=["lo!"]),
            generated("a stop string across special text", "S-84", [9707, 151_644, 11], "bytes", stop_strings=["o<|im_start|>,"]),
            generated("a stop string over what is skipped", "S-84", [9707, 151_644, 11], "skip", stop_strings=["o,"]),
        ],
    )


def groups() -> list[Group]:
    """All of the contract's; `trace_groups` are the publisher's."""
    return [
        rows_of_contract(),
        edges_of_contract(),
        extras(),
        rows_of_publisher(),
        without_missing(refusals()),
        generators(),
        portable(),
        recipes(),
        traces(),
        generations(),
    ]


def trace_groups() -> list[Group]:
    """The first steps of every fifth recorded setting; tests/differential has all of them."""
    cases = []
    for record in json.loads(RECORDED.read_bytes())["records"][::5]:
        names = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed")
        config = {**BASE, **TORCH, **{name: record[name] for name in names}}
        shape = {"scale": record["scale"], "head": record["head"], "bfloat16": record["dtype"] == "bfloat16"}
        count = 2
        rows = [recipe(record["logits_seed"], step, **shape) for step in range(count)]
        asked = {"config": config, "width": WIDTH, "history": record_history(record), "rows": rows}
        expect = {"steps": record["steps"][:count]}
        cases.append(
            Case(f"recorded with seed {record['seed']}", "sample_kept", asked, "S-53", expect, profile="publisher", flags=("recorded",))
        )
    return [Group("sampling-torch", cases)]


def record_history(record: Json) -> list[int]:
    """The ids before the first step of a record."""
    return Recipe(record["logits_seed"], 0, record["scale"], record["head"]).history(record["history"], WIDTH)
