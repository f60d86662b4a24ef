"""How a mesh is shown: as a line, or as pixels that are mixed from the values of its points.

A pixel of a grid has the value of a point. A pixel inside a cell has that of the cell, or is mixed
from the nodes of the simplex around it. Everywhere else, in holes, behind walls, it stays blank.
In space the pixels are those of a plane through the middle of the shortest axis; few points are
shown as they are seen along it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from smore.data import Locator, Mesh, Space, Tessellation, alpha_cells, simplices_of
from smore.plotting import directions, require_drawable, with_units

FloatArray = NDArray[np.float64]

BLANK = -1
# Pixels of a mesh that is no grid, as far as there may be so many.
PIXELS = 16_000
# Fewer scattered points than this have no shape: they are shown as dots.
FEWEST = 100
# Of a dot, as a share of the extent; points this close to a plane are shown with it.
DOT, THICKNESS = 0.02, 0.05
# A pixel without cells belongs to a point no further away than so many of the usual distances
# between points.
REACH = 1.5
# Axes whose steps differ by less than this share are even.
EVEN = 1e-3


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels, from the top left corner row by row, or a line.

    Args:
        shown: (n,) numbers of the points of the mesh that are shown.
        places: (n, 2) where these are, to the right and upwards; (n, 1) on a line.
        labels: names with units of these coordinates.
        extent: left, right, bottom and top of the picture; of a line its ends.
        shape: rows and columns of pixels; None for a line.
        corners: (pixels, k) places in `shown` that a pixel is mixed from; BLANK for none.
        shares: (pixels, k) by which it is, with sum 1.
        plane: of a field in space which part is shown, in words; "" otherwise.
    """

    shown: NDArray[np.intp]
    places: FloatArray
    labels: tuple[str, ...]
    extent: tuple[float, ...]
    shape: tuple[int, int] | None
    corners: NDArray[np.intp]
    shares: FloatArray
    plane: str = ""

    @property
    def is_line(self) -> bool:
        return self.shape is None

    def image(self, values: NDArray[np.floating]) -> FloatArray:
        """(rows, columns) pixels of values (n,); NaN where nothing is known."""
        assert self.shape is not None
        mixed = (np.append(values, np.nan)[self.corners] * self.shares).sum(axis=1)
        return mixed.reshape(self.shape)

    def told_place(self, point: int) -> str:
        """Where a point is, to five digits of the extent."""
        told = []
        for axis, (label, value) in enumerate(zip(self.labels, self.places[point], strict=True)):
            size = max(self.extent[2 * axis + 1] - self.extent[2 * axis], 1e-300)
            digits = min(max(4 - int(np.floor(np.log10(size))), 0), 20)
            told.append(f"{label} {round(float(value), digits):g}")
        return ", ".join(told)


def picture_of(mesh: Mesh, space: Space, most_points: int) -> Picture:
    """A picture of at most so many points.

    Raises:
        DataError: a space of more than three coordinates.
    """
    require_drawable(space)
    columns = directions(space, mesh)
    labels = tuple(with_units(space.names[column], space.units[column]) for column in columns)
    if mesh.dim == 1:
        return _line(mesh, labels, most_points)
    plane = None
    if mesh.dim == 3 and (mesh.separable or mesh.num_points >= FEWEST):
        (axis,) = set(range(3)) - set(columns)
        ends = mesh.reach[:, axis].min(), mesh.reach[:, axis].max()
        # A little off the middle: a plane through nodes is on the border of their cells.
        plane = _Plane(axis, float(ends[0] + 0.5000001 * (ends[1] - ends[0])), float(np.ptp(ends)))
    if mesh.separable:
        return _grid(mesh, space, columns, labels, plane, most_points)
    return _cells(mesh, space, columns, labels, plane, most_points)


@dataclass(frozen=True)
class _Plane:
    """Where a field in space is cut: the axis across it, its place there and the axis' length."""

    axis: int
    height: float
    length: float

    def told(self, space: Space) -> str:
        units = space.units[self.axis]
        return f"{space.names[self.axis]} = {self.height:.3g} {units}".rstrip()


