"""A step as a picture: the kept set in its order, where the thresholds cut, and the draw. Needs matplotlib: pip install 'slm2[plot]'."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from slm2.errors import Slm2Error
from slm2.sampling import Sample, Sampler

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.axes import Axes

__all__ = ["check_plot", "plot_step"]

_SHOWN = 40
_KEPT, _DRAWN, _CUT = "#4477aa", "#cc6677", "#555555"


def check_plot(path: str) -> None:
    """Whether a picture can be drawn there, before anything else is done.

    Raises:
        Slm2Error: ``dependency_missing``, ``invalid_value``.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise Slm2Error("dependency_missing", package="matplotlib", extra="plot")
    if not path.endswith((".svg", ".png")):
        raise Slm2Error("invalid_value", field="plot", expected="a name that ends in .svg or .png", found=repr(path))


def plot_step(sampler: Sampler, row: npt.NDArray[np.float32], path: str) -> Sample:
    """Draw an id, and the step as a picture.

    Args:
        sampler: at the step.
        row: its logits.
        path: of the picture; its ending, .svg or .png, says the form.

    Raises:
        Slm2Error: ``dependency_missing``, ``file_unwritable``, ``invalid_value``, or what :meth:`Sampler.sample` raises.
    """
    check_plot(path)
    from matplotlib import rc_context  # noqa: PLC0415  (an extra)
    from matplotlib.figure import Figure  # noqa: PLC0415

    drawn = sampler.sample(row, top=_SHOWN)
    figure = Figure(figsize=(8, 5), layout="constrained")
    bars, line = figure.subplots(2, 1, sharex=True)
    _probabilities(bars, drawn, sampler)
    _running_sum(line, drawn)
    try:
        # No date and no random ids: the same step gives the same file.
        with rc_context({"svg.hashsalt": "slm2"}):
            figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else {"Software": None})
    except OSError as error:
        raise Slm2Error("file_unwritable", path=path, reason=error.strerror or str(error)) from None
    return drawn


def _probabilities(axes: Axes, drawn: Sample, sampler: Sampler) -> None:
    colours = [_DRAWN if token == drawn.id else _KEPT for token, *_ in drawn.top]
    places = range(len(drawn.top))
    axes.bar(places, [probability for _, probability, _ in drawn.top], color=colours)
    axes.set_ylabel("probability")
    before, top_k, top_p, kept = drawn.sizes
    axes.set_title(f"{before} ids, {top_k} after top_k, {top_p} after top_p, {kept} after min_p", fontsize=10)
    config = sampler.config
    if config.min_p > 0 and drawn.top:
        axes.axhline(config.min_p * drawn.top[0][1], color=_CUT, linestyle="--", label=f"min_p {config.min_p}")
        axes.legend()


def _running_sum(axes: Axes, drawn: Sample) -> None:
    sums, total = [], 0.0
    for _, probability, _ in drawn.top:
        total += probability
        sums.append(total)
    places = range(len(sums))
    axes.step(places, sums, where="mid", color=_KEPT)
    axes.set_ylabel("running sum")
    axes.set_xticks(places, [str(token) for token, *_ in drawn.top], rotation=90, fontsize=7)
    axes.set_xlabel("id, by falling probability")
    if len(drawn.numbers) == 4:  # of profile contract, whose first number is the uniform
        axes.axhline(drawn.numbers[0], color=_DRAWN, label=f"u = {drawn.numbers[0]:.4f}: id {drawn.id}")
        axes.legend()
