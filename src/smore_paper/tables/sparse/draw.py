"""How few points are enough: forecast error and observability along a sweep."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from smore_paper.tables.sparse.sweep import Level

Array = NDArray[np.float64]

# By placement.
STYLES: dict[str, dict[str, Any]] = {
    "random": {"color": "tab:blue", "marker": "o", "ms": 4, "label": "random points, median"},
    "placed": {"color": "tab:orange", "marker": "s", "ms": 4, "label": "placed sensors"},
}


def sparse_figure(levels: Sequence[Level], latent_dim: int, heading: str) -> Figure:
    """Left the error over the visible fraction, right c_S over the number of visible points.

    Args:
        levels: of one sweep. The error with all points visible is drawn across if it is among
            them, the paper's errors where it has any.
        latent_dim: p, the number of points below which c_S is 0.
        heading: what is forecast.
    """
    figure = Figure(figsize=(10.0, 4.0), layout="constrained")
    figure.suptitle(f"{heading}: forecasts from part of the first snapshot", fontsize=11)
    left, right = figure.subplots(1, 2)
    levels = sorted(levels, key=lambda level: level.visible)
    _draw_errors(left, levels)
    _draw_observability(right, levels, latent_dim)
    return figure


def _draw_errors(axes: Axes, levels: Sequence[Level]) -> None:
    for placement, style in STYLES.items():
        chosen = [level for level in levels if level.placement == placement]
        if not chosen:
            continue
        visible = [level.visible for level in chosen]
        per_mask = _shown([level.full_mse_per_mask for level in chosen])
        axes.plot(visible, _shown([level.full_mse for level in chosen]), **style)
        if per_mask.shape[1] > 1:
            lowest, highest = per_mask.min(axis=1), per_mask.max(axis=1)
            axes.fill_between(visible, lowest, highest, color=style["color"], alpha=0.2, lw=0)
        if chosen[-1].visible == 1:
            full = _shown([chosen[-1].full_mse])[0]
            axes.axhline(full, color="0.4", lw=0.8, ls="--", label="all points", zorder=1)
    claimed = [level for level in levels if level.paper_full_mse and level.placement == "random"]
    if claimed:
        errors = _shown([level.paper_full_mse for level in claimed])
        axes.plot([level.visible for level in claimed], errors, "^:k", ms=4, label="paper")
    axes.set_yscale("log")
    _scale_across(axes, lambda visible: f"{100 * visible:.3g}%")
    axes.set_xlabel("visible points of the mesh")
    axes.set_ylabel("mean squared error, full window")
    axes.legend(frameon=False)


def _draw_observability(axes: Axes, levels: Sequence[Level], latent_dim: int) -> None:
    for placement, style in STYLES.items():
        counts, seen = (
            _shown(
                [(each.count, each.observability) for each in levels if each.placement == placement]
            )
            .reshape(-1, 2)
            .T
        )
        axes.plot(counts, np.where(seen > 0, seen, np.nan), **style)
        axes.plot(counts[seen == 0], seen[seen == 0], **style, ls="", mfc="white", clip_on=False)
    # Zeros belong in the picture: below the last power of ten the scale is linear, down to 0.
    smallest = min((each.observability for each in levels if each.observability), default=1.0)
    axes.set_yscale("symlog", linthresh=10 ** math.floor(math.log10(smallest)), linscale=0.5)
    axes.set_ylim(bottom=0.0)
    _scale_across(axes, lambda count: f"{count:,.0f}")
    left = axes.get_xlim()[0]
    axes.axvline(latent_dim, color="0.4", lw=0.8)
    axes.axvspan(min(left, latent_dim), latent_dim, color="tab:red", alpha=0.08, lw=0)
    axes.set_xlim(left=left)
    axes.annotate(
        f" p = {latent_dim}: with fewer\n points $c_S$ is exactly 0",
        (latent_dim, 0.98),
        xycoords=("data", "axes fraction"),
        va="top",
        fontsize=8,
    )
    axes.set_xlabel("visible points")
    axes.set_ylabel(r"observability $c_S = \sigma_{\min}(J_S)$")


def _scale_across(axes: Axes, told: Callable[[float], str]) -> None:
    """A logarithmic scale from left to right that is told in plain numbers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: told(value)))


def _shown(values: Sequence[Any]) -> Array:
    """Numbers to draw; NaN, which leaves a gap, where a forecast overflowed or has no score."""
    numbers = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)
