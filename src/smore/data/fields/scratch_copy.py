"""From fields in a file to columns in a scratch file, in one pass.

Files hold snapshots; training asks for points, all snapshots of some at a time, again and again.
Reading a file that way would read it whole for every few points. So it is copied once, transposed,
and what has to be known of all values before work begins is found on the way: whether they are
finite, their moments, and a checksum.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from smore.data.fields._column_sums import ColumnSums, point_keys
from smore.data.fields.column_store import ColumnStore
from smore.data.fields.file_fields import FileFields, Slab, slabs
from smore.data.fields.fill_values import unusable
from smore.data.fields.scratch_fields import FieldStore, StoredFields
from smore.data.mesh import Mesh
from smore.data.trajectories import Trajectories
from smore.data.validation import told_value
from smore.errors import DataError
from smore.runtime import ProgressLine, pace

IN_MEMORY = "read the data into memory (Trajectories.load, or a larger bound: --memory)"


def stored(
    trajectories: Trajectories,
    *,
    folder: str | os.PathLike[str] | None = None,
    show_progress: bool = False,
) -> Trajectories:
    """`trajectories` with fields that were in a file in a scratch file; others as they are.

    Args:
        trajectories: any.
        folder: of the scratch file, see `ColumnStore`.
        show_progress: whether to show a progress line.

    Raises:
        DataError: values that are not finite, or missing in some snapshots only; sequences on
            different points; a disk that is full.
    """
    if not any(isinstance(sequence.source, FileFields) for sequence in trajectories):
        return trajectories
    copy = _Copy(trajectories, _one_mesh(trajectories))
    store = copy.run(folder, show_progress)
    sequences, start = [], 0
    for sequence in trajectories:
        shape = sequence.source.shape[:2]
        index = start + np.arange(np.prod(shape)).reshape(shape)
        sequences.append(replace(sequence, source=StoredFields(store, index)))
        start += index.size
    return replace(trajectories, sequences=tuple(sequences))


def _one_mesh(trajectories: Trajectories) -> Mesh:
    meshes = trajectories.meshes
    if len(meshes) > 1:
        raise DataError(
            f"data that stay in their file must have the same points in all sequences, these have "
            f"{len(meshes)} different meshes; {IN_MEMORY}"
        )
    return meshes[0]


@dataclass(frozen=True, eq=False)
class _Row:
    """Which snapshot and channel a column holds."""

    sequence: int
    time: int
    channel: int


class _Copy:
    """One pass over all fields, as rows (columns, points of the mesh)."""

    def __init__(self, trajectories: Trajectories, mesh: Mesh) -> None:
        self.trajectories, self.mesh = trajectories, mesh
        self.sources = [
            sequence.source for sequence in trajectories if isinstance(sequence.source, FileFields)
        ]
        assert len(self.sources) == len(trajectories), "some fields were copied already"
        self.names = [
            _Row(number, time, channel)
            for number, source in enumerate(self.sources)
            for time, channel in np.ndindex(source.shape[:2])
        ]
        sizes = [source.shape[0] * source.shape[1] for source in self.sources]
        self.starts = [0, *itertools.accumulate(sizes)]
        self.masked = any(source.missing == "mask" for source in self.sources)

    def run(self, folder: str | os.PathLike[str] | None, show_progress: bool) -> FieldStore:
        seen = self._seen_points() if self.masked else None
        num_columns, num_points = len(self.names), self.mesh.num_points
        count = num_points if seen is None else int(seen.sum())
        columns = ColumnStore(count, num_columns, folder)
        dtype = np.result_type(*(source.dtype for source in self.sources))
        store = FieldStore(columns, np.zeros(num_columns), ColumnSums(num_columns), seen, dtype)
        total, done = dtype.itemsize * num_columns * num_points, 0
        with ProgressLine("reading, MB", total >> 20, shown=show_progress) as line:
            for slab in slabs(self.sources):
                for column, values in self._columns(slab):
                    self._keep_tiles(store, column, slab.points, values.astype(dtype, copy=False))
                done += slab.values.nbytes
                line.update(done >> 20, pace(done // dtype.itemsize, line.seconds, "values"))
        return store

    def _columns(self, slab: Slab) -> Iterator[tuple[int, NDArray]]:
        """Values (columns, points) of a slab, and the number of the first column."""
        num_times, num_channels, num_points = slab.values.shape[1:]
        source = self.sources[slab.sources.start]
        if num_times == source.shape[0]:  # sequences follow each other without a gap
            yield self.starts[slab.sources.start], slab.values.reshape(-1, num_points)
            return
        for number, values in enumerate(slab.values, start=slab.sources.start):
            first = self.starts[number] + slab.times.start * num_channels
            yield first, values.reshape(-1, num_points)

    def _keep_tiles(self, store: FieldStore, column: int, points: slice, values: NDArray) -> None:
        """Check and write values (columns, points), a tile of the store at a time."""
        seen = store.seen
        place = points.start if seen is None else int(seen[: points.start].sum())
        for part in _tiles(points, store.columns.tile):
            here = slice(part.start - points.start, part.stop - points.start)
            tile = np.ascontiguousarray(values[:, here])  # copied once, looked at several times
            place += self._keep(store, column, part, tile, place)

    def _keep(
        self, store: FieldStore, column: int, points: slice, values: NDArray, place: int
    ) -> int:
        """Check and write values (columns, points of the mesh), from `place` of the store on.

        Returns:
            How many points were written.
        """
        numbers = np.arange(points.start, points.stop)
        if store.seen is not None:
            here = store.seen[points]
            self._require_missing(column, numbers[~here], values[:, ~here])
            values, numbers = values[:, here], numbers[here]
        if not len(numbers):
            return 0
        self._require_finite(column, numbers, values)
        rows = slice(column, column + len(values))
        if store.dtype != np.float32:
            # Far from zero single precision would lose what varies.
            fresh = store.sums.count[rows] == 0
            store.origin[rows] = np.where(fresh, values.mean(axis=1), store.origin[rows])
        store.sums.add(column, values, point_keys(numbers))
        if store.dtype != np.float32:
            values = values - store.origin[rows, None].astype(values.dtype)
        store.columns.write(column, place, values)
        return len(numbers)

    def _seen_points(self) -> NDArray[np.bool_] | None:
        """Where the first snapshot is observed; None for everywhere."""
        seen = np.empty(self.mesh.num_points, dtype=bool)
        for slab in slabs([self.sources[0].snapshots(slice(1))]):
            known = ~np.isnan(slab.values[0, 0])
            seen[slab.points] = known[0]
            if (known != known[0]).any():
                channel, place = np.argwhere(known != known[0])[0]
                self._refuse_gap(int(channel), slab.points.start + int(place))
        if not seen.any():
            raise DataError(
                "the first snapshot has no observed value at all, every one is NaN; leave it out"
            )
        return None if seen.all() else seen

    def _require_finite(self, column: int, points: NDArray, values: NDArray) -> None:
        bad = unusable(values, "refuse")
        if bad is None:
            return
        row, place = np.argwhere(bad.where)[0]
        if self.masked and np.isnan(values[row, place]):
            self._refuse_gap(column + row, points[place])
        name = self.trajectories.channels[self.names[column + row].channel].name
        raise DataError(
            f"'{name}' must be a finite value, is {values[row, place]:g} "
            f"{self._told(column + row, points[place])}; at least {bad.where.sum()} such values; "
            f"{bad.remedy}"
        )

    def _require_missing(self, column: int, points: NDArray, values: NDArray) -> None:
        known = ~np.isnan(values)
        if known.any():
            row, place = np.argwhere(known)[0]
            self._refuse_gap(column + row, points[place])

    def _refuse_gap(self, column: int, point: int) -> NoReturn:
        name = self.trajectories.channels[self.names[column].channel].name
        raise DataError(
            f"in data that stay in their file the same points must be missing in all snapshots and "
            f"channels; '{name}' differs from the first snapshot {self._told(column, point)}; "
            f"{IN_MEMORY}"
        )

    def _told(self, column: int, point: int) -> str:
        row = self.names[column]
        sequence, source = self.trajectories.sequences[row.sequence], self.sources[row.sequence]
        index = (row.time, row.channel, int(point))
        return told_value(self.trajectories, sequence, source.number, index, source.first)


def _tiles(points: slice, size: int) -> Iterator[slice]:
    """A range of points, cut at the multiples of `size`."""
    cuts = range((points.start // size + 1) * size, points.stop, size)
    for start, stop in zip([points.start, *cuts], [*cuts, points.stop], strict=True):
        yield slice(start, stop)
