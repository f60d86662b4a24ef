"""Error against cost: which models nobody beats at their price."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from smore_paper.tables.compared import BASELINE, LABELS, VARIANTS, label

MARKERS = {"fast": "D", "paper": "s", BASELINE: "o"}


@dataclass(frozen=True)
class Cost:
    """What a model costs, and what it is worth.

    Args:
        error: over the full window of the test set.
        training: seconds.
        forecast: seconds of one sequence; None where that was not measured.
    """

    error: float
    training: float
    forecast: float | None


Costs = Mapping[tuple[str, str], Cost]


def frontier(points: Mapping[tuple[str, str], tuple[float, float]]) -> list[tuple[str, str]]:
    """Those that no other beats in both cost and error, by cost.

    Args:
        points: (cost, error) by model and recipe.
    """
    best, lowest = [], math.inf
    for each in sorted(points, key=lambda each: points[each]):
        if points[each][1] < lowest:
            best.append(each)
            lowest = points[each][1]
    return best


def pareto_figure(by_dataset: Mapping[str, Costs], heading: str) -> Figure:
    """Two rows of panels, training and forecasts; a line joins those that nobody beats."""
    figure = Figure(figsize=(11.0, 6.4), layout="constrained")
    figure.suptitle(f"{heading}: error against cost, one thread", fontsize=11)
    grid = figure.subplots(2, len(by_dataset), squeeze=False)
    for column, (dataset, costs) in enumerate(by_dataset.items()):
        training = {each: (cost.training, cost.error) for each, cost in costs.items()}
        forecast = {
            each: (cost.forecast, cost.error)
            for each, cost in costs.items()
            if cost.forecast is not None
        }
        _draw(grid[0, column], training, "training, seconds")
        _draw(grid[1, column], forecast, "forecast of a sequence, seconds")
        grid[0, column].set_title(dataset, fontsize=10)
    for axes in grid[:, 0]:
        axes.set_ylabel("mean squared error, full window")
    shown: dict[str, Artist] = {}
    for axes in grid.flat:
        for each in axes.collections:
            shown.setdefault(str(each.get_label()), each)
    place: dict[str, Any] = {"loc": "outside right center", "frameon": False, "fontsize": 8}
    order = [name for name in (label(*each) for each in VARIANTS) if name in shown]
    figure.legend([shown[name] for name in order], order, **place)
    return figure


def _draw(axes: Axes, points: Mapping[tuple[str, str], tuple[float, float]], text: str) -> None:
    finite = {each: pair for each, pair in points.items() if all(0 < v < math.inf for v in pair)}
    best = frontier(finite)
    axes.plot(
        [finite[each][0] for each in best],
        [finite[each][1] for each in best],
        color="0.6",
        lw=1.0,
        zorder=1,
    )
    for (model, recipe), (cost, error) in finite.items():
        axes.scatter(
            cost,
            error,
            marker=MARKERS[recipe],
            color=f"C{list(LABELS).index(model)}",
            label=label(model, recipe),
            s=28,
            zorder=2,
        )
    axes.set_xlabel(text)
    if not finite:
        axes.set_axis_off()
        axes.text(0.5, 0.5, f"{text}:\nnot measured", ha="center", transform=axes.transAxes)
        return
    for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        scale("log")
        axis.set_minor_formatter(NullFormatter())
