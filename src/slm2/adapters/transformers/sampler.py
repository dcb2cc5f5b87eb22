"""``Slm2LogitsProcessor``: Sampling2 inside ``model.generate``.

It draws the id and leaves ``generate`` nothing else to take, whether that samples or not. A processor is of one call of ``generate``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import LogitsProcessor, LogitsProcessorList

from slm2.contract import Contract
from slm2.engine import integer_id
from slm2.errors import Slm2Error
from slm2.sampling import Sample, Sampler, SamplingConfig

__all__ = ["Slm2LogitsProcessor"]

# The score of the id that was drawn; all others have -inf. A number of no meaning, so that a second processor knows the work of a first.
_DRAWN = float(np.float32(0.618034))

# What generate puts before a caller's processors, and how it would choose by itself: all off. None wins over what a checkpoint says.
_NOTHING_ELSE: dict[str, Any] = {
    "do_sample": False, "num_beams": 1, "num_return_sequences": 1,
    "repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0,
    "temperature": 1.0, "top_k": 50, "top_p": 1.0, "min_p": None, "top_h": None, "typical_p": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0,
    "min_length": 0, "min_new_tokens": None, "bad_words_ids": None, "suppress_tokens": None, "begin_suppress_tokens": None,
    "forced_bos_token_id": None, "forced_eos_token_id": None, "sequence_bias": None, "exponential_decay_length_penalty": None,
    "guidance_scale": None, "remove_invalid_values": False, "renormalize_logits": False, "watermarking_config": None, "stop_strings": None,
    "max_length": None,
}  # fmt: skip


class Slm2LogitsProcessor(LogitsProcessor):
    """Draws the ids of a batch, a sampler for each row.

    In profile ``contract`` each row has the stream of its own configuration. In profile ``publisher`` the rows share one generator, as
    torch's do: row b of B takes the words from ``303,872 * b`` on, and leaves out those of the other rows after each step.

    Attributes:
        samplers: one a row.
        draws: of each row, what it drew, one that ends it included.
    """

    def __init__(
        self,
        contract: Contract,
        configs: Sequence[SamplingConfig],
        *,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        pad_token_id: int,
    ) -> None:
        """Take the prompts that ``generate`` will get.

        Args:
            contract: whose samplers draw.
            configs: one a row, alike in ``profile``, ``stop_ids`` and ``max_tokens``; in profile ``publisher`` also in ``seed``.
            input_ids: ``[rows, length]``, as the call of ``generate`` has them.
            attention_mask: of the same shape, 0 for padding, which must be on the left.
            pad_token_id: what ``generate`` gives rows that have ended.

        Raises:
            Slm2Error: ``invalid_value`` where configurations and prompts do not go together, where the padding is on the right, and for
                ``stop_strings``, which ``generate`` has rules of its own for; as :meth:`slm2.contract.Contract.sampler`.
        """
        prompts = _prompts(input_ids, attention_mask)
        _check_configs(configs, len(prompts))
        self.samplers: list[Sampler] = [contract.sampler(config, prompt) for config, prompt in zip(configs, prompts, strict=True)]
        self.draws: list[list[Sample]] = [[] for _ in prompts]
        self._prompts = input_ids.detach().to("cpu").clone()
        self._pad = integer_id("pad_token_id", pad_token_id)
        self._shared = configs[0].profile == "publisher"
        self._stop_ids = frozenset(configs[0].stop_ids)
        self._steps = 0
        self._torn = False  # some rows have drawn in a step that did not end
        if self._shared:
            for number, sampler in enumerate(self.samplers):
                sampler.advance(number * _words(sampler))

    def __repr__(self) -> str:
        return f"Slm2LogitsProcessor({len(self.samplers)} rows, profile={self.samplers[0].config.report_name!r}, steps={self._steps})"

    @property
    def ids(self) -> list[list[int]]:
        """What each row drew, one that ends it included."""
        return [[draw.id for draw in draws] for draws in self.draws]

    def arguments(self) -> dict[str, Any]:
        """Arguments for ``generate``, so that it neither changes logits before this processor nor ends rows by other rules.

        They are: this processor; the ids that end a row, the greatest number of tokens and the padding; and the neutral value of every
        setting that a checkpoint's ``generation_config.json`` might bring.
        """
        config = self.samplers[0].config
        ending = {"eos_token_id": [*config.stop_ids] or None, "max_new_tokens": config.max_tokens, "pad_token_id": self._pad}
        return {**_NOTHING_ELSE, **ending, "logits_processor": LogitsProcessorList([self])}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """One step of all rows.

        A step that is refused before any row has drawn can be taken again. After one that failed between two rows, whose draws nothing
        can take back, every further step is refused.

        Args:
            input_ids: ``[rows, length]``: prompts and what was drawn.
            scores: ``[rows, 151936]`` logits.

        Returns:
            Scores of the same shape, -inf for all ids but the drawn one.

        Raises:
            Slm2Error: ``invalid_value`` where ``generate`` does something else than this processor was made for (beams, another batch, a
                second use, other stop ids, more tokens, a second such processor); as :meth:`slm2.sampling.Sampler.sample`;
                ``generation_ended`` after a step that failed between two rows.
        """
        if self._torn:
            raise Slm2Error("generation_ended", reason=f"step {self._steps} failed after some of its rows had drawn")
        self._check_history(input_ids)
        if scores.shape[0] != len(self.samplers):
            raise _refused("scores", f"{len(self.samplers)} rows, one for each prompt", f"{scores.shape[0]} rows")
        rows = scores.detach().to("cpu", torch.float32).numpy()
        _check_first(rows)
        drawn = self._draws(rows)
        out = torch.full_like(scores, -float("inf"))
        out[torch.arange(len(drawn)), torch.tensor(drawn)] = _DRAWN
        return out

    def _draws(self, rows: Any) -> list[int]:  # noqa: ANN401  (an array)
        """One id of each row. The step is torn until it ends, and stays so after an interrupt, which comes anywhere."""
        self._torn = True
        try:
            drawn = [self._draw(number, row) for number, row in enumerate(rows)]
        except Slm2Error:  # a sampler that refuses has not changed
            self._torn = any(len(draws) > self._steps for draws in self.draws)
            raise
        self._steps += 1
        self._torn = False
        return drawn

    def _draw(self, number: int, row: Any) -> int:  # noqa: ANN401  (an array of a row)
        sampler, draws = self.samplers[number], self.draws[number]
        if self._ended(number):
            # Generate puts its padding in the place of this. If it does not, the next step finds it.
            return 0 if self._pad else 1
        if len(draws) == sampler.config.max_tokens:
            raise _refused("max_new_tokens", f"at most the {sampler.config.max_tokens} of the sampling configuration", "more")
        draw = sampler.sample(row)
        draws.append(draw)
        if self._shared:
            sampler.advance((len(self.samplers) - 1) * _words(sampler))
        return draw.id

    def _ended(self, number: int) -> bool:
        draws = self.draws[number]
        return bool(draws) and draws[-1].id in self._stop_ids

    def _check_history(self, input_ids: torch.Tensor) -> None:
        """That generate goes on from what was drawn, in each row."""
        rows, length = self._prompts.shape
        if tuple(input_ids.shape) != (rows, length + self._steps):
            expected = (
                f"{rows} rows of {length + self._steps} ids: no beams, no candidates, the prompts of this processor, and one use of it"
            )
            raise _refused("input_ids", expected, f"{input_ids.shape[0]} rows of {input_ids.shape[1]}")
        seen = input_ids.detach().to("cpu")
        if self._steps == 0:
            if not torch.equal(seen, self._prompts):
                raise _refused("input_ids", "the prompts that this processor was made with", "others")
            return
        for number, last in enumerate(seen[:, -1].tolist()):
            draws = self.draws[number]
            due = draws[-1].id if len(draws) == self._steps else self._pad
            if last != due:
                what = f"{due} as the last id of row {number}: the stop ids and the padding of this processor's arguments()"
                raise _refused("input_ids", what, str(last))


def _words(sampler: Sampler) -> int:
    """How many words torch takes for one row of one step."""
    return 0 if sampler.config.temperature == 0 else 2 * sampler.width


def _prompts(input_ids: torch.Tensor, attention_mask: torch.Tensor) -> list[list[int]]:
    """The ids of each row from the first that is no padding on."""
    if input_ids.ndim != 2 or input_ids.shape != attention_mask.shape or not input_ids.shape[1]:
        raise _refused(
            "input_ids", "rows of ids, and a mask of the same shape", f"{tuple(input_ids.shape)} and {tuple(attention_mask.shape)}"
        )
    prompts = []
    for number, (ids, mask) in enumerate(zip(input_ids.tolist(), attention_mask.tolist(), strict=True)):
        start = mask.index(1) if 1 in mask else len(mask)
        if mask != [0] * start + [1] * (len(mask) - start) or start == len(mask):
            raise _refused("attention_mask", f"padding on the left of row {number}, and a prompt after it", "another row")
        prompts.append(ids[start:])
    return prompts


def _check_configs(configs: Sequence[SamplingConfig], rows: int) -> None:
    if len(configs) != rows or not rows:
        raise _refused("configs", f"{rows} configurations, one a row", str(len(configs)))
    alike = ["profile", "stop_ids", "max_tokens"] + (["seed"] if configs[0].profile == "publisher" else [])
    for field in alike:
        if len({getattr(config, field) for config in configs}) > 1:
            raise _refused(f"configs.{field}", "the same for every row of a batch", "several")
    if any(config.stop_strings for config in configs):
        raise _refused("stop_strings", "none: a Generation knows them, generate() has other rules", "some")


def _check_first(rows: Any) -> None:  # noqa: ANN401  (an array)
    """That no other of these processors has drawn already."""
    if bool((rows.max(axis=1) == np.float32(_DRAWN)).all()) and bool((np.isfinite(rows).sum(axis=1) == 1).all()):
        raise _refused("logits_processor", "one Slm2LogitsProcessor, and the model's own logits before it", "a second one")


def _refused(field: str, expected: str, found: str) -> Slm2Error:
    return Slm2Error("invalid_value", field=field, expected=expected, found=found)
