"""Quadrature weights: ∫ f dx ≈ Σ wᵢ f(xᵢ).

Separable grids get the measure of the cell around each point. Cell edges lie midway between
neighbours, and the outermost cells reach as far outwards as inwards. On a uniform grid all weights
are then equal, which is the spectrally accurate rule for periodic data and the midpoint rule for
cell-centred data. On the sphere a cell is a zone between two latitudes cut by two meridians, with
exact area; a global grid sums to 4π.

Points of an unstructured mesh are weighted by its cells (see `cells.measures`). Scattered points
of data get the cells of an alpha shape between them, and from these their share: no claim is made
about holes and bays wider than a few points. Points that show no shape, and those at which
something is only asked for, get equal weights that sum to the measure of their bounding box (4π on
the sphere). Whoever knows better gives weights.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smore.data.cells import MOST_SHAPED, Tessellation, alpha_cells, cell_centres, point_weights
from smore.data.mesh import Cells, Mesh, is_separable
from smore.data.space import Geometry
from smore.errors import DataError

FloatArray = NDArray[np.float64]


def default_cells(
    axes: tuple[FloatArray, ...],
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    coordinate_dims: tuple[tuple[str, ...], ...],
    geometry: Geometry,
    *,
    shaped: bool = True,
) -> Cells:
    """Factors of the weights of points that fill an array of `dims`, `shape`; see `Mesh`.

    `shaped`: whether scattered points are weighted by the shape that they have.
    """
    if not is_separable(dims, coordinate_dims):
        weights = None
        if shaped:
            weights = _shape_weights(axes, dims, shape, coordinate_dims, geometry)
        if weights is not None:
            return ((dims, weights),)
        measure = _bounding_measure(axes, geometry)
        return (((), np.array(measure / np.prod(shape))),)
    widths = (
        (latitude_cells, longitude_cells) if geometry == "sphere" else (cell_widths,) * len(dims)
    )
    return tuple(
        (along, of(axis)) for along, axis, of in zip(coordinate_dims, axes, widths, strict=True)
    )


def _shape_weights(
    axes: tuple[FloatArray, ...],
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    coordinate_dims: tuple[tuple[str, ...], ...],
    geometry: Geometry,
) -> FloatArray | None:
    """Weights by the alpha shape of the points, if they have one."""
    if np.prod(shape) > MOST_SHAPED:
        return None
    blank: Cells = (((), np.array(1.0)),)
    places = Mesh(axes, blank, dims, shape, coordinate_dims).coords
    cells = alpha_cells(places, geometry)
    return None if cells is None else point_weights(cells, geometry).reshape(shape)


def scattered_mesh(coords: FloatArray, geometry: Geometry) -> Mesh:
    """Points (points, dim) at which something is asked for, all of the same weight."""
    measure = _bounding_measure(tuple(coords.T), geometry)
    return Mesh.scattered(coords, np.full(len(coords), measure / len(coords)))


def tessellated_mesh(cells: Tessellation, geometry: Geometry) -> Mesh:
    """The nodes or the cell centres of an unstructured mesh, weighted by its cells."""
    places = cell_centres(cells, geometry) if cells.on_cells else cells.nodes
    return Mesh.scattered(places, point_weights(cells, geometry), cells)


def with_cells(mesh: Mesh, cells: Tessellation, geometry: Geometry, *, weighted: bool) -> Mesh:
    """Scattered points with the cells they belong to, and if asked for with their weights.

    Raises:
        DataError: cells of other points.
    """
    if cells.num_points != mesh.num_points:
        raise DataError(
            f"expected cells of the {mesh.num_points} points of the data, got some of "
            f"{cells.num_points}; the file may be damaged"
        )
    factors = mesh.cells
    if weighted:
        factors = ((mesh.dims, point_weights(cells, geometry)),)
    return replace(mesh, cells=factors, tessellation=cells)


def _bounding_measure(axes: tuple[FloatArray, ...], geometry: Geometry) -> float:
    if geometry == "sphere":
        return 4.0 * np.pi
    extent = np.array([np.ptp(axis) for axis in axes])
    # Points on a line or plane are measured along it.
    return float(np.prod(extent[extent > 0]))


def cell_widths(axis: FloatArray) -> FloatArray:
    """Width of the cell around each value of `axis` (n,), in any order; 1 for a single value."""
    if len(axis) == 1:
        return np.ones(1)
    return _widths_between(cell_edges, axis)


def latitude_cells(latitudes: FloatArray) -> FloatArray:
    """|sin φ⁺ - sin φ⁻| for the zone around each latitude (n,) in degrees.

    A latitude within one grid step of a pole has a zone that ends at the pole, so that Gaussian
    and equiangular global grids alike sum to 2.
    """
    if len(latitudes) == 1:
        return np.full(1, 2.0)

    def sine_of_edges(ascending: FloatArray) -> FloatArray:
        edges = cell_edges(ascending)
        if ascending[0] - (ascending[1] - ascending[0]) <= -90.0:
            edges[0] = -90.0
        if ascending[-1] + (ascending[-1] - ascending[-2]) >= 90.0:
            edges[-1] = 90.0
        return np.sin(np.deg2rad(np.clip(edges, -90.0, 90.0)))

    return _widths_between(sine_of_edges, latitudes)


def longitude_cells(longitudes: FloatArray) -> FloatArray:
    """Width in radians of the cell around each meridian (n,) in degrees; at most 2π in total.

    A grid that holds both 0° and 360° gives each of them half a cell.
    """
    if len(longitudes) == 1:
        return np.full(1, 2.0 * np.pi)

    def edges_on_circle(ascending: FloatArray) -> FloatArray:
        edges = cell_edges(ascending)
        excess = max(0.0, edges[-1] - edges[0] - 360.0)
        edges[0] += excess / 2
        edges[-1] -= excess / 2
        return np.deg2rad(edges)

    return _widths_between(edges_on_circle, unwrap_longitudes(longitudes))


def unwrap_longitudes(longitudes: FloatArray) -> FloatArray:
    """The same meridians in degrees, without a jump inside the arc that they cover.

    175, 180, -175 become 175, 180, 185: the largest gap between neighbours is the outside of the
    arc. Values without a jump, such as -180 ... 180 with both ends, stay as they are.
    """
    largest_step = np.max(np.diff(np.sort(longitudes)), initial=0.0)
    if largest_step <= 180.0 and np.ptp(longitudes) <= 360.0:
        return longitudes
    ascending = np.unique(longitudes % 360.0)
    gaps = np.diff(ascending, append=ascending[0] + 360.0)
    start = ascending[(np.argmax(gaps) + 1) % len(ascending)]
    return start + (longitudes - start) % 360.0


def cell_edges(ascending: FloatArray) -> FloatArray:
    """Edges (n + 1,) midway between ascending values (n,), the outer ones mirrored outwards."""
    middle = (ascending[1:] + ascending[:-1]) / 2
    outer_left, outer_right = 2 * ascending[0] - middle[0], 2 * ascending[-1] - middle[-1]
    return np.concatenate(([outer_left], middle, [outer_right]))


def _widths_between(edges_of: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    order = np.argsort(values)
    widths = np.empty_like(values)
    widths[order] = np.diff(edges_of(values[order]))
    return widths
