"""What a picture is made of: equal pixels, points of a line, or dots, at which a model is asked.

A decoder is known between the points of its mesh too, so a picture of any mesh has pixels. Where
the training mesh is an even grid these are its points, and the picture shows the forecast itself.
Scattered points that are too few to have a shape are dots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smore.data import BoxMap, Geometry, Locator, Mesh, Tessellation, alpha_cells
from smore.errors import DataError
from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]

# Of a picture that is not of the training grid itself, and of one that is.
NUM_PIXELS, MOST_PIXELS = 2**14, 2**17
NUM_ON_LINE = 512
# Fewer scattered points than this, or more that have no shape, are dots.
FEWEST, MOST_DOTS = 100, 5000
# So far outside the shape of scattered points, in sizes of its faces, is inside.
WALL = 0.1
# Steps of an axis that differ by less than this share are equal.
EVEN = 1e-3


@dataclass(frozen=True, eq=False)
class Canvas:
    """Points of a picture.

    Args:
        mesh: the points.
        pixels: (rows, columns) which point each pixel is, upwards and to the right; on a line
            (points,) in the order of the coordinate; of dots (points,).
        columns: of the coordinates that are drawn: to the right, and upwards if there are two.
        corner: lower ends of what the pixels cover, along `columns`.
        size: how far they reach.
        cut: which coordinate the picture is a slice of, and where; None in fewer dimensions.
        unknown: (points,) outside the shape of the training points, where these have one.
    """

    mesh: Mesh
    pixels: NDArray[np.intp]
    columns: tuple[int, ...]
    corner: FloatArray
    size: FloatArray
    cut: tuple[int, float] | None = None
    unknown: NDArray[np.bool_] | None = None

    @property
    def kind(self) -> Literal["line", "dots", "image"]:
        if len(self.columns) == 1:
            return "line"
        return "dots" if self.pixels.ndim == 1 else "image"

    @cached_property
    def drawn(self) -> FloatArray:
        """(points, 1 or 2) where points of a line or dots are drawn."""
        return self.mesh.coords[self.pixels][:, list(self.columns)]

    def image(self, values: NDArray) -> NDArray:
        """Values (points,) as (rows, columns), or along the line."""
        return values[self.pixels]

    def place(self, drawn: FloatArray, height: float | None = None) -> FloatArray:
        """The point (dim,) that is drawn at `drawn`; of a slice at a height, by default its own.

        Of dots in space, which are seen along one axis, the nearest.
        """
        if self.cut is None and self.mesh.dim > len(self.columns):
            far = np.linalg.norm((self.drawn - drawn) / self.size, axis=1)
            return self.mesh.coords[far.argmin()].copy()
        if self.cut is None:
            found = np.empty(len(self.columns))
            found[list(self.columns)] = drawn
            return found
        axis, own = self.cut
        found = np.empty(3)
        found[[axis, *self.columns]] = [own if height is None else height, *drawn]
        return found


def canvas_of(surrogate: Surrogate, height: float | None = None) -> Canvas:
    """The picture of a model's domain.

    Args:
        surrogate: the model.
        height: where a domain in space is cut; by default in the middle of its shortest axis.

    Raises:
        DataError: more than three coordinates.
    """
    space, mesh = surrogate.description.space, surrogate.mesh
    if space.dim > 3:
        raise DataError(
            f"fields over {space.dim} coordinates ({', '.join(space.names)}) cannot be shown, only "
            "over 1, 2 or 3; use `smore forecast`"
        )
    if space.dim < 3 and mesh is not None and _is_even(mesh):
        return _of_grid(mesh, surrogate)
    if space.dim == 1:
        return _of_line(surrogate)
    if mesh is not None and _has_no_shape(surrogate, mesh):
        return _of_dots(mesh, surrogate)
    lower, upper = domain(surrogate)
    columns, cut = _drawn(surrogate), None
    if space.dim == 3:
        axis = next(column for column in range(3) if column not in columns)
        cut = (axis, float((lower + upper)[axis] / 2) if height is None else height)
    right, up = columns
    extent = upper - lower
    ratio = float(np.clip(extent[up] / extent[right], 0.1, 10.0))
    shape = np.array([(NUM_PIXELS * ratio) ** 0.5, (NUM_PIXELS / ratio) ** 0.5]).round()
    chosen = [up, right]
    return _raster(surrogate, shape.astype(int), lower[chosen], upper[chosen], columns, cut)


def coarser(surrogate: Surrogate, canvas: Canvas, most: int) -> Canvas:
    """The same picture with at most so many pixels."""
    if canvas.kind != "image" or canvas.pixels.size <= most:
        return canvas
    shape = np.array(canvas.pixels.shape) * (most / canvas.pixels.size) ** 0.5
    lower, upper = canvas.corner[::-1], (canvas.corner + canvas.size)[::-1]
    shape = np.maximum(shape.astype(int), 1)
    return _raster(surrogate, shape, lower, upper, canvas.columns, canvas.cut)


def domain(surrogate: Surrogate) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends (dim,) of where the model was trained."""
    place = surrogate.description.coordinate_map
    if isinstance(place, BoxMap):
        return np.array(place.lower), np.array(place.upper)
    return np.array([place.south, place.west]), np.array([place.north, place.east])


