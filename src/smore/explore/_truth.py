"""What the data say: values for sensors, and what forecasts are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from smore.data import CoordinateMap, Mesh, Trajectories
from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]

# Snapshots kept in memory, of data that may be larger.
MOST_SNAPSHOTS = 32
# A snapshot is one of a time if it is no further away than this share of a training step.
SAME_TIME = 0.01


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One snapshot of the data.

    Args:
        places: (points, dim) where any channel was observed.
        values: (points, channels) in the data's units, NaN where a channel was not.
        tree: of the places, in the decoder's coordinates.
        coordinate_map: to these.
    """

    places: FloatArray
    values: FloatArray
    tree: cKDTree
    coordinate_map: CoordinateMap

    def nearest(self, places: FloatArray) -> NDArray[np.intp]:
        """Which of its points are nearest to some places (n, dim)."""
        return np.asarray(self.tree.query(self.coordinate_map(places))[1])


class Truth:
    """Trajectories, one snapshot at a time.

    Args:
        data: aligned with the model.
        surrogate: the model.
    """

    def __init__(self, data: Trajectories, surrogate: Surrogate) -> None:
        self.data, self.description = data, surrogate.description
        self._nearest: WeakKeyDictionary[Mesh, dict[int, NDArray[np.intp]]] = WeakKeyDictionary()
        self.fields = lru_cache(MOST_SNAPSHOTS)(self._fields)
        self.snapshot = lru_cache(2)(self._snapshot)

    def __len__(self) -> int:
        return len(self.data)

    def times(self, sequence: int) -> FloatArray:
        return self.data.sequences[sequence].times

    def mesh(self, sequence: int) -> Mesh:
        return self.data.sequences[sequence].mesh

    def index_at(self, sequence: int, instant: float) -> int | None:
        """The snapshot of an instant, if there is one."""
        times = self.times(sequence)
        index = int(np.abs(times - instant).argmin())
        near = abs(times[index] - instant) <= SAME_TIME * self.description.time_step
        return index if near else None

    def _fields(self, sequence: int, index: int) -> FloatArray:
        """(channels, points) of one snapshot, NaN where not observed."""
        part = self.data.sequences[sequence].snapshots(slice(index, index + 1)).load()
        fields = part.fields[0].astype(np.float64)
        return fields if part.observed is None else np.where(part.observed[0], fields, np.nan)

    def _snapshot(self, sequence: int, index: int) -> Snapshot:
        values, mesh = self.fields(sequence, index).T, self.mesh(sequence)
        seen = np.isfinite(values).any(axis=1)
        places = mesh.coords[seen]
        map_ = self.description.coordinate_map
        return Snapshot(places, values[seen], cKDTree(map_(places)), map_)

    def on(self, mesh: Mesh, sequence: int, index: int, channel: int) -> FloatArray:
        """Values (points,) at points of any mesh: those of the nearest point of the data."""
        values = self.fields(sequence, index)[channel]
        own = self.mesh(sequence)
        if mesh is own or mesh.same_points(own):
            return values
        kept = self._nearest.setdefault(mesh, {})
        if id(own) not in kept:  # as long as `data` lives, so does its mesh
            map_ = self.description.coordinate_map
            kept[id(own)] = np.asarray(cKDTree(map_(own.coords)).query(map_(mesh.coords))[1])
        return values[kept[id(own)]]
