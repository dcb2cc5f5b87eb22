"""Time of a draw: profile contract and publisher beside numpy.max and transformers, in one run, as ratios.

    python bench/sampling.py                  numpy.max alone, where torch is not installed
    python bench/sampling.py --rounds 200     after pip install torch transformers

151,936 float32 logits, called from Python. In every round each contender runs once, so that a busy machine slows all of them; the number
is the median over the rounds, and in brackets the fastest tenth. Beside numpy.max alone the row stays in the processor's cache; beside
transformers, which moves much memory, it does not. Their part is processors, softmax and multinomial on the CPU in one thread, as
generate() puts them together; its ids are compared with those of profile publisher before anything is timed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import slm2
from slm2.reference.sampling.recipe import Recipe
from slm2.sampling import WIDTH, Sampler, SamplingConfig

SETTINGS: dict[str, dict[str, Any]] = {
    "top_k 20, top_p 0.95": {"top_k": 20, "top_p": 0.95},
    "top_k off, top_p 0.95": {"top_k": 0, "top_p": 0.95},
    "top_k off, top_p off": {"top_k": 0, "top_p": 1.0},
    "temperature 0": {"top_k": 0, "top_p": 1.0, "temperature": 0.0},
}
BASELINE, PEER = "numpy.max", "transformers"
SEED = 5

Draw = Callable[[], object]
Row = npt.NDArray[np.float32]


def sampler(profile: Any, setting: dict[str, Any]) -> Sampler:  # noqa: ANN401  (a literal)
    """At the beginning of its stream."""
    values = {"temperature": 0.6, "min_p": 0.0, "repetition_penalty": 1.0, "seed": SEED, "max_tokens": 10_000, "stop_ids": (), **setting}
    rng: Any = "pcg32" if profile == "contract" else "mt19937-torch"
    config = SamplingConfig(profile=profile, rng=rng, **values)
    return slm2.load(engine="native", profile=profile).sampler(config)


def transformers_draw(setting: dict[str, Any], row: Row) -> Callable[[], int] | None:
    """A step of transformers; None where it is not installed, or where temperature 0 leaves nothing to its processors."""
    if importlib.util.find_spec("torch") is None or setting.get("temperature") == 0.0:
        return None
    import torch  # noqa: PLC0415
    from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper  # noqa: PLC0415

    torch.set_num_threads(1)
    chain: Any = LogitsProcessorList([TemperatureLogitsWarper(0.6)])
    if setting["top_k"]:
        chain.append(TopKLogitsWarper(setting["top_k"]))
    if setting["top_p"] < 1.0:
        chain.append(TopPLogitsWarper(setting["top_p"]))
    ids, logits = torch.zeros((1, 1), dtype=torch.long), torch.from_numpy(row)[None]
    torch.manual_seed(SEED)

    def draw() -> int:
        return int(torch.multinomial(torch.softmax(chain(ids, logits), dim=-1), 1)[0, 0])

    return draw


def measure(contenders: dict[str, Draw], rounds: int) -> dict[str, list[float]]:
    """Seconds of each call, all contenders in turn."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, draw in contenders.items():
            start = time.perf_counter()
            draw()
            times[name].append(time.perf_counter() - start)
    return times


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    row = Recipe(5, 1, 1.0, 9.0).logits(WIDTH)
    torch = importlib.util.find_spec("torch") is not None
    print(json.dumps({"machine": platform.machine(), "python": platform.python_version(), "numpy": np.__version__, "torch": torch}))
    for name, setting in SETTINGS.items():
        ours = {profile: sampler(profile, setting) for profile in ("contract", "publisher")}
        theirs = transformers_draw(setting, row)
        if theirs is not None:
            drawn = [(theirs(), ours["publisher"].sample(row).id) for _ in range(5)]
            if any(one != other for one, other in drawn):
                raise SystemExit(f"{name}: transformers and profile publisher drew {drawn}")
        contenders: dict[str, Draw] = {BASELINE: lambda: np.max(row)}
        contenders |= {profile: lambda made=made: made.sample(row) for profile, made in ours.items()}  # type: ignore[misc]
        report(name, measure(contenders, rounds), BASELINE)
        if theirs is not None:
            report(f"{name}, beside transformers", measure(contenders | {PEER: theirs}, rounds), PEER)
    return 0


def report(name: str, times: dict[str, list[float]], baseline: str) -> None:
    """One line for each contender, with its ratio to one of them."""
    print(f"\n{name}")
    reference = statistics.median(times[baseline])
    for contender, seconds in times.items():
        median, fastest = statistics.median(seconds), sorted(seconds)[len(seconds) // 10]
        ratio = f"{median / reference:.2f} x" if baseline == BASELINE else f"1 / {reference / median:.1f} of"
        print(f"  {contender:14} {median * 1e6:9.1f} us ({fastest * 1e6:.1f})  {ratio} {baseline}")


if __name__ == "__main__":
    raise SystemExit(main())