def _line(mesh: Mesh, labels: tuple[str, ...], most_points: int) -> Picture:
    order = np.argsort(mesh.coords[:, 0], kind="stable")
    shown = _thinned(order, most_points)
    places = mesh.coords[shown]
    return Picture(
        shown=shown,
        places=places,
        labels=labels,
        extent=(float(places.min()), float(places.max())),
        shape=None,
        corners=np.empty((0, 1), dtype=np.intp),
        shares=np.empty((0, 1)),
    )


def _thinned(values: NDArray, most: int) -> NDArray:
    return values[:: -(-len(values) // most)]


def _grid(
    mesh: Mesh,
    space: Space,
    columns: list[int],
    labels: tuple[str, ...],
    plane: _Plane | None,
    most_points: int,
) -> Picture:
    """A tensor product of axes, some of the points if there are too many."""
    across, up = columns
    every = max(1, int(np.ceil(np.sqrt(len(mesh.axes[across]) * len(mesh.axes[up]) / most_points))))
    kept = {column: np.arange(0, len(mesh.axes[column]), every) for column in columns}
    if plane is not None:
        place = int(np.argmin(np.abs(mesh.axes[plane.axis] - plane.height)))
        plane = _Plane(plane.axis, float(mesh.axes[plane.axis][place]), plane.length)
        kept[plane.axis] = np.array([place])
    # Numbers of the points, with rows along the upward axis.
    order = [mesh.dims.index(mesh.coordinate_dims[column][0]) for column in range(mesh.dim)]
    numbers = np.arange(mesh.num_points).reshape(mesh.shape).transpose(order)
    numbers = numbers[np.ix_(*(kept[column] for column in range(mesh.dim)))]
    rest = [column for column in range(mesh.dim) if column not in columns]
    numbers = numbers.transpose([*rest, up, across]).reshape(len(kept[up]), len(kept[across]))
    axes = [mesh.axes[column][kept[column]] for column in columns]
    to_right, left, right = _pixel_columns(axes[0])
    upwards, bottom, top = _pixel_columns(axes[1])
    pixels = np.arange(numbers.size).reshape(numbers.shape)[np.ix_(upwards[::-1], to_right)]
    shown = numbers.ravel()
    return Picture(
        shown=shown,
        places=mesh.places(shown)[:, columns],
        labels=labels,
        extent=(left, right, bottom, top),
        shape=(len(upwards), len(to_right)),
        corners=pixels.reshape(-1, 1),
        shares=np.ones((pixels.size, 1)),
        plane="" if plane is None else plane.told(space),
    )


def _pixel_columns(axis: FloatArray) -> tuple[NDArray[np.intp], float, float]:
    """Which entry of an axis each pixel shows, in rising order, and where pixels begin and end."""
    order = np.argsort(axis)
    rising = axis[order]
    steps = np.diff(rising)
    if not len(steps):
        return order, float(rising[0]) - 0.5, float(rising[0]) + 0.5
    low, high = rising[0] - steps[0] / 2, rising[-1] + steps[-1] / 2
    if np.ptp(steps) <= EVEN * steps.mean():
        return order, float(low), float(high)
    count = int(min(4 * len(axis), np.ceil((high - low) / steps.min())))
    middles = low + (np.arange(count) + 0.5) * (high - low) / count
    borders = (rising[1:] + rising[:-1]) / 2
    return order[np.searchsorted(borders, middles)], float(low), float(high)


def _cells(
    mesh: Mesh,
    space: Space,
    columns: list[int],
    labels: tuple[str, ...],
    plane: _Plane | None,
    most_points: int,
) -> Picture:
    """Any other mesh, by its cells or those of its shape; by nearest points where it has none."""
    reach = mesh.coords[:, columns]
    ends = [(float(column.min()), float(column.max())) for column in reach.T]
    (left, right), (bottom, top) = ends
    ratio = float(np.clip((top - bottom) / max(right - left, 1e-300), 0.02, 50.0))
    size = min(PIXELS, most_points)
    width = max(int(np.sqrt(size / ratio)), 2)
    height = max(int(size / width), 2)
    x = left + (np.arange(width) + 0.5) * (right - left) / width
    y = top - (np.arange(height) + 0.5) * (top - bottom) / height
    pixels = np.stack([each.ravel() for each in np.meshgrid(x, y)], axis=1)
    cells, corners = _shape(mesh, space), np.full((len(pixels), 1), BLANK)
    if cells is not None:
        corners, shares = _in_cells(cells, pixels, space, columns, plane)
    if (corners == BLANK).all():  # no cells, or too thin ones
        corners, shares = _near(mesh, pixels, columns, plane)
    if len(np.unique(corners)) > most_points:  # the nearest node alone
        largest = shares.argmax(axis=1)[:, None]
        corners, shares = np.take_along_axis(corners, largest, axis=1), np.ones((len(pixels), 1))
    shown, places = np.unique(corners[corners != BLANK], return_inverse=True)
    inside = np.full(corners.shape, BLANK)
    inside[corners != BLANK] = places
    return Picture(
        shown=shown,
        places=mesh.coords[shown][:, columns],
        labels=labels,
        extent=(left, right, bottom, top),
        shape=(height, width),
        corners=inside,
        shares=shares,
        plane="" if plane is None else plane.told(space),
    )


def _shape(mesh: Mesh, space: Space) -> Tessellation | None:
    """Cells that fill the space, or the sphere; None where there are none."""
    cells = mesh.tessellation
    if cells is None and mesh.num_points >= FEWEST:
        cells = alpha_cells(mesh.coords, space.geometry)
    if cells is None or (space.geometry == "box" and cells.dim != space.dim):
        return None
    if space.dim == 3 and mesh.num_points < FEWEST:  # no plane is cut
        return None
    return cells


def _in_cells(
    cells: Tessellation,
    pixels: FloatArray,
    space: Space,
    columns: list[int],
    plane: _Plane | None,
) -> tuple[NDArray[np.intp], FloatArray]:
    """Points of the mesh behind each pixel, and by which shares."""
    places = np.empty((len(pixels), space.dim))
    places[:, columns] = pixels
    if plane is not None:
        places[:, plane.axis] = plane.height
    simplex, shares = Locator(cells, space.geometry).find(places)
    simplices, owners = simplices_of(cells)
    outside = simplex < 0
    if cells.on_cells:
        return np.where(outside, BLANK, owners[simplex])[:, None], np.ones((len(pixels), 1))
    corners = np.where(outside[:, None], BLANK, simplices[simplex])
    shares = np.clip(shares, 0.0, None)
    total = np.where(outside, 1.0, shares.sum(axis=1))
    return corners, shares / total[:, None]


def _near(
    mesh: Mesh, pixels: FloatArray, columns: list[int], plane: _Plane | None
) -> tuple[NDArray[np.intp], FloatArray]:
    """The nearest point of each pixel, if it is near enough."""
    points = np.arange(mesh.num_points)
    if plane is not None:
        far = np.abs(mesh.coords[:, plane.axis] - plane.height)
        points = points[far <= max(THICKNESS * plane.length, far.min())]
    places = mesh.coords[points][:, columns]
    # In shares of the extent: coordinates may have units of their own.
    size = np.maximum(np.ptp(mesh.coords[:, columns], axis=0), 1e-300)
    tree = cKDTree(places / size)
    reach = DOT
    if len(points) >= FEWEST:
        apart = np.asarray(tree.query(places / size, k=2)[0])[:, 1]
        reach = max(REACH * float(np.median(apart)), DOT / 2)
    _, nearest = tree.query(pixels / size, distance_upper_bound=reach)
    found = np.append(points, BLANK)[nearest]
    return found[:, None], np.ones((len(pixels), 1))
