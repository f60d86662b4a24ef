"""Where a model knows anything: in the cells of its training mesh, and not on land."""

from __future__ import annotations

import warnings
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from smore.data import CoordinateMap, Locator, Mesh, Space
from smore.errors import OutsideDomainWarning

FloatArray = NDArray[np.float64]

# Another mesh of the same domain follows a curved wall otherwise: so far outside, in sizes of the
# faces of the wall, is inside.
WALL = 0.1
POINTS_AT_ONCE = 2**18


class Domain:
    """The part of space that the training data covered.

    Args:
        mesh: the training mesh, if there is one.
        seen: (channels, points) at which some snapshot has a value; None for all.
        num_channels: how many there are.
        coordinate_map: to the decoder's coordinates, in which nearest points are found.
        space: what the coordinates are.
    """

    def __init__(
        self,
        mesh: Mesh | None,
        seen: NDArray[np.bool_] | None,
        num_channels: int,
        coordinate_map: CoordinateMap,
        space: Space,
    ) -> None:
        self.mesh, self.seen, self.num_channels = mesh, seen, num_channels
        self.coordinate_map, self.space = coordinate_map, space
        self._outside: WeakKeyDictionary[Mesh, FloatArray] = WeakKeyDictionary()

    def known_on(self, mesh: Mesh) -> NDArray[np.bool_] | None:
        """(channels, points) where something is known on `mesh`; None for everywhere.

        On the training mesh: where a channel was ever observed. Elsewhere: inside its cells, if it
        has any, and where the nearest point of it was observed.
        """
        if self.mesh is None or self.mesh.same_points(mesh):
            return self.seen
        inside = self.outside(mesh) == 0
        if self.seen is None and inside.all():
            return None
        known = np.broadcast_to(inside, (self.num_channels, mesh.num_points)).copy()
        if self.seen is not None:
            for points in _pieces(mesh.num_points):
                places = self.coordinate_map(mesh.places(points))
                known[:, points] &= self.seen[:, self._nearest.query(places)[1]]
        return known

    def outside(self, mesh: Mesh) -> FloatArray:
        """(points,) how far each point is from the cells of the training mesh, 0 inside."""
        if self._locator is None or self.mesh is None or self.mesh.same_points(mesh):
            return np.zeros(mesh.num_points)
        if mesh not in self._outside:
            parts = [
                self._locator.outside(mesh.places(points), WALL)
                for points in _pieces(mesh.num_points)
            ]
            self._outside[mesh] = np.concatenate(parts)
        return self._outside[mesh]

    def warn_outside(self, mesh: Mesh) -> None:
        """Warn (OutsideDomainWarning) when points lie outside the cells, with how far."""
        distance = self.outside(mesh)
        count = int((distance > 0).sum())
        if not count:
            return
        units = "degrees" if self.space.geometry == "sphere" else self.space.units[0]
        far = f"{distance.max():.3g} {units}".rstrip()
        warnings.warn(
            f"{count} of {len(distance)} points lie outside the cells of the training mesh, by up "
            f"to {far}; nothing is known there, and forecasts are NaN",
            OutsideDomainWarning,
            stacklevel=4,
        )

    @cached_property
    def _locator(self) -> Locator | None:
        if self.mesh is None or self.mesh.tessellation is None:
            return None
        return Locator(self.mesh.tessellation, self.space.geometry)

    @cached_property
    def _nearest(self) -> cKDTree:
        assert self.mesh is not None
        return cKDTree(self.coordinate_map(self.mesh.coords))


def _pieces(count: int) -> list[slice]:
    starts = range(0, count, POINTS_AT_ONCE)
    return [slice(start, min(start + POINTS_AT_ONCE, count)) for start in starts]
