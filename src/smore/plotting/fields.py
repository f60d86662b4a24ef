"""One field on whatever it lives on."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import NDArray

from smore.data import Mesh, Space
from smore.plotting._cells import cells_to_draw, draw_cells
from smore.plotting._slices import draw_slice
from smore.plotting.colours import Colours
from smore.plotting.ground import Ground

# Fewer scattered points than this are drawn as dots.
FEWEST = 100


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
    return draw_on(axes, Ground(mesh, space), values, Colours(colours, *limits))


def draw_on(axes: Axes, ground: Ground, values: NDArray[np.floating], colours: Colours) -> Artist:
    """`draw_field` on a ground, which may be a map of the globe and have coasts."""
    if ground.is_line:
        ground.prepare_line(axes)
        order = np.argsort(ground.along)
        (line,) = axes.plot(ground.along[order], values[order], linewidth=1)
        low, high = colours.limits
        axes.set_ylim(low, high if high > low else low + 1)
        return line
    ground.prepare(axes)
    drawn = _draw(axes, ground, values, colours)
    ground.finish(axes, colours.ink)
    return drawn


def _draw(axes: Axes, ground: Ground, values: NDArray[np.floating], colours: Colours) -> Artist:
    mesh, geometry = ground.mesh, ground.space.geometry
    style: dict[str, Any] = {"cmap": colours.name, "vmin": colours.low, "vmax": colours.high}
    if mesh.dim == 3:
        return draw_slice(axes, mesh, values, ground.space, style)
    right, up = ground.columns
    if mesh.separable:
        grid = values.reshape(mesh.shape)
        if mesh.coordinate_dims[right] == (mesh.dims[0],):
            grid = grid.T
        if ground.whole:
            return _draw_globe(axes, ground, grid, style)
        return axes.pcolormesh(mesh.axes[right], mesh.axes[up], grid, shading="nearest", **style)
    cells = cells_to_draw(mesh, geometry) if mesh.num_points >= FEWEST else mesh.tessellation
    if cells is None:  # too few points to have a shape
        known = np.isfinite(values)
        places = ground.places(mesh.coords[known])
        return axes.scatter(places[:, 0], places[:, 1], c=values[known], s=14, **style)
    return draw_cells(
        axes,
        cells,
        values,
        (right, up),
        projected=ground.projected if geometry == "sphere" else None,
        style=style,
    )


def _draw_globe(
    axes: Axes, ground: Ground, grid: NDArray[np.floating], style: dict[str, Any]
) -> Artist:
    """A grid of latitudes and longitudes on a map of the globe, cell by cell."""
    right, up = (_edges(ground.mesh.axes[column]) for column in ground.columns)
    right = np.clip(right, ground.middle - 180.0, ground.middle + 180.0)
    corners = ground.projected(*np.meshgrid(right, np.clip(up, -90.0, 90.0)))
    return axes.pcolormesh(corners[..., 0], corners[..., 1], grid, shading="flat", **style)


def _edges(centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where cells end, halfway between their centres."""
    between = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - between[0], 2 * centres[-1] - between[-1]
    return np.concatenate([[first], between, [last]])
