"""The learned dynamics in pictures: where their rates lie and what their modes look like."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from smore.analysis import DynamicModes
from smore.data import Mesh, Space
from smore.plotting.fields import directions, draw_field, height_ratio, with_units

NUM_LABELS = 8
NUM_PANELS = 4
# Modes weaker than this share of the strongest do not decide what the spectrum shows.
VISIBLE = 0.01
# Labels closer than this share of the axes would be written over each other.
CLOSE = np.array([0.15, 0.05])
LARGEST_MARKER = 220.0
SPECTRUM_SIZE = (4.6, 4.0)
PANEL_WIDTH = 2.1


def spectrum_figure(modes: DynamicModes) -> Figure:
    """Rates in the complex plane, half of it: a conjugate pair is one dot.

    The area of a dot is the mode's amplitude; the strongest are numbered.
    """
    figure = Figure(figsize=SPECTRUM_SIZE, layout="constrained")
    _draw_spectrum(figure.subplots(), modes)
    return figure


def overview_figure(modes: DynamicModes, fields: xr.Dataset, mesh: Mesh, space: Space) -> Figure:
    """The spectrum and, beside it, the fields of the strongest modes."""
    width, height = _panels_size(fields, mesh, space)
    figure = Figure(
        figsize=(SPECTRUM_SIZE[0] + width, max(height, SPECTRUM_SIZE[1])), layout="constrained"
    )
    parts = figure.subfigures(1, 2, squeeze=False, width_ratios=[SPECTRUM_SIZE[0], width])
    _draw_spectrum(parts[0, 0].subplots(), modes)
    _draw_modes(parts[0, 1], fields, mesh, space)
    return figure


def _draw_spectrum(axes: Axes, modes: DynamicModes) -> None:
    strength = modes.amplitudes / max(modes.amplitudes.max(), np.finfo(float).tiny)
    shown = strength >= VISIBLE
    across, up = _limits(modes, shown)
    axes.axvspan(across[0], 0.0, color="tab:green", alpha=0.1, linewidth=0)
    axes.axvline(0.0, color="0.4", linewidth=0.8)
    axes.scatter(
        modes.growth_rate,
        modes.frequency,
        s=np.maximum(LARGEST_MARKER * strength, 3.0),
        c=np.where(modes.growth_rate > 0, "tab:red", "tab:blue"),
        alpha=0.6,
        linewidth=0,
    )
    for place, label in _labels(modes, int(shown.sum()), across, up):
        axes.annotate(label, place, xytext=(6, 6), textcoords="offset points", fontsize=8)
    axes.set_xlim(across)
    axes.set_ylim(up)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    per_time = f"1/{modes.time_units}" if modes.time_units else "per unit of time"
    axes.set_xlabel(f"growth rate ({per_time})")
    axes.set_ylabel(f"frequency ({per_time})")
    axes.set_title(f"{modes.about}\nareas: amplitude; shaded: decay", fontsize=9)
    hidden = int((~_inside(modes.growth_rate, across) | ~_inside(modes.frequency, up)).sum())
    if hidden:
        note = f"{hidden} weak modes lie outside"
        axes.text(0.02, 0.98, note, transform=axes.transAxes, va="top", fontsize=8, color="0.3")


def _limits(
    modes: DynamicModes, shown: NDArray[np.bool_]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of the growth rates and frequencies `shown`, with the imaginary axis in sight."""
    growth, frequency = modes.growth_rate[shown], modes.frequency[shown]
    # Growth rates far below the frequencies are all but zero: they must not fill the picture.
    least = 0.05 * float(np.abs(modes.rates[shown]).max(initial=0.0)) or 1.0
    low, high = min(growth.min(initial=0.0), -least), max(growth.max(initial=0.0), least / 2)
    top = float(frequency.max(initial=0.0)) or 1.0
    margin = 0.08 * (high - low)
    return (low - margin, high + 2 * margin), (-0.06 * top, 1.12 * top)


