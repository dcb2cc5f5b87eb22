"""A model in llama.cpp, through llama-cpp-python's low-level API: GGUF files, quantised or not.

Needs ``pip install 'slm2[llama-cpp]'``, which compiles llama.cpp where no wheel is for the machine. The text part of llama.cpp, its
tokenizer, template and samplers, is not used.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Literal

from slm2.adapters.libraries import library
from slm2.adapters.steps import check_step
from slm2.engine import integer_id, shown_integer
from slm2.errors import Slm2Error
from slm2.logits_source import ModelFacts

if TYPE_CHECKING:
    from slm2.logits_source import Row

__all__ = ["CacheType", "LlamaCppSource", "open_model"]

CacheType = Literal["float16", "float32"]

# Of one llama_decode; llama.cpp computes the logits of the last id alone, so that a piece costs no row.
_PIECE = 512
_SEQUENCE = 0
_CONTEXT = 32_768
_LOG = logging.getLogger("slm2")
# Of ggml's levels: its warnings are about every file of Qwen's, and what it says while it loads is for who looks for it.
_ERROR, _SAME_AS_BEFORE = 4, 5
# ctypes keeps no reference to what it hands to C.
_callbacks: list[object] = []


class LlamaCppSource:
    """Logits from a llama.cpp context with one sequence. Close it, or use it in ``with``: its memory is not Python's.

    Made by :meth:`open`.
    """

    def __init__(self, model: int, context: int, name: str) -> None:
        self._library = _llama()
        self._context: int | None = context
        self._held = 0
        self._width: int = self._library.llama_vocab_n_tokens(self._library.llama_model_get_vocab(model))
        self._model = _facts(self._library, model, context, name)
        self._batch = self._library.llama_batch_init(_PIECE, 0, 1)
        # At the latest when the interpreter ends, and before it takes its modules apart.
        self._free = weakref.finalize(self, _freed, self._library, model, context, self._batch)

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        context: int = _CONTEXT,
        threads: int | None = None,
        gpu_layers: int = 0,
        cache: CacheType = "float16",
    ) -> LlamaCppSource:
        """Open a model's file.

        Args:
            path: the ``.gguf`` file, or the first of a split one.
            context: the most ids that the model holds at once. Their memory is taken now: of Qwen3-0.6B 115 kB for an id, 3.8 GB for
                the window of :mod:`slm2.chat`, which is the default.
            threads: of a step; None takes llama.cpp's own number.
            gpu_layers: layers that are computed on the GPU, where llama.cpp was compiled for one.
            cache: type of the keys and values that are kept; ``float32`` computes attention in float32 throughout too, slower and
                twice as large.

        Raises:
            Slm2Error: ``dependency_missing``; ``file_unreadable``; ``invalid_value``; ``invalid_type``; ``model_unsupported`` where
                llama.cpp refuses the file, or has no memory for the context.
        """
        llama = _llama()
        name = os.fspath(path)
        if not Path(name).is_file():
            raise Slm2Error("file_unreadable", path=name, reason="no such file")
        if integer_id("context", context) < 1:
            raise Slm2Error("invalid_value", field="context", expected="at least 1", found=shown_integer(context))
        settings = llama.llama_model_default_params()
        settings.n_gpu_layers = integer_id("gpu_layers", gpu_layers)
        model = llama.llama_model_load_from_file(os.fsencode(name), settings)
        if not model:
            raise Slm2Error("model_unsupported", model=name, reason="llama.cpp cannot load it; the logger 'slm2' has its reasons")
        try:
            return cls(model, _new_context(llama, model, name, context, threads, cache), name)
        except BaseException:
            llama.llama_model_free(model)
            raise

    @property
    def model(self) -> ModelFacts:
        """See :class:`slm2.logits_source.LogitsSource`."""
        return self._model

    def logits(self, *, keep: int, append: Sequence[int]) -> Row:
        """See :class:`slm2.logits_source.LogitsSource`; float32.

        Raises:
            Slm2Error: ``invalid_value``, ``invalid_type``.
            RuntimeError: what llama.cpp answers with another status than 0; the cache is empty then.
        """
        import numpy as np  # noqa: PLC0415  (slow to import)

        if not self._context:
            raise ValueError("the source is closed")
        keep, append = check_step(self._model, held=self._held, keep=keep, append=append)
        try:
            self._cut(keep)
            for at in range(0, len(append), _PIECE):
                self._decode(append[at : at + _PIECE], last=at + _PIECE >= len(append))
            pointer = self._library.llama_get_logits_ith(self._context, -1)
            if not pointer:
                raise RuntimeError("llama_get_logits_ith gave no row")
            # llama.cpp writes the next row into the same memory, and frees it with the context.
            row: Row = np.ctypeslib.as_array(pointer, shape=(self._width,)).copy()
        except BaseException:
            self._forget()
            raise
        return row

    def _decode(self, ids: Sequence[int], *, last: bool) -> None:
        """Put ids into the cache; where they are the last of a step, llama.cpp keeps the row of the last one."""
        batch = self._batch
        batch.n_tokens = len(ids)
        for at, token in enumerate(ids):
            batch.token[at] = token
            batch.pos[at] = self._held + at
            batch.n_seq_id[at] = 1
            batch.seq_id[at][0] = _SEQUENCE
            batch.logits[at] = last and at == len(ids) - 1
        status = self._library.llama_decode(self._context, batch)
        if status != 0:
            raise RuntimeError(f"llama_decode gave {status} for {len(ids)} ids after {self._held}")
        self._held += len(ids)

    def _cut(self, keep: int) -> None:
        """Keep the first ids of the cache."""
        memory = self._library.llama_get_memory(self._context)
        if keep < self._held and not self._library.llama_memory_seq_rm(memory, _SEQUENCE, keep, -1):
            raise RuntimeError(f"llama.cpp cannot cut its cache of {self._held} ids to {keep}")
        self._held = keep

    def _forget(self) -> None:
        if self._context:
            self._library.llama_memory_clear(self._library.llama_get_memory(self._context), False)
        self._held = 0

    def close(self) -> None:
        """Free the model and its cache; a second call does nothing."""
        self._context = None
        self._free()

    def __enter__(self) -> LlamaCppSource:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _freed(llama: ModuleType, model: int, context: int, batch: object) -> None:
    llama.llama_batch_free(batch)
    llama.llama_free(context)
    llama.llama_model_free(model)


def _llama() -> ModuleType:
    """The low-level module, its words sent to ``logging`` instead of the terminal."""
    llama = library("llama_cpp", "llama-cpp-python", "llama-cpp")
    if not _callbacks:
        last = _SAME_AS_BEFORE

        @llama.llama_log_callback  # type: ignore[untyped-decorator]
        def say(level: int, text: bytes, _: object) -> None:
            nonlocal last
            last = last if level == _SAME_AS_BEFORE else level
            _LOG.log(logging.WARNING if last == _ERROR else logging.DEBUG, "llama.cpp: %s", text.decode("utf-8", errors="replace").rstrip())

        _callbacks.append(say)
        llama.llama_log_set(say, None)
        llama.llama_backend_init()
    return llama


def _new_context(llama: ModuleType, model: int, name: str, context: int, threads: int | None, cache: CacheType) -> int:  # noqa: PLR0913, PLR0917
    settings = llama.llama_context_default_params()
    settings.n_ctx, settings.n_batch, settings.n_ubatch, settings.n_seq_max = context, _PIECE, _PIECE, 1
    if threads is not None:
        settings.n_threads = settings.n_threads_batch = integer_id("threads", threads)
    kinds = {"float16": llama.GGML_TYPE_F16, "float32": llama.GGML_TYPE_F32}
    if cache not in kinds:
        raise Slm2Error("invalid_value", field="cache", expected=" or ".join(kinds), found=repr(cache))
    settings.type_k = settings.type_v = kinds[cache]
    if cache == "float32":
        # Its flash attention rounds to float16 on a CPU whatever the cache's type is: 0.01 of a logit where float32 throughout gives
        # 0.00001 (measured against ONNX Runtime on the tests' model).
        settings.flash_attn_type = llama.LLAMA_FLASH_ATTN_TYPE_DISABLED
    made: int | None = llama.llama_init_from_model(model, settings)
    if not made:
        raise Slm2Error(
            "model_unsupported", model=name, reason=f"llama.cpp makes no context of {context} ids; the logger 'slm2' has its reasons"
        )
    return made


def _facts(llama: ModuleType, model: int, context: int, name: str) -> ModelFacts:
    """What the file says of its vocabulary."""
    vocabulary = llama.llama_model_get_vocab(model)
    width = llama.llama_vocab_n_tokens(vocabulary)
    ends = {llama.llama_vocab_eos(vocabulary), llama.llama_vocab_eot(vocabulary)}
    return ModelFacts(
        name=name,
        width=width,
        special_ids=_special_ids(llama, vocabulary, width),
        end_ids=tuple(sorted(token for token in ends if token >= 0)),
        context=llama.llama_n_ctx(context),
    )


def _special_ids(llama: ModuleType, vocabulary: object, width: int) -> dict[str, int]:
    """Tokens that the file calls control or user-defined: what Qwen's tokenizer.json has as added tokens.

    llama.cpp calls some more control by their text, among them </s>, which is ordinary text of Qwen's vocabulary (llama-vocab.cpp);
    such a token keeps the mark of an ordinary one.
    """
    if llama.llama_vocab_type(vocabulary) == llama.LLAMA_VOCAB_TYPE_NONE:
        return {}
    wanted = llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_USER_DEFINED
    attributes = ((token, llama.llama_vocab_get_attr(vocabulary, token)) for token in range(width))
    special = [token for token, value in attributes if value & wanted and not value & llama.LLAMA_TOKEN_ATTR_NORMAL]
    return {llama.llama_vocab_get_text(vocabulary, token).decode("utf-8", errors="replace"): token for token in special}


def open_model(place: str) -> LlamaCppSource:
    """The model of ``--model llama-cpp:PLACE``: the path of a ``.gguf`` file, and after ``#`` how many ids it is to hold at once.

    Raises:
        Slm2Error: as :meth:`LlamaCppSource.open`; ``invalid_value`` where something else than a number follows ``#``.
    """
    path, hash_sign, context = place.rpartition("#")
    if not hash_sign:
        return LlamaCppSource.open(place)
    if not (context.isascii() and context.isdigit()):
        raise Slm2Error("invalid_value", field="model", expected="llama-cpp:FILE.gguf or llama-cpp:FILE.gguf#CONTEXT", found=repr(place))
    return LlamaCppSource.open(path, context=int(context))
