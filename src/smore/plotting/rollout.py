"""The figures of the main comparison: errors snapshot by snapshot, and fields side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from smore import datasets
from smore.data import Trajectories
from smore.experiments.reproduction import Row, read_rows
from smore.experiments.rollout_table import (
    BASELINE,
    HORIZON,
    LABELS,
    NAME,
    SNAPSHOT,
    VARIANTS,
    fields_path,
    label,
)
from smore.plotting.fields import draw_field
from smore.plotting.panels import save_figure

# Channels that the field comparison shows, where it is not the first.
SHOWN = {"shallow-water": "vorticity"}
COLUMNS = 4
PANEL = 2.1  # inches
DECADES = 5  # of errors that can be told apart, below the range of the truth
LEAST_ERROR = 1e-30
# SMORE stands out by its lines, its recipes differ by theirs.
LINES: dict[str, dict[str, Any]] = {
    "fast": {"lw": 2.2},
    "paper": {"lw": 2.2, "ls": "--"},
    BASELINE: {"lw": 1.1},
}


def draw_rollouts(results: Path) -> list[Path]:
    """Draw both figures of every benchmark that has rows in `results/rollout.csv`; their files."""
    rows = read_rows(results / f"{NAME}.csv")
    drawn = []
    for dataset in datasets.BENCHMARKS:
        errors = mean_errors([row for row in rows if row["dataset"] == dataset])
        if errors:
            figure = per_snapshot_figure(errors, f"{dataset}: error of each snapshot")
            drawn.append(results / f"{NAME}_{dataset}.png")
            save_figure(figure, drawn[-1])
        fields = _stored_fields(results, dataset)
        if fields:
            drawn.append(results / f"fields_{dataset}.png")
            save_figure(field_figure(fields, dataset, SHOWN.get(dataset)), drawn[-1])
    return drawn


def mean_errors(rows: Sequence[Row]) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Errors of each step by (model, recipe) in the table's order, the mean over seeds."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for row in rows:
        if row["status"] == "done":
            steps = [float(error) for error in str(row["per_step_mse"]).split()]
            found.setdefault((row["model"], row["recipe"]), []).append(steps)
    return {which: np.mean(found[which], axis=0) for which in VARIANTS if which in found}


def per_snapshot_figure(
    errors: Mapping[tuple[str, str], NDArray[np.float64]], heading: str
) -> Figure:
    """Errors of all models over the number of the snapshot.

    Args:
        errors: by (model, recipe), from the second snapshot on; what is not finite is left out.
        heading: of the figure.
    """
    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    axes = figure.subplots()
    for (model, recipe), steps in errors.items():
        shown = np.where(np.isfinite(steps), steps, np.nan)
        axes.plot(
            2 + np.arange(len(steps)),
            shown,
            color=f"C{list(LABELS).index(model)}",
            label=label(model, recipe),
            **LINES[recipe],
        )
    axes.axvline(HORIZON + 0.5, color="0.4", lw=0.8, ls=":")
    axes.annotate(
        " beyond the training window",
        (HORIZON + 0.5, 1.0),
        xycoords=("data", "axes fraction"),
        va="top",
        fontsize=8,
    )
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("snapshot")
    axes.set_ylabel("mean squared error")
    axes.set_title(heading, fontsize=11)
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    return figure


def field_figure(
    fields: Mapping[tuple[str, str], Trajectories], heading: str, channel: str | None = None
) -> Figure:
    """Truth first, then the forecast of every model, with its error below.

    Args:
        fields: what `fields_beside_truth` made, by (model, recipe).
        heading: what the fields are of.
        channel: which to show; by default the first.
    """
    first = next(iter(fields.values()))
    name = channel or first.channels[0].name
    truth = channel_values(first, name)
    forecasts = {
        label(*which): channel_values(fields[which], f"{name}_forecast") for which in fields
    }
    figure, upper, lower = _panels(first, 1 + len(forecasts))
    figure.suptitle(f"{heading}, {name}: snapshot {SNAPSHOT}, forecast and error", fontsize=11)
    # Colours span the truth: a forecast that went astray must not hide it.
    low, high = float(truth.min()), float(truth.max())
    field_scale = draw_panel(upper[0], "truth", first, truth, (low, high), "RdBu_r")
    # Models differ by orders of magnitude, so errors are told by theirs.
    top = math.log10(max(high - low, LEAST_ERROR))
    for number, (title, forecast) in enumerate(forecasts.items(), start=1):
        draw_panel(upper[number], title, first, forecast, (low, high), "RdBu_r")
        error = np.log10(np.maximum(np.abs(forecast - truth), LEAST_ERROR))
        error_scale = draw_panel(lower[number], "", first, error, (top - DECADES, top), "magma")
    everything = [*upper, *lower]
    figure.colorbar(field_scale, ax=everything, shrink=0.6, label=name)
    figure.colorbar(error_scale, ax=everything, shrink=0.6, label=r"$\log_{10}$ |error|")
    return figure


def _panels(where: Trajectories, count: int) -> tuple[Figure, list[Axes], list[Axes]]:
    """A figure with `count` panels in bands of COLUMNS, and another panel below each."""
    across, up = (1, 0) if where.space.geometry == "sphere" else (0, 1)
    extent = np.ptp(where.sequences[0].mesh.coords, axis=0)
    height = PANEL * float(extent[up] / extent[across]) + 0.15
    bands = math.ceil(count / COLUMNS)
    size = (PANEL * COLUMNS + 1.8, 2 * height * bands + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(2 * bands, COLUMNS, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    return figure, grid[::2].ravel().tolist(), grid[1::2].ravel().tolist()


def draw_panel(
    axes: Axes,
    title: str,
    where: Trajectories,
    field: NDArray[np.floating],
    limits: tuple[float, float],
    colours: str,
) -> ScalarMappable:
    """A field at the places of the first sequence of `where`."""
    axes.set_title(title, fontsize=9)
    mesh = where.sequences[0].mesh
    drawn = draw_field(axes, mesh, field, where.space, limits=limits, colours=colours)
    assert isinstance(drawn, ScalarMappable)
    if not np.isfinite(field).any():
        axes.text(0.5, 0.5, "not finite", transform=axes.transAxes, ha="center", fontsize=9)
    return drawn


def channel_values(snapshot: Trajectories, name: str) -> NDArray[np.floating]:
    """(points,) values, NaN where there are none."""
    sequence = snapshot.select_channels([name]).sequences[0]
    if sequence.observed is None:
        return sequence.fields[0, 0]
    return np.where(sequence.observed[0, 0], sequence.fields[0, 0], np.nan)


def _stored_fields(results: Path, dataset: str) -> dict[tuple[str, str], Trajectories]:
    """The stored forecasts of a benchmark, in the order of the models."""
    paths = {which: fields_path(results, dataset, *which) for which in VARIANTS}
    return {
        which: Trajectories.open(path, missing="mask")
        for which, path in paths.items()
        if path.exists()
    }
