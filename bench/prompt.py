"""Assembling a prompt within its budget beside encoding that prompt once, in one run, as ratios.

    python bench/prompt.py                     1,000 turns and 500 passages into 32,768 tokens, and how it grows
    python bench/prompt.py --rounds 31

The text is the documentation and code of the standard library. *Whole* is the time of ``Prompt.assemble`` and ``input_ids``, from Python's
mappings to a list of ids. *List* and *array* are the time of encoding the text of the final prompt once, as one text, in the same rounds:
``Tokenizer.encode``, which gives a list too, and ``Tokenizer.encode_array``. Each has its ratio behind it.
Times are CPU time of the process; the number shown is the median over the rounds. The last column is the time for each token that comes
in: where it stays, the time is linear in the input.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sysconfig
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import slm2

CONTEXT = 32_768
FLOORS = {"keep_turns": 200, "keep_chunks": 100, "active_turns": 100, "chunk_limit": 64, "tool_limit": 64, "sweep": "allow", "headroom": 0}
MEGABYTES = 10


def words() -> list[str]:
    """Text to cut messages from: the standard library's files in the order of their names, without tags."""
    text = ""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text += path.read_text(encoding="utf-8", errors="replace")
        if len(text) > 4_000_000:
            break
    return text.replace("<", "(").split(" ")


def request(source: list[str], turns: int, chunks: int, seed: int) -> dict[str, Any]:
    """Turns of a question of about 80 bytes and an answer of 240, passages of about 400."""
    rng = random.Random(seed)

    def text(size: int) -> str:
        at, taken = rng.randrange(len(source) - size), ""
        while len(taken) < size:
            taken += source[at] + " "
            at += 1
        return taken

    history = []
    for _ in range(turns):
        history += [{"role": "user", "content": text(80)}, {"role": "assistant", "content": text(240)}]
    return {
        "policy": text(1_000),
        "user_turn": text(200),
        "local_state": [{"name": f"fact-{number}", "value": "value", "priority": number} for number in range(10)],
        "retrieved": [{"id": f"kb-{number}", "text": text(400), "score": rng.random(), "source": "docs"} for number in range(chunks)],
        "history": history,
        "budget": {"context": CONTEXT, "reserve": 0},
        "degradation": FLOORS,
    }


def seconds(run: Callable[[], object]) -> float:
    """CPU time of one call."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def beside_encoding(contract: slm2.Contract, given: dict[str, Any], rounds: int) -> None:
    """One row of the table."""
    assembly = contract.prompt.assemble(given)
    before = sum(part.before for part in assembly.ledger.parts)
    text = contract.tokenizer.decode(assembly.input_ids, special="bytes")
    taken: dict[str, list[float]] = {"whole": [], "list": [], "array": []}
    for _ in range(rounds):
        taken["whole"].append(seconds(lambda: contract.prompt.assemble(given).input_ids))
        taken["list"].append(seconds(lambda: contract.tokenizer.encode(text)))
        taken["array"].append(seconds(lambda: contract.tokenizer.encode_array(text)))
    whole, *once = (statistics.median(times) for times in taken.values())
    given_up, out = len(assembly.ledger.steps), len(assembly.input_ids)
    shape = f"{len(given['history']) // 2:6,} {len(given['retrieved']):8,} {before:10,} {out:7,} {given_up:6,}"
    beside = " ".join(f"{1e3 * encode:8.2f} {whole / encode:5.1f}" for encode in once)
    print(f"{shape} {1e3 * whole:9.1f} {beside} {1e9 * whole / before:12.0f}")


def large_passages(contract: slm2.Contract) -> None:
    """One passage of ten megabytes, cut, and refused."""
    for name, text in (("words", "word " * (MEGABYTES * 200_000)), ("one letter", "x" * (MEGABYTES * 1_000_000))):
        given = request(["a"] * 2_000, 0, 0, 1)
        given["retrieved"] = [{"id": "a", "text": text, "score": 1, "source": "s"}]
        cut = seconds(partial(contract.prompt.assemble, given))
        refused = seconds(partial(refusal, contract, {**given, "degradation": None}))
        print(f"{MEGABYTES} MB of {name}: cut in {cut:.2f} s, refused in {refused:.2f} s")


def refusal(contract: slm2.Contract, given: dict[str, Any]) -> str:
    """The code with which a request is refused."""
    try:
        contract.prompt.assemble(given)
    except slm2.Slm2Error as error:
        return error.code
    raise AssertionError("it fits")


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    contract = slm2.load(engine="native")
    source = words()
    print(f"slm2 {slm2.__version__} native; prompts of at most {CONTEXT:,} tokens")
    print(" turns passages  tokens in     out  steps  whole ms  list ms ratio array ms ratio  ns/token in")
    for factor in (1, 2, 4, 8):
        beside_encoding(contract, request(source, 1_000 * factor, 500 * factor, factor), rounds)
    large_passages(contract)


if __name__ == "__main__":
    main()
