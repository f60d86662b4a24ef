"""What sensors leave unknown, where they stand, and how random ones compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from smore.analysis import SensorPlan, field_deviation
from smore.data import Channel, Mesh
from smore.plotting.colours import error_colours
from smore.plotting.fields import draw_on
from smore.plotting.ground import SMALL, Ground, with_units
from smore.plotting.panels import add_bar
from smore.plotting.sheet import sheet
from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]

PANEL_WIDTH = 3.4
LINE_SIZE = (6.0, 3.2)


class _Shown(NamedTuple):
    """One kind of sensors: where they are, and what they leave unknown."""

    title: str
    deviation: FloatArray
    sensors: FloatArray


def sensor_figure(
    surrogate: Surrogate, plan: SensorPlan, mesh: Mesh, channels: Sequence[Channel]
) -> Figure:
    """Posterior standard deviation on `mesh` from the plan's sensors and from random ones.

    A row for each of some channels, where it was ever seen; both on one scale.
    """
    ground = Ground.of(mesh, surrogate.description)
    if ground.is_line:
        size = LINE_SIZE[0], LINE_SIZE[1] * len(channels)
        draw, columns = _draw_curves, 1
    else:
        height = PANEL_WIDTH * ground.shape(of_line=1.0) + 0.5
        size = 2 * PANEL_WIDTH + 1.4, height * len(channels) + 0.4
        draw, columns = _draw_maps, 2
    figure = sheet(*size)
    grid = figure.subplots(len(channels), columns, squeeze=False)
    for axes, channel in zip(grid, channels, strict=True):
        draw(figure, axes, ground, _kinds(surrogate, plan, mesh, channel), channel)
    for axes in grid[-1]:
        ground.label_right(axes)
    return figure


def _kinds(surrogate: Surrogate, plan: SensorPlan, mesh: Mesh, channel: Channel) -> list[_Shown]:
    """Placed and random sensors; NaN where the channel was never seen."""
    count = len(plan.coords)
    kinds = {f"{count} placed sensors": plan.coords, f"{count} random sensors": plan.random_coords}
    seen = surrogate.seen_on(mesh)
    number = surrogate.description.channels.index(channel)
    units = "" if channel.units == "1" else channel.units
    shown = []
    for kind, coords in kinds.items():
        deviation = field_deviation(surrogate, coords, plan.variance, channel.name, mesh.coords)
        if seen is not None:
            deviation = np.where(seen[number], deviation, np.nan)
        rms = f"rms {np.sqrt(np.nanmean(deviation**2)):.3g} {units}".rstrip()
        shown.append(_Shown(f"{kind}\n{rms}", deviation, coords))
    return shown


def _draw_curves(
    figure: Figure, row: NDArray, ground: Ground, shown: list[_Shown], channel: Channel
) -> None:
    axes: Axes = row[0]
    ground.prepare_line(axes)
    order = np.argsort(ground.along)
    along = ground.along[order]
    for title, deviation, sensors in shown:
        (line,) = axes.plot(along, deviation[order], linewidth=1, label=title.replace("\n", ": "))
        places = sensors[:, ground.columns[0]]
        at_sensors = np.interp(places, along, deviation[order])
        axes.plot(places, at_sensors, "o", color=line.get_color(), markersize=4)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel(f"standard deviation of\n{_quantity(channel)}", fontsize=SMALL)
    axes.legend(frameon=False, fontsize=SMALL, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def _draw_maps(
    figure: Figure, row: NDArray, ground: Ground, shown: list[_Shown], channel: Channel
) -> None:
    colours = error_colours(np.stack([each.deviation for each in shown]))
    drawn: Any = None
    for axes, (title, deviation, sensors) in zip(row, shown, strict=True):
        drawn = draw_on(axes, ground, deviation, colours)
        places = ground.places(sensors)
        axes.scatter(*places.T, s=14, c="white", edgecolors="black", linewidths=0.6, zorder=3)
        axes.set_title(title, fontsize=9)
    ground.label_up(row[0])
    add_bar(figure, row[-1], drawn, f"standard deviation of\n{_quantity(channel)}")


def _quantity(channel: Channel) -> str:
    return with_units(channel.name, channel.units)
