"""A model in ONNX Runtime: decoders with a cache, as optimum and onnx-community export them.

Needs ``pip install 'slm2[onnxruntime]'``. Runs on the CPU unless providers are named; the cache stays in the memory of the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from slm2.adapters.libraries import library
from slm2.adapters.model_files import facts_of_directory
from slm2.adapters.steps import check_step
from slm2.engine import integer_id
from slm2.errors import Slm2Error
from slm2.logits_source import ModelFacts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import onnxruntime

    from slm2.logits_source import Row

__all__ = ["OnnxSource", "open_model"]

_PAST, _PRESENT = "past_key_values.", "present."
_IDS = ("input_ids", "attention_mask", "position_ids")
# A graph gives a row for every id of its input, at 608 kB a row of float32: a long prompt goes in by so many ids at a time.
_PIECE = 256


class OnnxSource:
    """Logits from an ONNX Runtime session; the cache is the arrays that the graph gave at the step before.

    The graph has the inputs ``input_ids``, ``attention_mask`` and ``past_key_values.N.key`` and ``.value``, with or without
    ``position_ids``; and the outputs ``logits`` and ``present.N.key`` and ``.value``.

    Args:
        session: an ``onnxruntime.InferenceSession``.
        facts: what is known of the model beside its graph; the width of its logits is measured.

    Raises:
        Slm2Error: ``model_unsupported`` for a graph with other inputs or outputs.
    """

    def __init__(self, session: onnxruntime.InferenceSession, facts: ModelFacts) -> None:
        self._session = session
        self._graph = _Graph(session, facts.name)
        self._past: dict[str, npt.NDArray[np.generic]] = {}
        self._held = 0
        # Some exports leave the width of the logits open, and the graph's word goes before that of config.json.
        self._model = replace(facts, width=len(self._row([0])))
        self._forget()

    @classmethod
    def open(
        cls, path: str | PathLike[str], *, providers: Sequence[str] = ("CPUExecutionProvider",), threads: int | None = None
    ) -> OnnxSource:
        """Open a model's file.

        Args:
            path: the ``.onnx`` file; external data lies beside it. The files of its checkpoint (config.json and so on) are looked
                for beside it and, where that is a folder named ``onnx``, in the folder above.
            providers: ONNX Runtime's execution providers, in the order of preference.
            threads: of one operator; None leaves it to ONNX Runtime.

        Raises:
            Slm2Error: ``dependency_missing``; ``invalid_type``; ``invalid_value`` for a provider that this build of ONNX Runtime does not
                have, in whose place it would take the CPU; ``file_unreadable``; ``model_unsupported`` where ONNX Runtime refuses the
                file, or as the class.
        """
        file = Path(path)
        facts = _facts(file)
        runtime = library("onnxruntime", "onnxruntime", "onnxruntime")
        there = runtime.get_available_providers()
        for provider in providers:
            if provider not in there:
                raise Slm2Error("invalid_value", field="providers", expected=" or ".join(there), found=repr(provider))
        options = runtime.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = integer_id("threads", threads)
        if not file.is_file():
            raise Slm2Error("file_unreadable", path=str(file), reason="no such file")
        try:
            session = runtime.InferenceSession(os.fspath(file), options, providers=list(providers))
        except Exception as error:  # its exceptions have no common class but this
            raise Slm2Error("model_unsupported", model=facts.name, reason=str(error)) from error
        return cls(session, facts)

    @property
    def model(self) -> ModelFacts:
        """See :class:`slm2.logits_source.LogitsSource`."""
        return self._model

    def logits(self, *, keep: int, append: Sequence[int]) -> Row:
        """See :class:`slm2.logits_source.LogitsSource`; float32 or float16, as the graph gives them.

        Raises:
            Slm2Error: ``invalid_value``, ``invalid_type``. Whatever ONNX Runtime raises goes through, and the cache is empty then.
        """
        keep, append = check_step(self._model, held=self._held, keep=keep, append=append)
        try:
            self._cut(keep)
            begin = (len(append) - 1) // _PIECE * _PIECE
            for at in range(0, begin, _PIECE):
                self._call(append[at : at + _PIECE])
            return self._row(append[begin:])
        except BaseException:
            self._forget()
            raise

    def _row(self, ids: Sequence[int]) -> Row:
        """Put ids into the cache; the row of the last of them."""
        (rows,) = self._call(ids, "logits")
        row: Row = rows[0, -1]
        return row

    def _call(self, ids: Sequence[int], *outputs: str) -> list[npt.NDArray[np.generic]]:
        """Put ids into the cache; what the graph gives besides the new cache."""
        import numpy as np  # noqa: PLC0415  (slow to import)

        total = self._held + len(ids)
        feed = {
            "input_ids": np.array([ids], np.int64),
            "attention_mask": np.ones((1, total), np.int64),
            "position_ids": np.arange(self._held, total, dtype=np.int64)[None],
            **(self._past or self._graph.empty()),
        }
        given: list[npt.NDArray[np.generic]] = self._session.run(
            [*outputs, *self._graph.present], {name: feed[name] for name in self._graph.inputs}
        )
        self._past, self._held = dict(zip(self._graph.past, given[len(outputs) :], strict=True)), total
        return given[: len(outputs)]

    def _cut(self, keep: int) -> None:
        """Keep the first ids of the cache; what is cut is copied, so that its memory is free again."""
        import numpy as np  # noqa: PLC0415

        if keep == 0:
            self._forget()
        elif keep < self._held:
            self._past = {name: np.ascontiguousarray(array[:, :, :keep]) for name, array in self._past.items()}
            self._held = keep

    def _forget(self) -> None:
        self._past, self._held = {}, 0


class _Graph:
    """Names and shapes of a graph that is such a decoder."""

    def __init__(self, session: onnxruntime.InferenceSession, name: str) -> None:
        inputs = {node.name: node for node in session.get_inputs()}
        outputs = {node.name: node for node in session.get_outputs()}
        self.inputs = list(inputs)
        self.past = [given for given in inputs if given.startswith(_PAST)]
        self.present = [given.replace(_PAST, _PRESENT, 1) for given in self.past]
        missing = [given for given in _IDS[:2] if given not in inputs] + [
            given for given in ("logits", *self.present) if given not in outputs
        ]
        if missing:
            raise _unsupported(name, f"its graph has no {', '.join(missing)}")
        if not self.past:
            reason = (
                "its graph has no cache (no inputs past_key_values.N.key and .value), so that every step would compute the whole prompt"
            )
            raise _unsupported(name, f"{reason}; export it with its cache (optimum: task text-generation-with-past)")
        others = [given for given in inputs if given not in _IDS and not given.startswith(_PAST)]
        if others:
            raise _unsupported(name, f"what its graph takes as {', '.join(others)} is not known here")
        self._shapes = {given: _cache_shape(inputs[given], name) for given in self.past}
        self._types = {given: _element(inputs[given], name) for given in self.past}
        _element(outputs["logits"], name)

    def empty(self) -> dict[str, npt.NDArray[np.generic]]:
        """A cache of no ids."""
        import numpy as np  # noqa: PLC0415

        return {given: np.zeros(self._shapes[given], self._types[given]) for given in self.past}


def _cache_shape(node: onnxruntime.NodeArg, name: str) -> tuple[int, int, int, int]:
    """[1, heads, 0, size] of a part of the cache."""
    shape = node.shape
    if len(shape) != 4 or not isinstance(shape[1], int) or not isinstance(shape[3], int):
        raise _unsupported(name, f"{node.name} has the shape {shape}, not [batch, heads, past, size] with heads and size told")
    return (1, shape[1], 0, shape[3])


def _element(node: onnxruntime.NodeArg, name: str) -> str:
    """NumPy's name of the elements."""
    elements = {"tensor(float)": "float32", "tensor(float16)": "float16"}
    if node.type not in elements:
        raise _unsupported(name, f"{node.name} is a {node.type}; {' or '.join(elements)} can be read")
    return elements[node.type]


def _facts(file: Path) -> ModelFacts:
    """What the files of the checkpoint say; the position of config.json says where they are."""
    above = file.parent.parent if file.parent.name == "onnx" and not (file.parent / "config.json").exists() else file.parent
    return facts_of_directory(above, name=str(file))


def _unsupported(name: str, reason: str) -> Slm2Error:
    return Slm2Error("model_unsupported", model=name, reason=reason)


def open_model(place: str) -> OnnxSource:
    """The model of ``--model onnxruntime:PLACE``: the path of an ``.onnx`` file.

    Raises:
        Slm2Error: as :meth:`OnnxSource.open`.
    """
    return OnnxSource.open(place)
