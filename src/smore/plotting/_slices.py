"""A field in space, drawn where a plane cuts it."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import NDArray

from smore.data import Mesh, Space, Tessellation, simplices_of
from smore.plotting._cells import cells_to_draw, draw_cells, draw_triangles

FloatArray = NDArray[np.float64]

# Points this close to the plane, as a share of the extent, are shown where there are no cells.
THICKNESS = 0.05


def across(mesh: Mesh) -> int:
    """The axis that is cut: the one along which the mesh is shortest."""
    return int(np.argmin(np.ptp(mesh.reach, axis=0)))


def draw_slice(
    axes: Axes, mesh: Mesh, values: NDArray[np.floating], space: Space, style: dict[str, Any]
) -> Artist:
    """Draw `values` (points,) on the plane through the middle of the shortest axis."""
    axis = across(mesh)
    right, up = (column for column in range(3) if column != axis)
    ends = mesh.reach[:, axis].min(), mesh.reach[:, axis].max()
    # A little off the middle: a plane through nodes cuts their cells in nothing.
    height = float(ends[0] + 0.5000001 * (ends[1] - ends[0]))
    cells = None if mesh.separable else cells_to_draw(mesh, space.geometry)
    if mesh.separable:
        drawn, height = _grid(axes, mesh, values, (axis, right, up), height, style)
    elif cells is not None and cells.dim == 3:
        drawn = _cut(axes, cells, values, (axis, right, up), height, style)
    elif cells is not None:
        return draw_cells(axes, cells, values, (right, up), projected=None, style=style)
    else:
        near = np.abs(mesh.coords[:, axis] - height) <= THICKNESS * (ends[1] - ends[0])
        near &= np.isfinite(values)
        x, y = mesh.coords[near][:, [right, up]].T
        drawn = axes.scatter(x, y, c=values[near], s=6, **style)
    told = f"{space.names[axis]} = {height:.3g} {space.units[axis]}".rstrip()
    axes.text(0.02, 0.02, told, transform=axes.transAxes, fontsize=6, color="0.25")
    return drawn


def _grid(
    axes: Axes,
    mesh: Mesh,
    values: NDArray[np.floating],
    columns: tuple[int, int, int],
    height: float,
    style: dict[str, Any],
) -> tuple[Artist, float]:
    axis, right, up = columns
    place = int(np.argmin(np.abs(mesh.axes[axis] - height)))
    order = [mesh.dims.index(mesh.coordinate_dims[column][0]) for column in (axis, up, right)]
    plane = values.reshape(mesh.shape).transpose(order)[place]
    drawn = axes.pcolormesh(mesh.axes[right], mesh.axes[up], plane, shading="nearest", **style)
    return drawn, float(mesh.axes[axis][place])


def _cut(
    axes: Axes,
    cells: Tessellation,
    values: NDArray[np.floating],
    columns: tuple[int, int, int],
    height: float,
    style: dict[str, Any],
) -> Artist:
    axis, right, up = columns
    simplices, owners = simplices_of(cells)
    known = values[owners] if cells.on_cells else values[simplices].sum(axis=1)
    simplices, owners = simplices[np.isfinite(known)], owners[np.isfinite(known)]
    above = cells.nodes[simplices, axis] > height
    corners = []
    which = []
    for pattern, triangles in _CUTS.items():
        here = np.flatnonzero((above == np.array(pattern)).all(axis=1))
        for triangle in triangles:
            corners.append(simplices[here][:, list(triangle)])  # (n, 3, 2) ends of edges
            which.append(here)
    ends, where = np.concatenate(corners), np.concatenate(which)
    levels = cells.nodes[ends, axis]
    share = (height - levels[..., 0]) / (levels[..., 1] - levels[..., 0])
    low, high = (cells.nodes[ends[..., end]][..., [right, up]] for end in (0, 1))
    places = (low + share[..., None] * (high - low)).reshape(-1, 2)
    if cells.on_cells:
        shown = np.repeat(values[owners[where]], 3)
    else:
        first, second = values[ends[..., 0]], values[ends[..., 1]]
        shown = (first + share * (second - first)).ravel()
    return draw_triangles(axes, places, np.arange(len(places)).reshape(-1, 3), shown, style)


def _triangles_of(pattern: tuple[bool, ...]) -> list[tuple[tuple[int, int], ...]]:
    """The triangles in which a plane cuts a tetrahedron, by the edges their corners are on."""
    upper = [corner for corner in range(4) if pattern[corner]]
    lower = [corner for corner in range(4) if not pattern[corner]]
    if len(upper) == 2:
        (a, b), (c, d) = upper, lower
        return [((a, c), (a, d), (b, d)), ((a, c), (b, d), (b, c))]
    alone, others = (upper, lower) if len(upper) == 1 else (lower, upper)
    return [tuple((alone[0], other) for other in others)]


_CUTS = {
    pattern: _triangles_of(pattern)
    for pattern in (tuple(bool(bits >> k & 1) for k in range(4)) for bits in range(1, 15))
}
