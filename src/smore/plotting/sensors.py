"""What sensors leave unknown, where they stand, and how random ones compare."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from numpy.typing import NDArray

from smore.analysis import SensorPlan, field_deviation
from smore.data import Mesh, Space
from smore.plotting.fields import (
    directions,
    draw_field,
    height_ratio,
    require_drawable,
    with_units,
)
from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]

PANEL_WIDTH = 3.4
LINE_SIZE = (6.0, 3.4)


class _Shown(NamedTuple):
    """One kind of sensors: where they are, and what they leave unknown."""

    title: str
    deviation: FloatArray
    sensors: FloatArray


def sensor_figure(surrogate: Surrogate, plan: SensorPlan, mesh: Mesh) -> Figure:
    """Posterior standard deviation on `mesh` from the plan's sensors and from random ones.

    Of the field of the first channel that they measure, where it was ever seen; both on one scale.
    """
    description = surrogate.description
    require_drawable(description.space)
    channel = next(each for each in description.channels if each.name == plan.channels[0])
    units = "" if channel.units == "1" else channel.units
    label = with_units(f"standard deviation of {channel.name}", units)
    count = len(plan.coords)
    kinds = {f"{count} placed sensors": plan.coords, f"{count} random sensors": plan.random_coords}
    sensors = [_near(mesh, coords, description.space) for coords in kinds.values()]
    deviations = [
        field_deviation(surrogate, coords, plan.variance, channel.name, mesh.coords)
        for coords in kinds.values()
    ]
    seen = surrogate.seen_on(mesh)
    if seen is not None:
        number = description.channels.index(channel)
        deviations = [np.where(seen[number], each, np.nan) for each in deviations]
    titles = [
        f"{kind}\nrms {np.sqrt(np.nanmean(deviation**2)):.3g} {units}".rstrip()
        for kind, deviation in zip(kinds, deviations, strict=True)
    ]
    draw = _lines if mesh.dim == 1 else _maps
    shown = list(map(_Shown, titles, deviations, sensors))
    return draw(mesh, description.space, shown, label)


def _near(mesh: Mesh, sensors: FloatArray, space: Space) -> FloatArray:
    """The same places, on a sphere with longitudes as the mesh tells them."""
    if space.geometry != "sphere":
        return sensors
    middle = (mesh.coords[:, 1].min() + mesh.coords[:, 1].max()) / 2
    longitudes = middle + (sensors[:, 1] - middle + 180.0) % 360.0 - 180.0
    return np.column_stack([sensors[:, 0], longitudes])


def _lines(mesh: Mesh, space: Space, shown: list[_Shown], label: str) -> Figure:
    figure = Figure(figsize=LINE_SIZE, layout="constrained")
    axes = figure.subplots()
    order = np.argsort(mesh.coords[:, 0])
    along = mesh.coords[order, 0]
    for title, deviation, places in shown:
        (line,) = axes.plot(along, deviation[order], linewidth=1, label=title.replace("\n", ": "))
        at_sensors = np.interp(places[:, 0], along, deviation[order])
        axes.plot(places[:, 0], at_sensors, "o", color=line.get_color(), markersize=4)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(with_units(space.names[0], space.units[0]))
    axes.set_ylabel(label)
    axes.legend(frameon=False, fontsize=8)
    return figure


def _maps(mesh: Mesh, space: Space, shown: list[_Shown], label: str) -> Figure:
    across, up = directions(space, mesh)
    height = PANEL_WIDTH * height_ratio(mesh, space, of_line=1.0)
    figure = Figure(figsize=(2 * PANEL_WIDTH + 1.0, height + 0.9), layout="constrained")
    told = list(map(with_units, space.names, space.units))
    panels: list[Axes] = list(figure.subplots(1, 2))
    largest = max(float(np.nanmax([each.deviation for each in shown])), 1e-30)
    drawn = None
    for axes, (title, deviation, places) in zip(panels, shown, strict=True):
        drawn = draw_field(axes, mesh, deviation, space, limits=(0.0, largest), colours="magma")
        axes.scatter(
            places[:, across], places[:, up], s=14, c="white", edgecolors="black", linewidths=0.6
        )
        axes.set_title(title, fontsize=9)
        axes.set_xlabel(told[across], fontsize=8)
    panels[0].set_ylabel(told[up], fontsize=8)
    if isinstance(drawn, ScalarMappable):
        bar = figure.colorbar(drawn, ax=panels, shrink=0.85, pad=0.01)
        bar.set_label(label, fontsize=8)
    return figure
