"""The figures of the reduced benchmarks: curves of validation, and error against cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from smore.plotting import save_figure
from smore_paper.datasets import BENCHMARKS
from smore_paper.page.entries import entry
from smore_paper.tables.compared import LABELS, VARIANTS, label
from smore_paper.tables.cost.figure import Cost, pareto_figure
from smore_paper.tables.ledger import Row, read_rows
from smore_paper.tables.reduced.measure import NAME
from smore_paper.tables.rollout.draw import LINES

# Errors this many times above the worst model's best are off the panel: some forecasts overflow.
WORST = 100.0


def draw_reduced(results: Path) -> list[Path]:
    """Draw both figures from the rows of `results/reduced.csv`, if there are any; their files."""
    rows = [row for row in read_rows(results / f"{NAME}.csv") if row["status"] == "done"]
    if not rows:
        return []
    drawn = {f"{NAME}_curves.png": curves_figure(rows)} if any(row["curve"] for row in rows) else {}
    drawn |= {
        f"{NAME}_cost.png": pareto_figure(
            {name: costs(rows, name) for name in _measured(rows)}, "reduced benchmarks"
        ),
    }
    for file, figure in drawn.items():
        save_figure(figure, results / file)
    return [results / file for file in drawn]


def costs(rows: Sequence[Row], dataset: str) -> dict[tuple[str, str], Cost]:
    """Error and cost of every model that has rows: means over seeds."""
    found = {each: entry(rows, dataset=dataset, model=each[0], recipe=each[1]) for each in VARIANTS}
    return {
        each: Cost(
            here.mean("full_mse") or 0.0,
            here.mean("seconds") or 0.0,
            here.mean("forecast_seconds"),
        )
        for each, here in found.items()
        if here.done
    }


def _measured(rows: Sequence[Row]) -> list[str]:
    """The benchmarks that have rows."""
    there = {row["dataset"] for row in rows}
    return [name for name in BENCHMARKS if name in there]


def curves_figure(rows: Sequence[Row]) -> Figure:
    """Validation error over the share of a training that is done, a line for every seed."""
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    names = _measured([row for row in rows if row["curve"]])
    (panels,) = figure.subplots(1, len(names), squeeze=False)
    for axes, dataset in zip(panels, names, strict=True):
        for row in rows:
            if row["dataset"] == dataset and row["curve"]:
                _draw_curve(axes, row)
        axes.set_yscale("log")
        lowest = [np.nanmin(np.asarray(line.get_ydata(), float)) for line in axes.get_lines()]
        axes.set_ylim(top=min(axes.get_ylim()[1], WORST * max(lowest)))
        axes.set_title(dataset, fontsize=10)
        axes.set_xlabel("share of the training")
    panels[0].set_ylabel("validation error, full window")
    lines = {each.get_label(): each for axes in panels for each in axes.get_lines()}
    shown = {text: line for text, line in lines.items() if not str(text).startswith("_")}
    place: dict[str, Any] = {"loc": "outside right center", "frameon": False, "fontsize": 8}
    figure.legend(list(shown.values()), [str(text) for text in shown], **place)
    return figure


def _draw_curve(axes: Axes, row: Row) -> None:
    pairs = [each.split(":") for each in str(row["curve"]).split()]
    last = float(pairs[-1][0])
    axes.plot(
        [float(epoch) / last for epoch, _ in pairs],
        [float(error) for _, error in pairs],
        color=f"C{list(LABELS).index(row['model'])}",
        label=label(row["model"], row["recipe"]) if row["seed"] == 0 else None,
        alpha=1.0 if row["seed"] == 0 else 0.4,
        **LINES[row["recipe"]] | {"lw": 1.0},
    )
