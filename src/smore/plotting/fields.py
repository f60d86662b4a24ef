"""One field on whatever mesh it lives on."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import NDArray

from smore.data import Mesh, Space
from smore.errors import DataError
from smore.plotting._cells import cells_to_draw, draw_cells
from smore.plotting._slices import across, draw_slice

# Fewer scattered points than this are drawn as dots.
FEWEST = 100


def directions(space: Space, mesh: Mesh) -> list[int]:
    """Columns of the coordinates drawn to the right and upwards: longitude and latitude.

    In space those of the plane in which `draw_field` cuts the mesh.
    """
    if space.dim == 1:
        return [0]
    if space.dim == 3:
        return [column for column in range(3) if column != across(mesh)]
    return [1, 0] if space.geometry == "sphere" else [0, 1]


def height_ratio(mesh: Mesh, space: Space, of_line: float) -> float:
    """Height over width of a panel, within reason; `of_line` in one dimension."""
    if mesh.dim not in (2, 3):
        return of_line
    width, height = np.ptp(mesh.reach, axis=0)[directions(space, mesh)]
    return float(np.clip(height / width, 0.3, 1.5))


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
    """Draw `values` (points,): a line in one dimension, coloured cells in two, a slice in three.

    Where a mesh has no cells, in holes, behind walls, on land, nothing is drawn. On a sphere
    longitude runs to the right and latitude upwards.
    """
    if mesh.dim == 1:
        order = np.argsort(mesh.coords[:, 0])
        (line,) = axes.plot(mesh.coords[order, 0], values[order], linewidth=1)
        axes.set_ylim(limits[0], limits[1] if limits[1] > limits[0] else limits[0] + 1)
        return line
    require_drawable(space)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal")
    axes.set_facecolor("0.8")  # shows where nothing is known
    axes.margins(0.02)
    # Of all points, known or not: panels of one mesh show the same part of space.
    axes.update_datalim(mesh.reach[:, directions(space, mesh)])
    style: dict[str, Any] = {"cmap": colours, "vmin": limits[0], "vmax": limits[1]}
    if mesh.dim == 3:
        return draw_slice(axes, mesh, values, space, style)
    right, up = directions(space, mesh)
    if mesh.separable:
        grid = values.reshape(mesh.shape)
        if mesh.coordinate_dims[right] == (mesh.dims[0],):
            grid = grid.T
        return axes.pcolormesh(mesh.axes[right], mesh.axes[up], grid, shading="nearest", **style)
    cells = cells_to_draw(mesh, space.geometry) if mesh.num_points >= FEWEST else mesh.tessellation
    if cells is None:  # too few points to have a shape
        known = np.isfinite(values)
        places = mesh.coords[known]
        return axes.scatter(places[:, right], places[:, up], c=values[known], s=14, **style)
    on_sphere = space.geometry == "sphere"
    return draw_cells(axes, cells, values, (right, up), on_sphere=on_sphere, style=style)


def require_drawable(space: Space) -> None:
    """Refuse a space that no figure shows."""
    if space.dim > 3:
        raise DataError(
            f"fields over {space.dim} coordinates ({', '.join(space.names)}) cannot be drawn, only "
            "over 1, 2 or 3; leave out the figure"
        )
