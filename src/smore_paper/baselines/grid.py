"""The one grid on which a network that works on images is trained and asked."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smore.data import Geometry, Mesh, Timeline, Trajectories, fit_coordinate_map
from smore.errors import DataError


@dataclass(frozen=True, eq=False)
class Grid:
    """A separable two-dimensional grid that all sequences share.

    Images have the first coordinate along their rows, whatever the order of the data's dimensions:
    on a sphere rows are latitudes and columns longitudes.

    Attributes:
        mesh: its points.
        geometry: "box" or "sphere".
        places: (points, dim) float32, what a network is told about places: a box mapped to
            [0, 0.5]², a sphere to unit vectors, as for SMORE's decoder.
    """

    mesh: Mesh
    geometry: Geometry
    places: NDArray[np.float32] = field(repr=False)

    @classmethod
    def of(cls, trajectories: Trajectories) -> Grid:
        """The grid of `trajectories`.

        Raises:
            DataError: their points are not one separable grid in two dimensions.
        """
        mesh = trajectories.sequences[0].mesh
        if any(sequence.mesh is not mesh for sequence in trajectories):
            raise DataError(
                "expected all sequences on one grid, got several; this network works on one fixed "
                "grid: interpolate the data to a common one, or use SMORE, which needs none"
            )
        if mesh.dim != 2 or not mesh.separable:
            raise DataError(
                "expected a grid with one coordinate along each of two dimensions, got "
                f"coordinates along {mesh.coordinate_dims} of {mesh.dims}; this network works on "
                "such a grid only: interpolate the data to one, or use SMORE, which needs none"
            )
        places = fit_coordinate_map(trajectories)(mesh.coords).astype(np.float32)
        return cls(mesh, trajectories.space.geometry, places)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of an image."""
        rows, columns = (self.mesh.shape[self.mesh.dims.index(name)] for name in self._names)
        return rows, columns

    @property
    def coordinates(self) -> NDArray[np.float32]:
        """`places` as an image, (dim, rows, columns)."""
        return self.images(self.places.T)

    def images(self, values: NDArray) -> NDArray:
        """(..., points) -> (..., rows, columns)."""
        images = values.reshape(*values.shape[:-1], *self.mesh.shape)
        return images if self.mesh.dims == self._names else images.swapaxes(-1, -2)

    def points(self, images: NDArray) -> NDArray:
        """(..., rows, columns) -> (..., points)."""
        if self.mesh.dims != self._names:
            images = images.swapaxes(-1, -2)
        return images.reshape(*images.shape[:-2], -1)

    def require_same(self, trajectories: Trajectories) -> None:
        """Refuse (DataError) trajectories on other points than those of this grid."""
        other = Grid.of(trajectories).mesh
        if other.shape != self.mesh.shape or not np.array_equal(other.coords, self.mesh.coords):
            raise DataError(
                f"expected the {self.mesh.shape} grid of the training data, got other points on "
                f"{other.shape}; interpolate the data to the grid of the training data"
            )

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for (name,) in self.mesh.coordinate_dims)


def windows(trajectories: Trajectories) -> NDArray[np.floating]:
    """(sequences, times, channels, points), as a network that makes equal steps needs them.

    Raises:
        DataError: missing values, windows of different length or of a single snapshot, or steps
            that differ.
    """
    require_complete(trajectories)
    lengths = {sequence.num_snapshots for sequence in trajectories}
    if len(lengths) > 1 or lengths == {1}:
        raise DataError(
            "expected training windows of the same number of snapshots, at least two, got "
            f"{sorted(lengths)}; use cut or leading"
        )
    if not Timeline.of(trajectories).uniform:
        raise DataError(
            "expected the same time step everywhere, got steps that differ; this network learns "
            "one step: resample the data in time, or use SMORE, which takes any steps"
        )
    return np.stack([sequence.fields for sequence in trajectories])


def require_complete(trajectories: Trajectories) -> None:
    """Refuse (DataError) fields with values that were not observed."""
    for number, sequence in enumerate(trajectories):
        if sequence.observed is not None and not sequence.observed.all():
            raise DataError(
                f"expected a value at every grid point, got missing values in sequence {number}; "
                "fill them in, or use SMORE, which needs no complete fields"
            )
