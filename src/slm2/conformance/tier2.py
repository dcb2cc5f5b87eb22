"""Tier 2: the whole pipeline against traces of transformers and torch, runs of 10,000 draws, and how the draws are distributed.

Its questions are vectors like all others. Where transformers and torch are installed they are asked again (contract/conformance.md).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from slm2.conformance import suite
from slm2.conformance.asking import Part
from slm2.conformance.composed import composed
from slm2.conformance.tier1 import vector_part
from slm2.conformance.transformers_pipeline import TransformersPipeline, missing
from slm2.conformance.verdict import Check

__all__ = ["CHI_SQUARE_LIMIT", "TIER", "chi_square", "distribution_check", "live_checks", "parts", "scenarios"]

TIER = 2
PIPELINE, DRAWS = "pipeline.json", "draws.json"
LIVE = "transformers, live"
# What a cell of a chi-square test must expect at least; rarer ids are one cell together.
_LEAST_EXPECTED = 5.0
# Of chi-square over its degrees of freedom, as standard normal deviate (Wilson and Hilferty 1931): 1 in 10^4.
CHI_SQUARE_LIMIT = 3.72


def parts() -> list[Part]:
    """All parts of the tier."""
    return [vector_part(PIPELINE, TIER), vector_part(DRAWS, TIER)]


# ---- the distribution of the draws ----


def distribution_check() -> Check:
    """Whether the sealed draws from one row have the row's distribution; hosts are compared with these draws one by one."""
    vectors = [vector for vector in suite.load(DRAWS).vectors if "distribution" in vector["flags"]]
    found = [(vector["id"], chi_square(vector["expect"]["ids"], exact_distribution(vector))) for vector in vectors]
    wrong = [f"{name}: a deviate of {deviate:.2f}" for name, deviate in found if abs(deviate) > CHI_SQUARE_LIMIT]
    return Check("distribution of the draws", TIER, len(found), len(wrong), wrong[0] if wrong else None)


def exact_distribution(vector: suite.Vector) -> list[float]:
    """The softmax of the row of a run without penalties and cuts, by fractions of decimals: no code of a sampler takes part."""
    from decimal import Decimal, localcontext  # noqa: PLC0415

    from slm2.reference.sampling.recipe import Recipe  # noqa: PLC0415

    row = Recipe(**vector["recipe"]).logits(vector["width"])
    with localcontext() as context:
        context.prec = 40
        weights = [Decimal(float(logit)).exp() for logit in row]
        total = sum(weights, Decimal(0))
        return [float(weight / total) for weight in weights]


def chi_square(ids: Sequence[int], probabilities: Sequence[float]) -> float:
    """Pearson's chi-square of draws against probabilities, as a standard normal deviate."""
    counted, cells = Counter(ids), list[tuple[float, int]]()
    rare_expected, rare_found = 0.0, 0
    for token, probability in enumerate(probabilities):
        expected = probability * len(ids)
        if expected < _LEAST_EXPECTED:
            rare_expected, rare_found = rare_expected + expected, rare_found + counted[token]
        else:
            cells.append((expected, counted[token]))
    if rare_expected > 0:
        cells.append((rare_expected, rare_found))
    freedom = len(cells) - 1
    statistic = sum((found - expected) ** 2 / expected for expected, found in cells)
    spread = 2 / (9 * freedom)
    deviate: float = ((statistic / freedom) ** (1 / 3) - (1 - spread)) / spread**0.5
    return deviate


# ---- transformers, live ----


def scenarios() -> Iterator[tuple[suite.Vector, suite.Vector]]:
    """``(prompt, draws)`` of each scenario of the pipeline: the vectors of profile publisher with one number."""
    by_number: dict[str, dict[str, suite.Vector]] = {}
    for vector in suite.load(PIPELINE).vectors:
        if vector.get("profile") != "contract":
            by_number.setdefault(vector["id"].rstrip("p")[-3:], {})[vector["op"]] = vector
    for vectors in by_number.values():
        yield vectors["assemble"], vectors["sample_kept"]


def live_checks(source_dir: Path | None) -> list[Check]:
    """What transformers and torch make of the scenarios here and now; empty where they are not there."""
    if missing() is not None or source_dir is None or not (source_dir / "qwen3.jinja").exists():
        return []
    pipeline = TransformersPipeline(source_dir)
    compared, wrong = 0, list[str]()
    for prompt, draws in scenarios():
        ids = pipeline.prompt(*composed(json.loads(prompt["request"])))
        rows: list[dict[str, Any]] = draws["rows"]
        steps = pipeline.draws(draws["config"], ids, rows[0]["recipe"], len(rows))
        compared += len(ids) + len(steps)
        if ids != prompt["expect"]["input_ids"]:
            wrong.append(f"{prompt['id']}: transformers makes other ids of the prompt")
        wrong += [f"{draws['id']}: step {n} is {a}" for n, (a, b) in enumerate(zip(steps, draws["expect"]["steps"], strict=True)) if a != b]
    return [Check(LIVE, TIER, compared, len(wrong), wrong[0] if wrong else None)]