def _labels(
    modes: DynamicModes, count: int, across: tuple[float, float], up: tuple[float, float]
) -> list[tuple[tuple[float, float], str]]:
    """Where to write the numbers of the strongest modes; those too close share a label."""
    extent = np.array([np.ptp(across), np.ptp(up)])
    labels: list[tuple[tuple[float, float], str]] = []
    for number in range(min(NUM_LABELS, count)):
        place = (float(modes.growth_rate[number]), float(modes.frequency[number]))
        for index, (other, text) in enumerate(labels):
            if np.all(np.abs(np.subtract(place, other)) < CLOSE * extent):
                labels[index] = (other, f"{text}, {number + 1}")
                break
        else:
            labels.append((place, str(number + 1)))
    return labels


def _inside(values: NDArray[np.floating], limits: tuple[float, float]) -> NDArray[np.bool_]:
    return (values >= limits[0]) & (values <= limits[1])


def _panels_size(fields: xr.Dataset, mesh: Mesh, space: Space) -> tuple[float, float]:
    ratio = height_ratio(mesh, space, of_line=0.7)
    columns = min(NUM_PANELS, fields.sizes["mode"])
    return PANEL_WIDTH * columns + 0.8, 2 * PANEL_WIDTH * ratio + 1.6


def _draw_modes(figure: Figure | SubFigure, fields: xr.Dataset, mesh: Mesh, space: Space) -> None:
    channel = fields[fields.attrs["channel_names"][0]]
    columns = min(NUM_PANELS, fields.sizes["mode"])
    values = channel.values[:, :columns].reshape(2, columns, mesh.num_points)
    units = channel.attrs.get("units", "")
    figure.suptitle(f"{channel.name}: the strongest modes, in a typical state", fontsize=10)
    grid = figure.subplots(2, columns, squeeze=False)
    for column in range(columns):
        pair = values[:, column]
        largest = 1.05 * max(float(np.nanmax(np.abs(pair))), 1e-30)
        drawn = None
        for axes, field in zip(grid[:, column], pair, strict=True):
            if axes is grid[1, column] and not np.nan_to_num(field).any():  # the mode is real
                axes.set_axis_off()
                continue
            drawn = draw_field(
                axes, mesh, field, space, limits=(-largest, largest), colours="RdBu_r"
            )
        grid[0, column].set_title(_title(channel, column), fontsize=9)
        if isinstance(drawn, ScalarMappable):
            bar = figure.colorbar(
                drawn, ax=grid[:, column].tolist(), location="bottom", shrink=0.9, pad=0.02
            )
            bar.set_label("" if units == "1" else units, fontsize=8)
            bar.ax.tick_params(labelsize=7)
            bar.locator = MaxNLocator(3, symmetric=True)
            bar.update_ticks()
    _label_panels(grid, mesh, space, with_units(str(channel.name), units))


def _label_panels(grid: NDArray, mesh: Mesh, space: Space, quantity: str) -> None:
    """Which part each row shows, and what the axes measure."""
    shown = directions(space, mesh)
    told = [with_units(space.names[column], space.units[column]) for column in shown]
    up = quantity if mesh.dim == 1 else told[1]
    for row, part in zip(grid, ("real part", "imaginary part"), strict=True):
        row[0].set_ylabel(f"{part}\n{up}", fontsize=8)
    for column in grid.T:
        lowest = column[1] if column[1].axison else column[0]
        lowest.set_xlabel(told[0], fontsize=8)
    if mesh.dim == 1:
        for axes in grid.flat:
            axes.tick_params(labelsize=7)


def _title(channel: xr.DataArray, column: int) -> str:
    """Number, period and growth rate of a mode."""
    mode = channel.isel(mode=column)
    period = float(mode["period"])
    time = mode["period"].attrs.get("units", "")
    rate = mode["growth_rate"].attrs.get("units", "")
    cycle = f"period {period:.3g} {time}" if np.isfinite(period) else "no oscillation"
    return f"mode {column + 1}\n{cycle.strip()}\ngrowth {float(mode['growth_rate']):.2g} {rate}"
