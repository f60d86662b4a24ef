"""The points on which a field is known, and the array they came from."""

from __future__ import annotations

import hashlib
from collections import abc
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

POINT = "point"


def read_only(array: NDArray) -> NDArray:
    """A view of `array` through which it cannot be written to; the array itself stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class Mesh:
    """Points with quadrature weights, in the C order of the array dimensions they came from.

    The engine only ever sees `coords` and `weights`; `dims`, `shape` and `coordinate_dims` are
    there to put a field back on its grid:

    ==============  =================  ============================
    points          dims               coordinate_dims
    ==============  =================  ============================
    scattered       ("point",)         (("point",), ("point",))
    separable grid  ("y", "x")         (("x",), ("y",))
    curvilinear     ("y", "x")         (("y", "x"), ("y", "x"))
    ==============  =================  ============================

    Attributes:
        coords: (points, dim) float64, read-only.
        weights: (points,) float64, read-only; sum(weights * f) approximates the integral of f.
        dims: names of the array dimensions that the points run over.
        shape: their sizes; their product is the number of points.
        coordinate_dims: for each column of `coords`, the dimensions along which it varies.
    """

    coords: NDArray[np.float64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    coordinate_dims: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        assert self.coords.shape == (int(np.prod(self.shape)), len(self.coordinate_dims))
        assert self.weights.shape == (self.num_points,)
        object.__setattr__(self, "coords", read_only(self.coords))
        object.__setattr__(self, "weights", read_only(self.weights))

    @classmethod
    def scattered(cls, coords: NDArray[np.float64], weights: NDArray[np.float64]) -> Mesh:
        """A mesh of points (points, dim) without structure."""
        num_points, dim = coords.shape
        return cls(coords, weights, (POINT,), (num_points,), ((POINT,),) * dim)

    @property
    def num_points(self) -> int:
        return len(self.coords)

    @property
    def dim(self) -> int:
        return self.coords.shape[1]

    @property
    def separable(self) -> bool:
        """Whether the points are a tensor product, each coordinate along its own dimension."""
        return is_separable(self.dims, self.coordinate_dims)

    def subset(self, index: ArrayLike) -> Mesh:
        """The scattered points `coords[index]` with the weights they have here."""
        index = np.asarray(index)
        return Mesh.scattered(self.coords[index], self.weights[index])

    def columns(self, order: abc.Sequence[int]) -> Mesh:
        """The same points with their coordinates in another order."""
        along = tuple(self.coordinate_dims[column] for column in order)
        return replace(self, coords=self.coords[:, order], coordinate_dims=along)

    def axis(self, coordinate: int) -> NDArray[np.float64]:
        """Values of one coordinate along `coordinate_dims[coordinate]` only."""
        along = self.coordinate_dims[coordinate]
        return values_along(along, self.coords[:, coordinate], self.dims, self.shape)


def shared_meshes(meshes: abc.Iterable[Mesh]) -> list[Mesh]:
    """The same meshes, with one object in place of all that are equal."""
    first: dict[tuple, Mesh] = {}
    return [first.setdefault(_identity(mesh), mesh) for mesh in meshes]


def _identity(mesh: Mesh) -> tuple:
    digest = hashlib.sha256(mesh.coords.tobytes() + mesh.weights.tobytes()).digest()
    return mesh.dims, mesh.shape, mesh.coordinate_dims, digest


def is_separable(dims: tuple[str, ...], coordinate_dims: tuple[tuple[str, ...], ...]) -> bool:
    """Whether each coordinate varies along a dimension of its own, and together along all.

    One dimension with one coordinate is separable too: a grid on a line.
    """
    along = [name for names in coordinate_dims for name in names]
    return all(len(names) == 1 for names in coordinate_dims) and sorted(along) == sorted(dims)


def values_along(
    along: tuple[str, ...], values: NDArray, dims: tuple[str, ...], shape: tuple[int, ...]
) -> NDArray:
    """An array over `along` from `values` (points,), which vary along those of `dims` only."""
    kept = [name for name in dims if name in along]
    at_origin = tuple(slice(None) if name in along else 0 for name in dims)
    return values.reshape(shape)[at_origin].transpose([kept.index(name) for name in along])
