"""One field on whatever mesh it lives on."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.tri import Triangulation
from numpy.typing import NDArray

from smore.data import Mesh, Space
from smore.errors import DataError


def directions(space: Space) -> list[int]:
    """Columns of the coordinates drawn to the right and upwards: longitude and latitude."""
    if space.dim == 1:
        return [0]
    return [1, 0] if space.geometry == "sphere" else [0, 1]


def height_ratio(mesh: Mesh, space: Space, of_line: float) -> float:
    """Height over width of a panel, within reason; `of_line` in one dimension."""
    if mesh.dim != 2:
        return of_line
    across, up = np.ptp(mesh.coords, axis=0)[directions(space)]
    return float(np.clip(up / across, 0.3, 1.5))


def with_units(name: str, units: str) -> str:
    """A quantity and its units in brackets; nothing for those that are unknown, or no units."""
    return f"{name} ({units})" if units not in ("", "1") else name


def draw_field(
    axes: Axes,
    mesh: Mesh,
    values: NDArray[np.floating],
    space: Space,
    *,
    limits: tuple[float, float],
    colours: str,
) -> Artist:
    """Draw `values` (points,): a line in one dimension, coloured cells or dots in two.

    On a sphere longitude runs to the right and latitude upwards.
    """
    if mesh.dim == 1:
        order = np.argsort(mesh.coords[:, 0])
        (line,) = axes.plot(mesh.coords[order, 0], values[order], linewidth=1)
        axes.set_ylim(limits[0], limits[1] if limits[1] > limits[0] else limits[0] + 1)
        return line
    if mesh.dim != 2:
        raise DataError(f"fields over {mesh.dim} coordinates cannot be drawn yet, only over 1 or 2")
    across, up = directions(space)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal")
    axes.set_facecolor("0.8")  # shows where nothing is known
    style: dict[str, Any] = {"cmap": colours, "vmin": limits[0], "vmax": limits[1]}
    if mesh.separable:
        grid = values.reshape(mesh.shape)
        if mesh.coordinate_dims[across] == (mesh.dims[0],):
            grid = grid.T
        return axes.pcolormesh(mesh.axes[across], mesh.axes[up], grid, shading="nearest", **style)
    known = np.isfinite(values)
    x, y, values = mesh.coords[known, across], mesh.coords[known, up], values[known]
    if len(values) < 100 or len(values) < len(known):  # too few, or with holes: no triangles
        return axes.scatter(x, y, c=values, s=14, **style)
    return axes.tripcolor(Triangulation(x, y), values, shading="gouraud", **style)
