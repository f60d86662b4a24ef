"""The figures of the main comparison: errors snapshot by snapshot, and fields side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from smore.data import Trajectories
from smore.plotting import directions, draw_field, save_figure
from smore_paper import datasets
from smore_paper.tables.compared import BASELINE, CLASSICAL, HORIZON, LABELS, VARIANTS, label
from smore_paper.tables.kept_snapshot import SNAPSHOT
from smore_paper.tables.ledger import Row, read_rows
from smore_paper.tables.rollout.measure import NAME, fields_path
from smore_paper.tables.selection import is_by_habit

# Channels that the field comparison shows, where it is not the first.
SHOWN = {"shallow-water": "vorticity"}
COLUMNS = 4
PANEL = 2.1  # inches
DECADES = (3, 8)  # of errors that are told apart, below the range of the truth: least and most
LEAST_ERROR = 1e-30
# SMORE stands out by its lines, its recipes differ by theirs.
LINES: dict[str, dict[str, Any]] = {
    "fast": {"lw": 2.2},
    "paper": {"lw": 2.2, "ls": "--"},
    BASELINE: {"lw": 1.1},
}


def draw_rollouts(results: Path) -> list[Path]:
    """Draw both figures of every benchmark that has rows in `results/rollout.csv`; their files."""
    rows = [row for row in read_rows(results / f"{NAME}.csv") if is_by_habit(row)]
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
            titles = {which: _title(rows, dataset, *which) for which in fields}
            figure = field_figure(fields, dataset, SHOWN.get(dataset), titles)
            save_figure(figure, drawn[-1])
    return drawn


def _title(rows: Sequence[Row], dataset: str, model: str, recipe: str) -> str:
    """A model, how long it was trained where that tells, and its error."""
    here = {"dataset": dataset, "model": model, "recipe": recipe, "seed": 0, "status": "done"}
    row = next((row for row in rows if here.items() <= row.items()), None)
    if row is None:
        return label(model, recipe)
    told = f"error {row['full_mse']:.1e}"
    if recipe != "fast" and model not in CLASSICAL:
        epochs = f"{row['epochs']:,} epochs" if row["epochs"] else "less than 1 epoch"
        told = f"{epochs}, {told}"
    return f"{label(model, recipe)}\n{told}"


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
    fields: Mapping[tuple[str, str], Trajectories],
    heading: str,
    channel: str | None = None,
    titles: Mapping[tuple[str, str], str] | None = None,
) -> Figure:
    """Truth first, then the forecast of every model, with its error below.

    Args:
        fields: what `fields_beside_truth` made, by (model, recipe).
        heading: what the fields are of.
        channel: which to show; by default the first.
        titles: of the models; by default their names.
    """
    first = next(iter(fields.values()))
    name = channel or first.channels[0].name
    truth = channel_values(first, name)
    forecasts = {which: channel_values(fields[which], f"{name}_forecast") for which in fields}
    figure, upper, lower = _panels(first, 1 + len(forecasts))
    figure.suptitle(f"{heading}, {name}: snapshot {SNAPSHOT}, forecast and error", fontsize=11)
    # Colours span the truth: a forecast that went astray must not hide it.
    low, high = float(truth.min()), float(truth.max())
    field_scale = draw_panel(upper[0], "truth", first, truth, (low, high), "RdBu_r")
    # Models differ by orders of magnitude, so errors are told by theirs.
    errors = {
        which: np.log10(np.maximum(np.abs(forecast - truth), LEAST_ERROR))
        for which, forecast in forecasts.items()
    }
    limits = _error_limits(errors.values(), high - low)
    for number, (which, forecast) in enumerate(forecasts.items(), start=1):
        title = label(*which) if titles is None else titles[which]
        draw_panel(upper[number], title, first, forecast, (low, high), "RdBu_r")
        error_scale = draw_panel(lower[number], "", first, errors[which], limits, "magma")
    for scale, text in ((error_scale, r"$\log_{10}$ |error|"), (field_scale, name)):
        place = {"location": "bottom", "shrink": 0.6, "aspect": 50, "pad": 0.01}
        figure.colorbar(scale, ax=[*upper, *lower], label=text, **place)  # type: ignore[arg-type]
    return figure


def _error_limits(errors: Iterable[NDArray[np.floating]], span: float) -> tuple[float, float]:
    """Logarithms from the median error of the best model to the range `span` of the truth."""
    top = math.log10(max(span, LEAST_ERROR))
    finite = [each for each in errors if np.isfinite(each).any()]
    best = min((float(np.nanmedian(each)) for each in finite), default=top)
    least, most = DECADES
    return top - float(np.clip(top - best + 0.5, least, most)), top


def _panels(where: Trajectories, count: int) -> tuple[Figure, list[Axes], list[Axes]]:
    """A figure with `count` panels in bands of COLUMNS, and another panel below each."""
    mesh = where.sequences[0].mesh
    across, up = directions(where.space, mesh)
    extent = np.ptp(mesh.coords, axis=0)
    height = PANEL * float(extent[up] / extent[across])
    bands = math.ceil(count / COLUMNS)
    size = (PANEL * COLUMNS, (2 * height + 0.5) * bands + 1.6)
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
