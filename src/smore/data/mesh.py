"""The points on which a field is known, and the array they came from."""

from __future__ import annotations

import hashlib
from collections import abc
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smore.data.cells import Tessellation

POINT = "point"

FloatArray = NDArray[np.float64]
Points = slice | NDArray[np.integer]
# Factors of the quadrature weights: the dimensions along which each varies, and its values.
Cells = tuple[tuple[tuple[str, ...], FloatArray], ...]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of `array` through which it cannot be written to; the array itself stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class Mesh:
    """Points with quadrature weights, in the C order of the array dimensions they came from.

    The engine only ever sees coordinates and weights of some points; `dims`, `shape` and
    `coordinate_dims` are there to put a field back on its grid:

    ==============  =================  ============================
    points          dims               coordinate_dims
    ==============  =================  ============================
    scattered       ("point",)         (("point",), ("point",))
    separable grid  ("y", "x")         (("x",), ("y",))
    curvilinear     ("y", "x")         (("y", "x"), ("y", "x"))
    ==============  =================  ============================

    A grid of millions of points is held as its few axes. `coords` and `weights` write all points
    out and keep them; `places` and `measures` give those of some points only.

    Attributes:
        axes: for each coordinate its values over `coordinate_dims`, float64, read-only.
        cells: factors whose product is the quadrature weight of a point.
        dims: names of the array dimensions that the points run over.
        shape: their sizes; their product is the number of points.
        coordinate_dims: for each coordinate, the dimensions along which it varies.
        tessellation: the cells of an unstructured mesh, where they are known.
    """

    axes: tuple[FloatArray, ...] = field(repr=False)
    cells: Cells = field(repr=False)
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    coordinate_dims: tuple[tuple[str, ...], ...]
    tessellation: Tessellation | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        assert self.tessellation is None or self.tessellation.num_points == self.num_points
        sizes = dict(zip(self.dims, self.shape, strict=True))
        parts = [*zip(self.coordinate_dims, self.axes, strict=True), *self.cells]
        assert all(values.shape == tuple(sizes[dim] for dim in along) for along, values in parts)
        object.__setattr__(self, "axes", tuple(map(read_only, self.axes)))

    @classmethod
    def of(
        cls,
        coords: FloatArray,
        weights: FloatArray,
        dims: tuple[str, ...],
        shape: tuple[int, ...],
        coordinate_dims: tuple[tuple[str, ...], ...],
        tessellation: Tessellation | None = None,
    ) -> Mesh:
        """A mesh of points (points, dim) with weights (points,) that are all written out."""
        axes = tuple(
            values_along(along, column, dims, shape)
            for along, column in zip(coordinate_dims, coords.T, strict=True)
        )
        cells = ((dims, weights.reshape(shape)),)
        mesh = cls(axes, cells, dims, shape, coordinate_dims, tessellation)
        vars(mesh).update(coords=read_only(coords), weights=read_only(weights))
        return mesh

    @classmethod
    def scattered(
        cls, coords: FloatArray, weights: FloatArray, tessellation: Tessellation | None = None
    ) -> Mesh:
        """A mesh of points (points, dim) along one dimension, with or without cells."""
        num_points, dim = coords.shape
        along = ((POINT,),) * dim
        return cls.of(coords, weights, (POINT,), (num_points,), along, tessellation)

    @cached_property
    def coords(self) -> FloatArray:
        """(points, dim) coordinates of all points, read-only."""
        return read_only(self.places(slice(None)))

    @cached_property
    def weights(self) -> FloatArray:
        """(points,) of all points, read-only; sum(weights * f) approximates the integral of f."""
        return read_only(self.measures(slice(None)))

    def places(self, points: Points) -> FloatArray:
        """Coordinates (some, dim) of some points."""
        if "coords" in vars(self):
            return self.coords[points]
        index = self._index(points)
        result = np.empty((len(index[self.dims[0]]), self.dim))
        for column, along, values in zip(result.T, self.coordinate_dims, self.axes, strict=True):
            column[:] = values[tuple(index[dim] for dim in along)]
        return result

    def measures(self, points: Points) -> FloatArray:
        """Quadrature weights (some,) of some points."""
        if "weights" in vars(self):
            return self.weights[points]
        index = self._index(points)
        result = np.ones(len(index[self.dims[0]]))
        for along, values in self.cells:
            result *= values[tuple(index[dim] for dim in along)]
        return result

    def _index(self, points: Points) -> dict[str, NDArray[np.intp]]:
        """Where some points are along each dimension."""
        if isinstance(points, slice):
            points = np.arange(*points.indices(self.num_points))
        return dict(zip(self.dims, np.unravel_index(points, self.shape), strict=True))

    @property
    def num_points(self) -> int:
        return int(np.prod(self.shape))

    @property
    def dim(self) -> int:
        return len(self.axes)

    @property
    def separable(self) -> bool:
        """Whether the points are a tensor product, each coordinate along its own dimension."""
        return is_separable(self.dims, self.coordinate_dims)

    @property
    def reach(self) -> FloatArray:
        """(some, dim): every value that each coordinate takes, paired with any of the others.

        All that one needs to know about where the points end; of a grid it is little.
        """
        if not self.separable:
            return self.coords
        longest = max(map(len, self.axes))
        return np.stack([np.resize(axis, longest) for axis in self.axes], axis=1)

    @property
    def surely_distinct(self) -> bool:
        """Whether the axes alone show that no two points are in the same place."""
        return self.separable and all(len(np.unique(axis)) == len(axis) for axis in self.axes)

    def subset(self, index: ArrayLike) -> Mesh:
        """The scattered points `index` with the weights they have here."""
        chosen = np.asarray(index)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        return Mesh.scattered(self.places(chosen), self.measures(chosen))

    def columns(self, order: abc.Sequence[int]) -> Mesh:
        """The same points with their coordinates in another order."""
        along = tuple(self.coordinate_dims[column] for column in order)
        return replace(
            self,
            axes=tuple(self.axes[column] for column in order),
            coordinate_dims=along,
            tessellation=self.tessellation and self.tessellation.columns(order),
        )

    def same_points(self, other: Mesh) -> bool:
        """Whether `other` has these points in this order, however they are held and weighted."""
        return self is other or (
            self.num_points == other.num_points and np.array_equal(self.coords, other.coords)
        )

    @cached_property
    def digest(self) -> str:
        """A text that tells other points and weights from these."""
        digest = hashlib.sha256(repr((self.dims, self.shape, self.coordinate_dims)).encode())
        for values in (*self.axes, *(factor for _, factor in self.cells)):
            digest.update(np.ascontiguousarray(values).data)
        if self.tessellation is not None:
            digest.update(self.tessellation.digest.encode())
        return digest.hexdigest()


def shared_meshes(meshes: abc.Iterable[Mesh]) -> list[Mesh]:
    """The same meshes, with one object in place of all that are equal."""
    first: dict[str, Mesh] = {}
    return [first.setdefault(mesh.digest, mesh) for mesh in meshes]


def is_separable(dims: tuple[str, ...], coordinate_dims: tuple[tuple[str, ...], ...]) -> bool:
    """Whether each coordinate varies along a dimension of its own, and together along all.

    One dimension with one coordinate is separable too: a grid on a line.
    """
    along = [name for names in coordinate_dims for name in names]
    return all(len(names) == 1 for names in coordinate_dims) and sorted(along) == sorted(dims)


def values_along(
    along: tuple[str, ...], values: NDArray[Any], dims: tuple[str, ...], shape: tuple[int, ...]
) -> NDArray[Any]:
    """An array over `along` from `values` (points,), which vary along those of `dims` only."""
    kept = [name for name in dims if name in along]
    at_origin = tuple(slice(None) if name in along else 0 for name in dims)
    return values.reshape(shape)[at_origin].transpose([kept.index(name) for name in along])
