"""Fields that are not in memory, but somewhere they can be read from piece by piece."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from smore.data.fields.fill_values import unusable
from smore.errors import DataError

if TYPE_CHECKING:
    import xarray as xr
    from dask.array import Array

# What is read at once, unless the chunks of a file are larger.
PIECE_BYTES = 2**26

# Fields (times, channels, points), 0 where not observed, and where they are observed if not all.
Observed = tuple[NDArray[np.floating], NDArray[np.bool_] | None]


class LazyFields(ABC):
    """Fields (times, channels, points) of one sequence."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """Times, channels, points."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype: ...

    @property
    @abstractmethod
    def num_values(self) -> int:
        """How many values are observed."""

    @abstractmethod
    def snapshots(self, which: slice) -> LazyFields:
        """Some of the snapshots."""

    @abstractmethod
    def channels(self, order: Sequence[int]) -> LazyFields:
        """Some of the channels, in the given order."""

    @abstractmethod
    def parts(self) -> Iterator[Observed]:
        """All snapshots at some points, then at the next ones, and so on.

        Points at which nothing was ever observed may be left out.
        """

    @abstractmethod
    def load(self) -> Observed:
        """Everything, in memory."""


@dataclass(frozen=True, eq=False)
class FileChannels:
    """The channels of a file: a variable each over (sequence, time, ...space), in any order.

    Points are the C order of the dimensions of space. Those of one step along the first of these
    are a row, and rows are read whole.

    Attributes:
        variables: one per channel, whose values are read when they are asked for.
        dims: (sequence, time, ...space); None for one that is not there.
        shape: (sequences, times, ...space).
        dtype: in which values are given.
    """

    variables: tuple[xr.Variable, ...]
    dims: tuple[str | None, ...]
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def row(self) -> int:
        """Points of a row."""
        return math.prod(self.shape[3:])

    def read(self, sequences: slice, times: slice, channels: Sequence[int], rows: slice) -> NDArray:
        """(sequences, times, channels, points of the rows)."""
        where = (sequences, times, rows)
        lengths = [part.stop - part.start for part in where]
        shape = (*lengths[:2], lengths[2] * self.row)
        found = (self._read(self.variables[channel], where).reshape(shape) for channel in channels)
        if len(channels) == 1:  # no copy
            return next(found).astype(self.dtype, copy=False)[:, :, None]
        values = np.empty((*shape[:2], len(channels), shape[2]), self.dtype)
        for number, channel in enumerate(found):
            values[:, :, number] = channel
        return values

    def _read(self, variable: xr.Variable, where: tuple[slice, slice, slice]) -> NDArray:
        index = {dim: part for dim, part in zip(self.dims, where, strict=False) if dim is not None}
        here = variable.isel(index)
        if here.chunks is not None:  # in this thread: its memory is that of the piece
            here = here.compute(scheduler="synchronous")
        order = [here.dims.index(dim) for dim in self.dims if dim is not None]
        return here.values.transpose(order)

    def as_dask(self, channel: int) -> Array:
        """A channel as a dask array (sequences, times, points), in chunks of a good size."""
        variable = self.variables[channel]
        if variable.chunks is None:
            sizes = self.slab(self.shape[:3], 1)
            named = zip(self.dims, sizes, strict=False)
            variable = variable.chunk({dim: size for dim, size in named if dim is not None})
        here = variable.transpose(*(dim for dim in self.dims if dim is not None)).data
        return here.reshape(*self.shape[:2], -1).astype(self.dtype)

    def slab(self, lengths: Sequence[int], num_channels: int) -> tuple[int, ...]:
        """How many sequences, times and rows, out of so many, are best read at once.

        Whole chunks of the file, or what lies side by side in it: as many as `PIECE_BYTES` hold.
        """
        room = max(PIECE_BYTES // (self.dtype.itemsize * num_channels * self.row), 1)
        chunks = [min(size, length) for size, length in zip(self._chunks(), lengths, strict=True)]
        sizes = list(chunks)
        for axis in range(3):  # chunks that are larger than that are read in parts
            sizes[axis] = max(min(sizes[axis], room * sizes[axis] // math.prod(sizes)), 1)
        near = sorted(range(3), key=lambda axis: -self._position(axis))
        for axis in near:
            count = room * sizes[axis] // (math.prod(sizes) * chunks[axis])
            sizes[axis] = min(max(count * chunks[axis], sizes[axis]), lengths[axis])
        return tuple(sizes)

    def _position(self, axis: int) -> int:
        """Which dimension of the file an axis is; values along the last are neighbours."""
        dim = self.dims[axis]
        return -1 if dim is None else self.variables[0].dims.index(dim)

    def _chunks(self) -> list[int]:
        """Sequences, times and rows of a chunk of the file; 1 where it has none."""
        variable = self.variables[0]
        if variable.chunks is not None:
            chunks = zip(variable.dims, variable.chunks, strict=True)
            sizes = {dim: max(parts) for dim, parts in chunks}
        else:
            sizes = dict(variable.encoding.get("preferred_chunks") or {})
        return [sizes.get(dim, 1) for dim in self.dims[:3]]


@dataclass(frozen=True, eq=False)
class FileFields(LazyFields):
    """One sequence of a file.

    Attributes:
        file: where it is.
        sequence: which one.
        times: which of its snapshots, without gaps.
        order: which channels.
        index: (points,) which points; None for all.
        missing: what a NaN is, see `Trajectories.from_xarray`.
        number: which sequence of all data this is, to name what is wrong with it.
    """

    file: FileChannels = field(repr=False)
    sequence: int
    times: slice
    order: tuple[int, ...]
    index: NDArray[np.intp] | None = field(default=None, repr=False)
    missing: Literal["refuse", "mask"] = "refuse"
    number: int = 0

    @property
    def shape(self) -> tuple[int, int, int]:
        num_points = self.file.row * self.file.shape[2] if self.index is None else len(self.index)
        return self.times.stop - self.times.start, len(self.order), num_points

    @property
    def dtype(self) -> np.dtype:
        return self.file.dtype

    @property
    def first(self) -> int:
        """Which snapshot of the sequence is the first one here."""
        return self.times.start

    @property
    def num_values(self) -> int:
        if self.missing == "refuse":
            return int(np.prod(self.shape))
        return sum(u.size if seen is None else int(seen.sum()) for u, seen in self.parts())

    def snapshots(self, which: slice) -> FileFields:
        start, stop, step = which.indices(self.shape[0])
        assert step == 1
        return replace(self, times=slice(self.first + start, self.first + max(start, stop)))

    def channels(self, order: Sequence[int]) -> FileFields:
        return replace(self, order=tuple(self.order[number] for number in order))

    def points(self, index: NDArray) -> FileFields:
        """The values at some of the points."""
        if index.dtype == bool:
            index = np.flatnonzero(index)
        return replace(self, index=index if self.index is None else self.index[index])

    def as_dask(self) -> Array:
        """(times, channels, points), to be read when it is asked for."""
        import dask.array as da

        found = [self.file.as_dask(channel)[self.sequence, self.times] for channel in self.order]
        together = da.stack(found, axis=1)
        return together if self.index is None else together[..., self.index]

    def parts(self) -> Iterator[Observed]:
        yield self.load()  # who works on many values has copied them to a scratch file

    def load(self) -> Observed:
        values = np.empty(self.shape, self.dtype)
        for slab in slabs([self]):
            values[slab.times, :, slab.points] = slab.values[0]
        if (bad := unusable(values, self.missing)) is not None:
            time, channel, point = np.argwhere(bad.where)[0]
            raise DataError(
                f"fields must be finite values, sequence {self.number} is "
                f"{values[time, channel, point]:g} at time index {self.first + time}, channel "
                f"{channel}, point {point}; {bad.remedy}"
            )
        known = ~np.isnan(values)
        return (values, None) if known.all() else (np.where(known, values, 0), known)


@dataclass(frozen=True, eq=False)
class Slab:
    """What was read at once.

    Attributes:
        sources: (slice) which of the sequences asked for.
        times: which of their snapshots.
        points: which of their points.
        values: (sequences, times, channels, points).
    """

    sources: slice
    times: slice
    points: slice
    values: NDArray


def slabs(sources: Sequence[FileFields]) -> Iterator[Slab]:
    """All values of some sequences, each once, along the layout of their files."""
    start = 0
    for _, group in itertools.groupby(enumerate(sources), key=_together):
        members = [source for _, source in group]
        yield from _group_slabs(members, start)
        start += len(members)


def _together(numbered: tuple[int, FileFields]) -> tuple[object, ...]:
    """The same for sequences that follow each other in a file and are asked for alike."""
    number, source = numbered
    return (
        id(source.file),
        source.sequence - number,
        (source.times.start, source.times.stop),
        source.order,
        id(source.index),
    )


def _group_slabs(group: Sequence[FileFields], offset: int) -> Iterator[Slab]:
    source, file = group[0], group[0].file
    num_times, num_channels, num_points = source.shape
    increasing = source.index is None or bool((np.diff(source.index) > 0).all())
    low, high = (0, file.shape[2] * file.row - 1)
    if source.index is not None:
        low, high = int(source.index.min()), int(source.index.max())
    rows = range(low // file.row, high // file.row + 1)
    lengths = (len(group), num_times, len(rows))
    sizes = list(file.slab(lengths, num_channels))
    if not increasing:
        sizes[2] = len(rows)
    cuts = [
        [slice(at, min(at + size, length)) for at in range(0, length, size)]
        for size, length in zip(sizes, lengths, strict=True)
    ]
    for which, times, some in itertools.product(*cuts):
        here = slice(rows[some.start], rows[some.stop - 1] + 1)
        points = _points_in(source.index, num_points, here, file.row, increasing)
        if points.stop == points.start:
            continue
        values = file.read(
            slice(source.sequence + which.start, source.sequence + which.stop),
            slice(source.first + times.start, source.first + times.stop),
            source.order,
            here,
        )
        if source.index is not None:
            values = values[..., source.index[points] - here.start * file.row]
        yield Slab(slice(offset + which.start, offset + which.stop), times, points, values)


def _points_in(
    index: NDArray | None, num_points: int, rows: slice, row: int, increasing: bool
) -> slice:
    """Which of the points asked for lie in some rows."""
    if index is None:
        return slice(rows.start * row, rows.stop * row)
    if not increasing:
        return slice(0, num_points)
    start, stop = np.searchsorted(index, [rows.start * row, rows.stop * row])
    return slice(int(start), int(stop))


def file_fields(
    variables: Sequence[xr.Variable],
    dims: tuple[str | None, ...],
    shape: tuple[int, ...],
    dtype: np.dtype,
) -> list[FileFields]:
    """The fields of every sequence, from one variable per channel; see `FileChannels`."""
    file = FileChannels(tuple(variables), dims, shape, dtype)
    order = tuple(range(len(variables)))
    return [FileFields(file, number, slice(0, shape[1]), order) for number in range(shape[0])]
