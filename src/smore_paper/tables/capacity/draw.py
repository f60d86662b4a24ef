"""The figure of the capacity table: the largest grid of every model, the paper's beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from smore.plotting import save_figure
from smore_paper.tables.capacity.measure import NAME, PAPER_GRIDS, PAPER_MACHINE, SMORE_MODEL
from smore_paper.tables.compared import LABELS
from smore_paper.tables.ledger import Row, read_rows

HEIGHT = 0.38  # of a bar, of the distance between models
PAPER_COLOUR = "0.75"


def draw_capacity(results: Path) -> list[Path]:
    """Draw the figure if there are rows in `results/capacity.csv`; its file."""
    largest: dict[str, Row] = {}
    for row in read_rows(results / f"{NAME}.csv"):
        if row["status"] == "done":
            largest[row["model"]] = max(
                row, largest.get(row["model"], row), key=lambda each: each["points"]
            )
    if not largest:
        return []
    path = results / f"{NAME}.png"
    save_figure(capacity_figure(largest), path)
    return [path]


def capacity_figure(largest: Mapping[str, Row]) -> Figure:
    """Bars from the smallest of the paper's grids to the largest.

    Args:
        largest: the row of every model that was measured.
    """
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    axes = figure.subplots()
    for place, (model, claimed) in enumerate(PAPER_GRIDS.items()):
        above, below = place - HEIGHT / 2, place + HEIGHT / 2
        row = largest.get(model)
        if row is not None:
            colour = "tab:blue" if model == SMORE_MODEL else "tab:orange"
            axes.barh(above, row["grid"], HEIGHT, color=colour)
            memory = row["peak_megabytes"] / 1000
            axes.text(row["grid"], above, f" {row['grid']:,} in {memory:.2g} GB", va="center")
        axes.barh(below, claimed, HEIGHT, color=PAPER_COLOUR)
        axes.text(claimed, below, f" {claimed:,}", va="center", color="0.4")
    axes.set_xscale("log")
    widest = max([*PAPER_GRIDS.values(), *(row["grid"] for row in largest.values())])
    axes.set_xlim(8, 4 * widest)  # with room for the numbers
    axes.set_yticks(range(len(PAPER_GRIDS)), [LABELS[model] for model in PAPER_GRIDS])
    axes.invert_yaxis()
    axes.set_xlabel("points along each side of the grid")
    axes.set_title(
        f"Largest square grid: measured here, and on one {PAPER_MACHINE} (grey)", fontsize=11
    )
    return figure
