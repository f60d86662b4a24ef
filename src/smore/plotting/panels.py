"""Fields side by side: one row per kind, one column per snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from smore.data import Clock, Mesh, Space, Trajectories
from smore.errors import SettingsError, unwritable
from smore.evaluation import Skill
from smore.plotting._skill import draw_skill, skill_size
from smore.plotting.fields import draw_field, height_ratio
from smore.surrogate import Surrogate, advance, decode, infer

# Of a row of curves below panels, in inches.
FLAT_HEIGHT = 3.2


@dataclass(frozen=True, eq=False)
class Row:
    """One row of panels.

    Args:
        label: what it shows.
        fields: (snapshots, points); NaN where nothing is known.
        is_error: errors get a scale of their own, from zero.
        marks: (points, 2) places to mark in the first panel, such as sensors.
    """

    label: str
    fields: NDArray[np.floating]
    is_error: bool = False
    marks: NDArray[np.floating] | None = None


def snapshot_panels(
    rows: Sequence[Row],
    titles: Sequence[str],
    mesh: Mesh,
    space: Space,
    heading: str,
    units: str = "",
) -> Figure:
    """A figure with a panel for every row and column, and a colour bar for each row."""
    figure = Figure(figsize=_panel_size(rows, titles, mesh, space), layout="constrained")
    draw_panels(figure, rows, titles, mesh, space, heading, units)
    return figure


def _panel_size(
    rows: Sequence[Row], titles: Sequence[str], mesh: Mesh, space: Space
) -> tuple[float, float]:
    ratio, width = height_ratio(mesh, space, of_line=0.6), 2.1
    return width * len(titles) + 1.3, width * ratio * len(rows) + 0.9


def draw_panels(
    figure: Figure | SubFigure,
    rows: Sequence[Row],
    titles: Sequence[str],
    mesh: Mesh,
    space: Space,
    heading: str,
    units: str = "",
) -> None:
    """`snapshot_panels` on a figure, or a part of one."""
    figure.suptitle(heading, fontsize=11)
    grid = figure.subplots(len(rows), len(titles), squeeze=False)
    # The first row sets the scale: a forecast that went astray must not hide the truth.
    low, high = float(np.nanmin(rows[0].fields)), float(np.nanmax(rows[0].fields))
    for row, axes in zip(rows, grid, strict=True):
        largest = min(float(np.nanmax(row.fields)), high - low) if row.is_error else 0.0
        limits = (0.0, max(largest, 1e-30)) if row.is_error else (low, high)
        colours = "magma" if row.is_error else "RdBu_r"
        drawn = None
        for panel, field, title in zip(axes, row.fields, titles, strict=True):
            drawn = draw_field(panel, mesh, field, space, limits=limits, colours=colours)
            if row is rows[0]:
                panel.set_title(title, fontsize=9)
        axes[0].set_ylabel(row.label, fontsize=9)
        if row.marks is not None:
            axes[0].plot(*row.marks.T, ".", color="black", markersize=1.5)
        if isinstance(drawn, ScalarMappable):
            figure.colorbar(drawn, ax=axes.tolist(), shrink=0.85, pad=0.01, label=units)


def forecast_figure(
    surrogate: Surrogate,
    trajectories: Trajectories,
    skill: Skill | None = None,
    *,
    sequence: int = 0,
    reliability: bool = False,
) -> Figure:
    """Truth, forecast from the first snapshot and error of one sequence, first channel.

    Args:
        surrogate: the model.
        trajectories: the truth.
        skill: drawn beside the panels if given.
        sequence: number of the sequence.
        reliability: whether shares inside intervals are drawn too.
    """
    description = surrogate.description
    names = [channel.name for channel in description.channels]
    chosen = surrogate.aligned(trajectories.select_channels(names)).select([sequence])
    truth = chosen.sequences[0]
    state = infer(surrogate, chosen, "posterior")
    latents = advance(surrogate, state, truth.times[None, 1:])
    forecast = decode(surrogate, latents, truth.mesh)[0]
    shown = panel_snapshots(truth.num_snapshots)
    true, predicted = truth.fields[shown, 0], forecast[shown, 0]
    if truth.observed is not None:
        known = truth.observed[shown, 0]
        true, predicted = np.where(known, true, np.nan), np.where(known, predicted, np.nan)
    rows = [
        Row("truth", true),
        Row("forecast", predicted),
        Row("|error|", np.abs(predicted - true), is_error=True),
    ]
    titles = [_title(index, truth.times[index], chosen.clock) for index in shown]
    where = truth.mesh, description.space
    heading = f"{names[0]}, sequence {sequence + 1}, forecast from snapshot 1"
    units = description.channels[0].units
    if skill is None:
        return snapshot_panels(rows, titles, *where, heading, units)
    figure, left, right, across = _side_by_side(
        _panel_size(rows, titles, *where), skill_size(skill, reliability=reliability)
    )
    draw_panels(left, rows, titles, *where, heading, units)
    draw_skill(right, skill, reliability=reliability, across=across)
    return figure


def _side_by_side(
    panels: tuple[float, float], beside: tuple[float, float]
) -> tuple[Figure, SubFigure, SubFigure, bool]:
    """A figure with room for both: beside each other, or flat panels above a row of curves."""
    across = 2 * panels[1] < beside[1]
    if across:
        size, shape = (panels[0], panels[1] + FLAT_HEIGHT), (2, 1)
        shares: dict[str, Any] = {"height_ratios": [panels[1], FLAT_HEIGHT]}
    else:
        size, shape = (panels[0] + beside[0], max(panels[1], beside[1])), (1, 2)
        shares = {"width_ratios": [panels[0], beside[0]]}
    figure = Figure(figsize=size, layout="constrained")
    parts: Any = figure.subfigures(*shape, **shares)
    return figure, parts[0], parts[1], across


def _title(index: int, time: float, clock: Clock) -> str:
    return f"snapshot {index + 1}\n{told_time(time, clock)}"


def told_time(time: float, clock: Clock) -> str:
    """A time as the data tell it."""
    when = clock.to_values(time)
    told = f"t = {when:.4g} {clock.units}" if clock.kind == "number" else str(when)[:16]
    return told.strip()


def panel_snapshots(length: int, columns: int = 5) -> list[int]:
    """Evenly spread snapshots; for twenty of them numbers 1, 5, 10, 15 and 20, counted from 1."""
    steps = np.round(np.arange(1, columns) * length / (columns - 1)).astype(int) - 1
    return sorted({0, *steps.tolist()})


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure, by the ending of its name.

    Raises:
        SettingsError: it cannot be written there.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise SettingsError(unwritable(path, error)) from error


def require_figure_format(path: Path | None) -> None:
    """Refuse a file name that no figure can be written to, before any work is done."""
    known = FigureCanvasBase.get_supported_filetypes()
    if path is not None and path.suffix.removeprefix(".") not in known:
        raise SettingsError(f"figures end in {', '.join(sorted(known))}; got {path}")
