"""Cases that one plausible mistake gets wrong and the others did not show: found by the mutation check (docs/mutation-check.md)."""

from __future__ import annotations

from typing import Any

from tools.vector_cases.case import Case, Group, text_input
from tools.vector_cases.sampling import explicit, recipe, sampled

__all__ = ["FLAGS", "GROUPS"]

FLAGS = {
    "mutation": "a broken engine passed everything else",
}

PLAIN: dict[str, Any] = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
# exp of these has another last bit where k * LN2_LO and the subtraction are one rounding.
FUSED = [
    "c00a5df1bdb5fe10", "c0373175488262a6", "c008b330f182ecb8", "bffb94d60d8189e0", "c035cfeec1fe0c46", "c02588cda4da9c1c",
    "bfcec0d78d15c800", "c02e2077b0798517", "c00e77a083b30b78", "c033cc8f8281f917", "c01cbcfc85b7043c", "c039d3d68af68f88",
]  # fmt: skip
# A share of the mass at which another rounding of the sum, or weights divided first, keep one id more.
EDGE = 0.3682493484546372


def text(clause: str, comment: str, given: str | bytes, op: str = "encode", **inputs: Any) -> Case:  # noqa: ANN401
    """A text to encode."""
    return Case(comment, op, {**text_input(given), **inputs}, clause, flags=("mutation",))


GROUPS = [
    Group(
        "sharp-text",
        [
            text("T-3", "a mark that one of its class blocks, after one that does not compose", "a\u0346\u0301"),
            text("T-3", "the same over Hangul and a starter that composes", "\u1112\u1161\u0346\u11ab e\u0345\u0301"),
            text("T-6", "an entry of the vocabulary that the pieces cut", "１０"),
            text("T-4", "spaces, and the merge of rank 0", "    x  "),
            text("T-7", "texts of special tokens that share their first bytes", "<|im_<|im_start|><|im_end|<|im_end|>", "find_special"),
        ],
    ),
    Group(
        "sharp-stream",
        [
            Case(
                "a byte-order mark at the beginning is text",
                "stream",
                {"special": "refuse", "calls": [[3225, 64], [3225], "finish"]},
                "D-1",
                flags=("mutation",),
            ),
        ],
    ),
    Group(
        "sharp-draws",
        [
            sampled(
                "an id of prompt and output is penalised once",
                "S-13",
                [explicit({3: 9.0, 4: 8.0, 5: -1.0}), explicit({3: 9.0, 4: 5.0, 5: -1.0})],
                "mutation",
                width=16,
                history=[3, 5, 3],
                repetition_penalty=1.7,
                **{**PLAIN, "top_k": 2},
            ),
            sampled(
                "an id that was drawn is penalised in the next step",
                "S-5",
                [explicit({3: 9.0}), explicit({3: 9.0, 4: 8.0})],
                "mutation",
                width=16,
                repetition_penalty=1.5,
                **PLAIN,
            ),
            sampled(
                "the sum of the weights is that of 8 lanes", "S-21", [recipe(1, head=3.0)], "mutation", width=40, **{**PLAIN, "top_p": EDGE}
            ),
            sampled(
                "weights are not divided before they are compared",
                "S-23",
                [recipe(1, head=3.0)],
                "mutation",
                width=40,
                seed=8,
                **{**PLAIN, "top_p": EDGE},
            ),
            sampled(
                "ids without a token, greatest in their row",
                "S-11",
                [explicit({151_669: 9.0, 151_935: 9.0, 151_668: 1.0, 5: 1.0}, 0.0)],
                "mutation",
                **PLAIN,
            ),
            sampled(
                "softmax in 16 lanes",
                "S-50",
                [recipe(2), recipe(2, 1), recipe(2, 2)],
                "mutation",
                width=200,
                profile="publisher",
                rng="mt19937-torch",
                **PLAIN,
            ),
            sampled(
                "softmax in 16 lanes and a last stretch",
                "S-50",
                [recipe(3), recipe(3, 1), recipe(3, 2)],
                "mutation",
                width=333,
                profile="publisher",
                rng="mt19937-torch",
                **PLAIN,
            ),
        ],
    ),
    Group(
        "sharp-math",
        [
            Case(
                "exp where a fused multiply-add has another last bit",
                "portable",
                {"function": "exp", "values": FUSED},
                "S-40",
                flags=("mutation",),
            )
        ],
    ),
]
