"""Fields of trajectories that were copied to a scratch file, and what the copying found out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smore.data.fields._column_sums import ColumnSums, point_keys
from smore.data.fields.column_store import ColumnStore
from smore.data.fields.file_fields import LazyFields, Observed


@dataclass(frozen=True, eq=False)
class FieldStore:
    """Snapshots of all sequences as columns of one store, in the data's units.

    Attributes:
        columns: what is left of the values after `origin` is taken away.
        origin: (columns,) float64, 0 for data that are single precision anyway.
        sums: moments and checksums of the values.
        seen: (points of the mesh,) which points are stored; the others, land for instance, were
            never observed. None for all.
        dtype: of the data.
    """

    columns: ColumnStore
    origin: NDArray[np.float64]
    sums: ColumnSums
    seen: NDArray[np.bool_] | None
    dtype: np.dtype

    @property
    def num_mesh_points(self) -> int:
        return self.columns.num_points if self.seen is None else len(self.seen)

    @cached_property
    def seen_points(self) -> NDArray[np.intp] | None:
        """Numbers of the points that are stored; None for all."""
        return None if self.seen is None else np.flatnonzero(self.seen)

    @property
    def missing_checksum(self) -> np.uint64:
        """Sum of the keys of points that were never observed."""
        if self.seen is None:
            return np.uint64(0)
        return point_keys(np.flatnonzero(~self.seen)).sum(dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class StoredFields(LazyFields):
    """The snapshots of one sequence in a store.

    Attributes:
        store: where.
        index: (times, channels) their columns.
    """

    store: FieldStore = field(repr=False)
    index: NDArray[np.intp] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int, int]:
        num_times, num_channels = self.index.shape
        return num_times, num_channels, self.store.num_mesh_points

    @property
    def dtype(self) -> np.dtype:
        return self.store.dtype

    @property
    def num_values(self) -> int:
        return self.index.size * self.store.columns.num_points

    @property
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Number, mean and squared deviation of each snapshot's values, (times, channels)."""
        sums = self.store.sums
        return sums.count[self.index], sums.mean[self.index], sums.squares[self.index]

    @property
    def checksums(self) -> NDArray[np.uint64]:
        """(times, channels) see `field_checksums`."""
        return self.store.sums.checksum[self.index]

    def snapshots(self, which: slice) -> StoredFields:
        return replace(self, index=self.index[which])

    def channels(self, order: Sequence[int]) -> StoredFields:
        return replace(self, index=self.index[:, list(order)])

    def parts(self) -> Iterator[Observed]:
        columns, index = self.store.columns, self.index.ravel()
        origin = self.store.origin[index, None].astype(self.dtype)
        for tile in range(columns.num_tiles):
            values = columns.read(tile, index).astype(self.dtype, copy=False)
            values += origin
            yield values.reshape(*self.index.shape, -1), None

    def load(self) -> Observed:
        fields = np.concatenate([values for values, _ in self.parts()], axis=-1)
        if self.store.seen is None:
            return fields, None
        everywhere = np.zeros(self.shape, self.dtype)
        everywhere[..., self.store.seen] = fields
        return everywhere, np.broadcast_to(self.store.seen, self.shape)
