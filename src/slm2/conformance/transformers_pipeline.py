"""The original Python pipeline: transformers' chat template, tokenizer and ``generate()``, over logits that any host can rebuild.

A model whose forward pass gives the rows of a recipe (contract/sampling.md, S-70) stands where weights would. All else is transformers' and
torch's own: what ``generate`` is asked for, it does. Needs ``pip install slm2[oracle]``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from slm2.reference.sampling.recipe import Recipe
from slm2.sampling import WIDTH

__all__ = ["TransformersPipeline", "missing"]

# Whose stream profile publisher is (contract/sampling.md).
TORCH, CAPABILITY = "2.13.", "AVX512"

Json = Mapping[str, Any]


def missing() -> str | None:
    """Why it cannot run here; None where it can."""
    try:
        torch, _ = _libraries()
    except ImportError as error:
        return f"{error.name} is not installed (pip install slm2[oracle])"
    if not torch.__version__.startswith(TORCH):
        return f"torch {torch.__version__} is installed; the stream of profile publisher is that of {TORCH}x"
    capability = torch.backends.cpu.get_cpu_capability()
    if capability != CAPABILITY:
        return f"this processor has {capability}; the stream of profile publisher is that of {CAPABILITY}"
    return None


def _libraries() -> tuple[Any, Any]:
    """Torch and transformers, whose own types say less than they do."""
    return import_module("torch"), import_module("transformers")


class TransformersPipeline:
    """Messages to ids, and logits to ids, as the publisher's users have them."""

    def __init__(self, folder: Path) -> None:
        """Read ``tokenizer.json`` and ``qwen3.jinja`` of a folder."""
        torch, transformers = _libraries()
        torch.set_num_threads(1)
        template = (folder / "qwen3.jinja").read_text(encoding="utf-8")
        self._tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), chat_template=template)

    def prompt(self, messages: list[dict[str, Any]], options: Json) -> list[int]:
        """The ids of a conversation: ``apply_chat_template``."""
        given = {name: value for name, value in options.items() if value is not None}
        made = self._tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, **given)
        return [int(token_id) for token_id in made["input_ids"]]

    @staticmethod
    def draws(config: Json, prompt: list[int], recipe: Json, steps: int) -> list[list[Any]]:
        """Id, number of kept ids and the first 16 hex digits of their SHA-256 (rising, little-endian u32), step by step: ``generate``."""
        torch, transformers = _libraries()
        greedy = config["temperature"] == 0
        # Of a greedy search the rest is not asked for: generate() would refuse it or warn.
        drawing = {name: config[name] for name in ("temperature", "top_k", "top_p", "min_p")}
        asked = transformers.GenerationConfig(
            do_sample=not greedy,
            **({} if greedy else drawing),
            repetition_penalty=config["repetition_penalty"],
            suppress_tokens=list(config.get("banned_ids", ())) or None,
            max_new_tokens=steps,
            eos_token_id=None,
            pad_token_id=151643,
            use_cache=False,
            output_scores=True,
            return_dict_in_generate=True,
        )
        torch.manual_seed(config["seed"])
        done = _model(recipe, len(prompt)).generate(torch.tensor([prompt], dtype=torch.long), generation_config=asked)
        ids = done.sequences[0, len(prompt) :].tolist()
        return [[token_id, *_kept(scores[0], token_id, greedy)] for token_id, scores in zip(ids, done.scores, strict=True)]


def _kept(scores: Any, token_id: int, greedy: bool) -> tuple[int, str]:  # noqa: ANN401  (a tensor)
    torch, _ = _libraries()
    kept = torch.tensor([token_id]) if greedy else torch.nonzero(scores > -float("inf")).flatten()
    data = kept.numpy().astype("<u4").tobytes()
    return len(data) // 4, hashlib.sha256(data).hexdigest()[:16]


def _model(recipe: Json, prompt_length: int) -> Any:  # noqa: ANN401  (a class of torch's, made where torch is there)
    """A causal language model whose logits are the rows of a recipe."""
    torch, transformers = _libraries()

    class RecipeModel(transformers.PreTrainedModel, transformers.GenerationMixin):  # type: ignore[misc, name-defined]  # of Any
        config_class = transformers.PretrainedConfig
        main_input_name = "input_ids"
        _supports_cache_class = False

        def __init__(self) -> None:
            super().__init__(transformers.PretrainedConfig(vocab_size=WIDTH, num_hidden_layers=1, is_encoder_decoder=False))
            self.anchor = torch.nn.Parameter(torch.zeros(1))
            self.step = 0

        def prepare_inputs_for_generation(self, input_ids: Any, **_: Any) -> dict[str, Any]:  # noqa: ANN401
            # All that is there: no cache is kept, so that the step is told by the length.
            self.step = int(input_ids.shape[1]) - prompt_length
            return {"input_ids": input_ids}

        def forward(self, input_ids: Any, **_: Any) -> Any:  # noqa: ANN401, ARG002  (generate() passes it by name)
            row = Recipe(**{**recipe, "step": recipe["step"] + self.step}).logits(WIDTH)
            return import_module("transformers.modeling_outputs").CausalLMOutputWithPast(logits=torch.from_numpy(row)[None, None, :])

    return RecipeModel().eval()