def _drawn(surrogate: Surrogate) -> tuple[int, ...]:
    """Columns of the coordinates to the right and upwards."""
    space = surrogate.description.space
    if space.dim == 3:
        lower, upper = domain(surrogate)
        shortest = int(np.argmin(upper - lower))
        return tuple(column for column in range(3) if column != shortest)
    return (1, 0) if space.geometry == "sphere" else tuple(range(space.dim))


def _is_even(mesh: Mesh) -> bool:
    """Whether the points are those of equal pixels, and not too many."""
    steps = [np.diff(axis) for axis in mesh.axes] if mesh.separable else []
    return (
        mesh.separable
        and mesh.num_points <= MOST_PIXELS
        and all(
            len(each) and np.ptp(each) <= EVEN * abs(each.mean()) and each[0] != 0 for each in steps
        )
    )


def _of_grid(mesh: Mesh, surrogate: Surrogate) -> Canvas:
    columns = _drawn(surrogate)
    pixels = np.arange(mesh.num_points).reshape(mesh.shape)
    # Rows upwards, columns to the right, both rising.
    order = [mesh.dims.index(mesh.coordinate_dims[column][0]) for column in reversed(columns)]
    pixels = pixels.transpose(order)
    axes = [mesh.axes[column] for column in columns]
    for place, axis in enumerate(reversed(axes)):
        if axis[0] > axis[-1]:
            pixels = np.flip(pixels, place)
    steps = np.array([abs(axis[-1] - axis[0]) / (len(axis) - 1) for axis in axes])
    corner = np.array([axis.min() for axis in axes]) - steps / 2
    size = steps * np.array([len(axis) for axis in axes])
    return Canvas(mesh, pixels, columns, corner, size)


def _of_line(surrogate: Surrogate) -> Canvas:
    """The training points in order, or even ones where there are too many, or none are known."""
    mesh = surrogate.mesh
    if mesh is None or mesh.num_points > MOST_PIXELS:
        (low,), (high,) = domain(surrogate)
        mesh = _mesh([np.linspace(low, high, NUM_ON_LINE)], (0,))
    order = np.argsort(mesh.coords[:, 0], kind="stable")
    ends = mesh.coords[order[[0, -1]], 0]
    return Canvas(mesh, order, (0,), ends[:1], ends[1:] - ends[:1])


def _has_no_shape(surrogate: Surrogate, mesh: Mesh) -> bool:
    """Whether points are too few, or too much in a line, to say anything between them."""
    if mesh.separable or mesh.tessellation is not None:
        return False
    few = mesh.num_points < FEWEST
    return few or (mesh.num_points <= MOST_DOTS and _shape(surrogate) is None)


def _of_dots(mesh: Mesh, surrogate: Surrogate) -> Canvas:
    columns = _drawn(surrogate)
    lower, upper = (each[list(columns)] for each in domain(surrogate))
    margin = 0.03 * (upper - lower)
    size = upper - lower + 2 * margin
    return Canvas(mesh, np.arange(mesh.num_points), columns, lower - margin, size)


def _raster(
    surrogate: Surrogate,
    shape: NDArray[np.int_],
    lower: FloatArray,
    upper: FloatArray,
    columns: tuple[int, ...],
    cut: tuple[int, float] | None,
) -> Canvas:
    """Pixels (rows, columns) between ends (up, right)."""
    middles = [
        low + (high - low) * (np.arange(count) + 0.5) / count
        for low, high, count in zip(lower, upper, shape, strict=True)
    ]
    right, up = columns
    axes = {up: middles[0], right: middles[1]}
    if cut is not None:
        axes[cut[0]] = np.array([cut[1]])
    along = (*([] if cut is None else [cut[0]]), up, right)
    geometry = surrogate.description.space.geometry
    mesh = _mesh([axes[column] for column in sorted(axes)], along, geometry)
    pixels = np.arange(mesh.num_points).reshape(tuple(shape))
    corner, size = lower[::-1], (upper - lower)[::-1]
    return Canvas(mesh, pixels, columns, corner, size, cut, _outside(surrogate, mesh))


def _mesh(axes: list[FloatArray], order: tuple[int, ...], geometry: Geometry = "box") -> Mesh:
    """A grid whose dimensions are the coordinates in some order; weights are up to a factor."""
    dims = tuple(f"axis{column}" for column in order)
    shape = tuple(len(axes[column]) for column in order)
    coordinate_dims = tuple((f"axis{column}",) for column in range(len(axes)))
    cells: tuple[tuple[tuple[str, ...], FloatArray], ...] = ((dims, np.ones(shape)),)
    if geometry == "sphere":
        cells = (*cells, (coordinate_dims[0], np.cos(np.deg2rad(axes[0]))))
    return Mesh(tuple(axes), cells, dims, shape, coordinate_dims)


def _outside(surrogate: Surrogate, mesh: Mesh) -> NDArray[np.bool_] | None:
    """(points,) which lie in holes and bays of scattered training points that have no cells.

    Of a mesh with cells the model itself knows.
    """
    cells = _shape(surrogate)
    if cells is None:
        return None
    geometry = surrogate.description.space.geometry
    return Locator(cells, geometry).outside(mesh.coords, WALL) > 0


def _shape(surrogate: Surrogate) -> Tessellation | None:
    own = surrogate.mesh
    if own is None or own.separable or own.tessellation is not None:
        return None
    return alpha_cells(own.coords, surrogate.description.space.geometry)
