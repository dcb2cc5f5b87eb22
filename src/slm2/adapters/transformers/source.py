"""A model of transformers as a source of logits, its cache kept from turn to turn.

Needs ``pip install 'slm2[transformers]'``. Read from a folder or handed over as an object; nothing is downloaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slm2.adapters.libraries import library
from slm2.adapters.model_files import facts_of_directory
from slm2.adapters.steps import check_step
from slm2.errors import Slm2Error
from slm2.logits_source import ModelFacts

if TYPE_CHECKING:
    from slm2.logits_source import Row

__all__ = ["TransformersSource", "open_model"]

# What float32 holds exactly; the logits of a model in any other type would have to be rounded.
_EXACT = ("float32", "float16", "bfloat16")


class TransformersSource:
    """Logits of a causal language model of transformers, one sequence at a time.

    Attributes:
        computed: how many ids went through the model since it was opened.
    """

    def __init__(self, model: Any, *, facts: ModelFacts | None = None) -> None:  # noqa: ANN401  (a PreTrainedModel)
        """Over a model that is in memory, on whatever device it is. It is put into evaluation mode.

        Args:
            model: a ``transformers.PreTrainedModel`` with a head for logits, as ``AutoModelForCausalLM`` gives it.
            facts: what its files say; None reads its ``config`` and ``generation_config``, which name no special token.

        Raises:
            Slm2Error: ``dependency_missing``; ``model_unsupported`` for a model without such a head, or whose logits float32 cannot hold.
        """
        self._torch = library("torch", "torch", "transformers")
        self._transformers = library("transformers", "transformers", "transformers")
        named = facts or _facts_of(model)
        head = getattr(model, "get_output_embeddings", lambda: None)()
        if head is None:
            raise Slm2Error("model_unsupported", model=named.name, reason=f"{type(model).__name__} has no head that gives logits")
        dtype = str(head.weight.dtype).removeprefix("torch.")
        if dtype not in _EXACT:
            raise Slm2Error("model_unsupported", model=named.name, reason=f"its logits are {dtype}; float32 does not hold them exactly")
        self._network = model.eval()
        self._cache_argument = _cache_argument(model, named.name)
        # The weights' own word goes before that of a file.
        self._model = replace(named, width=int(head.weight.shape[0]))
        self._held = 0
        self._cache: Any = None
        self.computed = 0

    @classmethod
    def from_pretrained(cls, directory: str | PathLike[str], *, dtype: str = "auto", device: str = "cpu") -> TransformersSource:
        """Read a checkpoint from a folder.

        Args:
            directory: with ``config.json`` and the weights; what it says of special tokens is compared with the contract.
            dtype: of the weights in memory: ``auto`` as they were saved, ``float32``, ``float16`` or ``bfloat16``.
            device: as torch names it.

        Raises:
            Slm2Error: ``dependency_missing``; ``file_unreadable`` where there is no such folder; ``invalid_value``;
                ``model_unsupported`` where transformers cannot read it, or as the class.
        """
        path = Path(directory)
        torch = library("torch", "torch", "transformers")
        transformers = library("transformers", "transformers", "transformers")
        if not path.is_dir():
            raise Slm2Error("file_unreadable", path=str(path), reason="no such folder")
        if dtype not in ("auto", *_EXACT):
            raise Slm2Error("invalid_value", field="dtype", expected=f"auto, {', '.join(_EXACT)}", found=dtype)
        wanted = dtype if dtype == "auto" else getattr(torch, dtype)
        try:
            model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=wanted, local_files_only=True).to(device)
        except Exception as error:  # its exceptions have no common class but this
            raise Slm2Error("model_unsupported", model=str(path), reason=f"{type(error).__name__}: {error}") from error
        return cls(model, facts=facts_of_directory(path))

    @property
    def model(self) -> ModelFacts:
        """See :class:`slm2.logits_source.LogitsSource`."""
        return self._model

    def logits(self, *, keep: int, append: Sequence[int]) -> Row:
        """See :class:`slm2.logits_source.LogitsSource`; float32, and a model's float16 or bfloat16 widened, which is exact.

        Raises:
            Slm2Error: ``invalid_value``, ``invalid_type``. Whatever torch raises goes through, and the cache is empty then.
        """
        keep, append = check_step(self._model, held=self._held, keep=keep, append=append)
        try:
            self._cut(keep)
            with self._torch.inference_mode():
                ids = self._torch.tensor([append], dtype=self._torch.long, device=self._network.device)
                said = self._network(input_ids=ids, use_cache=True, logits_to_keep=1, **{self._cache_argument: self._cache})
                row: Row = said.logits[0, -1].float().cpu().numpy()
        except BaseException:
            self._cache, self._held = None, 0
            raise
        self._held = keep + len(append)
        self.computed += len(append)
        return row

    def _cut(self, keep: int) -> None:
        """Leave the first ids in the cache; every layer keeps all of them, also where a model attends only to the last."""
        if keep == 0 or self._cache is None:
            self._cache = self._transformers.DynamicCache()
        elif keep < self._held:
            self._cache.crop(keep - self._held)
        self._held = keep


def _cache_argument(model: Any, name: str) -> str:  # noqa: ANN401  (a PreTrainedModel)
    """What ``forward`` calls its cache: ``cache`` in newer releases of transformers, and ``past_key_values`` before.

    Raises:
        Slm2Error: ``model_unsupported`` where it has none.
    """
    known = inspect.signature(model.forward).parameters
    for argument in ("cache", "past_key_values"):
        if argument in known and "logits_to_keep" in known:
            return argument
    raise Slm2Error("model_unsupported", model=name, reason=f"{type(model).__name__}.forward takes no cache, or no logits_to_keep")


def _facts_of(model: Any) -> ModelFacts:  # noqa: ANN401  (a PreTrainedModel)
    """What a model in memory says of itself."""
    config = getattr(model, "config", None)
    ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ends = getattr(config, "eos_token_id", None) if ends is None else ends
    return ModelFacts(
        name=getattr(config, "name_or_path", "") or type(model).__name__,
        width=getattr(config, "vocab_size", None),
        end_ids=() if ends is None else tuple(ends) if isinstance(ends, list | tuple) else (ends,),
        context=getattr(config, "max_position_embeddings", None),
    )


def open_model(place: str) -> TransformersSource:
    """The model of ``--model transformers:PLACE``: the folder of a checkpoint, without the bar that transformers shows for its weights.

    Raises:
        Slm2Error: as :meth:`TransformersSource.from_pretrained`.
    """
    library("torch", "torch", "transformers")  # without it transformers is imported all the same, and complains on stderr
    logs = library("transformers.utils.logging", "transformers", "transformers")
    shown = logs.is_progress_bar_enabled()
    logs.disable_progress_bar()
    try:
        return TransformersSource.from_pretrained(place)
    finally:
        if shown:
            logs.enable_progress_bar()
