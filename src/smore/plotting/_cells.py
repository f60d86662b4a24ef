"""A field drawn by the cells of its mesh: where there are none, nothing is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.tri import Triangulation
from numpy.typing import NDArray

from smore.data import Geometry, Mesh, Tessellation, alpha_cells, outline_of, simplices_of

FloatArray = NDArray[np.float64]

# Longitudes and latitudes -> places on a map.
Projection = Callable[[FloatArray, FloatArray], FloatArray]

_shapes: WeakKeyDictionary[Mesh, Tessellation | None] = WeakKeyDictionary()


def cells_to_draw(mesh: Mesh, geometry: Geometry) -> Tessellation | None:
    """The cells of a mesh, else those of the shape that its points have, if any."""
    if mesh.tessellation is not None:
        return mesh.tessellation
    if mesh not in _shapes:
        _shapes[mesh] = alpha_cells(mesh.coords, geometry)
    return _shapes[mesh]


def draw_cells(
    axes: Axes,
    cells: Tessellation,
    values: NDArray[np.floating],
    columns: tuple[int, int],
    *,
    projected: Projection | None,
    style: dict[str, Any],
) -> Artist:
    """Draw values at the nodes, shaded between them, or of the cells, each in its colour.

    Args:
        axes: where.
        cells: plane ones; those of a surface in space as they are seen along the third axis.
        values: (points,); cells with NaN are left out.
        columns: of the coordinates drawn to the right and upwards.
        projected: of longitudes, which have a date line, and latitudes; None elsewhere.
        style: colours and limits.
    """
    places = cells.nodes[:, list(columns)]
    if cells.on_cells:
        polygons, owners = _outlines(cells, places)
        return _draw_polygons(axes, polygons, values[owners], projected, style)
    triangles, _ = simplices_of(cells)
    triangles = triangles[np.isfinite(values[triangles]).all(axis=1)]
    if projected is not None:
        corners = list(places[triangles])
        return _draw_polygons(axes, corners, values[triangles].mean(axis=1), projected, style)
    return draw_triangles(axes, places, triangles, np.nan_to_num(values), style)


def draw_triangles(
    axes: Axes, places: FloatArray, triangles: NDArray, values: NDArray, style: dict[str, Any]
) -> Artist:
    """Shaded triangles between places (points, 2)."""
    if not len(triangles):
        return axes.scatter([], [], c=[], **style)
    shaded = axes.tripcolor(
        Triangulation(places[:, 0], places[:, 1], triangles), values, shading="gouraud", **style
    )
    axes.update_datalim(places)
    axes.autoscale_view()
    return shaded


def _outlines(cells: Tessellation, places: FloatArray) -> tuple[list[FloatArray], NDArray[np.intp]]:
    polygons: list[FloatArray] = []
    owners = []
    for kind, which, nodes in cells.alike():
        polygons += list(places[nodes[:, list(outline_of(kind, nodes.shape[1]))]])
        owners.append(which)
    return polygons, np.concatenate(owners)


def _draw_polygons(
    axes: Axes,
    polygons: list[FloatArray],
    values: NDArray[np.floating],
    projected: Projection | None,
    style: dict[str, Any],
) -> Artist:
    known = np.isfinite(values)
    shown = [each for each, here in zip(polygons, known, strict=True) if here]
    colours = values[known]
    if projected is not None:
        shown, colours = _beside_the_date_line(shown, colours)
        shown = [projected(*polygon.T) for polygon in shown]
    limits = {"cmap": style["cmap"], "clim": (style["vmin"], style["vmax"])}
    # Edges in the colour of the cell: without them the background shines through the seams.
    drawn = PolyCollection(shown, array=colours, edgecolors="face", linewidths=0.2, **limits)
    axes.add_collection(drawn)
    axes.autoscale_view()
    return drawn


def _beside_the_date_line(
    polygons: list[FloatArray], values: NDArray[np.floating]
) -> tuple[list[FloatArray], NDArray[np.floating]]:
    """Cells that reach over the date line, on both sides of the map."""
    shown, colours = [], []
    west = min((float(polygon[:, 0].min()) for polygon in polygons), default=-180.0)
    east = max((float(polygon[:, 0].max()) for polygon in polygons), default=180.0)
    for polygon, value in zip(polygons, values.tolist(), strict=True):
        if np.ptp(polygon[:, 0]) <= 180.0:
            shown.append(polygon)
            colours.append(value)
            continue
        turned = polygon.copy()
        turned[:, 0] += np.where(polygon[:, 0] < (west + east) / 2, 360.0, 0.0)
        for shift in (0.0, -360.0):
            shown.append(np.clip(turned + np.array([shift, 0.0]), [west, -90.0], [east, 90.0]))
            colours.append(value)
    return shown, np.array(colours)
