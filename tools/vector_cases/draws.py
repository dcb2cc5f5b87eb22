"""Long runs: 10,000 steps of each generator, whose ids and bits must be the same on every host (contract source, section 10).

A run is a recipe whose rows come round again, so that hosts make a few rows and draw 10,000 times. `distribution` runs draw from one row
without penalties, so that how often each id came can be held against its probability.
"""

from __future__ import annotations

from typing import Any

from tools.vector_cases.case import Case, Group

__all__ = ["FLAGS", "groups"]

FLAGS = {
    "run": "10,000 steps, in which every difference of a bit would go on to the end",
    "long": "takes minutes where the sampler is interpreted; recorded once from the reference",
    "distribution": "one row without penalties: how often each id comes is its probability, by a chi-square test",
    "short": "a run that does not end at a multiple of 100, and rows that do not come round",
}

WIDTH = 151_936
STEPS = 10_000
PLAIN: dict[str, Any] = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
Json = dict[str, Any]


def recipe(seed: int, head: float = 9.0, *, bfloat16: bool = False) -> Json:
    """The first row."""
    return {"seed": seed, "step": 0, "scale": 1.0, "head": head, "bfloat16": bfloat16}


def run(comment: str, clause: str, config: Json, inputs: Json, *flags: str) -> Case:
    """One run; what the configuration does not say is the same in all."""
    rng = config["rng"]
    profile = "publisher" if rng == "mt19937-torch" else "contract"
    whole = {"profile": profile, **config, "max_tokens": STEPS, "stop_ids": []}
    asked = {"config": whole, "history": [], "cycle": 16, "steps": STEPS, **inputs}
    return Case(comment, "draw", asked, clause, profile=profile, flags=flags)


def groups() -> list[Group]:
    """All groups of the file."""
    usual = {"temperature": 0.8, "top_k": 50, "top_p": 0.95, "min_p": 0.02, "repetition_penalty": 1.1}
    history = {"history": [9707, 11, 1879, 0, 151_643, 151_935]}
    wide = {"width": WIDTH, "recipe": recipe(81)}
    biased = {"presence_penalty": 0.3, "frequency_penalty": 0.02, "logit_bias": {"9707": 2.5, "13": -1.0}, "banned_ids": [0, 198]}
    flat = {"width": 64, "recipe": recipe(90, 2.0), "cycle": 1}
    runs = [
        run(
            "pcg32, every step of the pipeline",
            "S-30",
            {**usual, "rng": "pcg32", "seed": 2**63 + 5, "stream": 7},
            {**wide, **history},
            "run",
        ),
        run(
            "chacha8, a named stream, penalties and a bias",
            "S-31",
            {**usual, **biased, "rng": "chacha8", "seed": 11, "stream": "replay"},
            wide,
            "run",
        ),
        run(
            "chacha8 with a key, tied logits",
            "S-22",
            {**usual, "rng": "chacha8", "seed": "0f" * 32},
            {"width": 4096, "recipe": recipe(82, bfloat16=True)},
            "run",
        ),
        run(
            "mt19937-torch",
            "S-32",
            {**usual, "rng": "mt19937-torch", "seed": 13},
            {"width": 4096, "recipe": recipe(83), "history": [1, 2]},
            "run",
        ),
        run("mt19937-torch over whole rows", "S-53", {**usual, "rng": "mt19937-torch", "seed": 17}, {**wide, **history}, "run", "long"),
        run("greedy", "S-17", {**usual, "temperature": 0, "rng": "pcg32", "seed": 1}, {"width": 4096, "recipe": recipe(84)}, "run"),
    ]
    distributions = [
        run(f"{rng} from one row", "S-25" if rng != "mt19937-torch" else "S-53", {**PLAIN, "rng": rng, "seed": 19}, flat, "distribution")
        for rng in ("pcg32", "chacha8", "mt19937-torch")
    ]
    odd = {"width": 300, "recipe": recipe(85), "cycle": 300, "steps": 251}
    short = [
        run("251 steps, 300 rows", "S-25", {**usual, "rng": "pcg32", "seed": 3}, odd, "short"),
        run("a digest for each 7", "S-25", {**usual, "rng": "chacha8", "seed": 3}, {**odd, "every": 7}, "short"),
    ]
    return [Group("draw-run", runs), Group("draw-distribution", distributions), Group("draw-short", short)]
