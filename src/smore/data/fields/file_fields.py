"""Fields that are not in memory, but somewhere they can be read from piece by piece."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from smore.data.fields.fill_values import MASKING, REPLACING, certainly_values, fill_values
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
    def shape(self) -> tuple[int, int, int]: ...

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

    def load(self) -> Observed:
        """Everything, in memory."""
        parts = list(self.parts())
        fields = np.concatenate([values for values, _ in parts], axis=-1)
        if all(observed is None for _, observed in parts):
            return fields, None
        masks = [np.ones(u.shape, bool) if seen is None else seen for u, seen in parts]
        return fields, np.concatenate(masks, axis=-1)


@dataclass(frozen=True, eq=False)
class FileFields(LazyFields):
    """Fields that are still in the file they came in.

    Attributes:
        array: (times, channels, points), a dask array.
        missing: what a NaN is, see `Trajectories.from_xarray`.
        number: which sequence of the file this is, to name what is wrong with it.
        first: which of its snapshots is the first one here.
    """

    array: Array = field(repr=False)
    missing: Literal["refuse", "mask"] = "refuse"
    number: int = 0
    first: int = 0

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @property
    def num_values(self) -> int:
        if self.missing == "refuse":
            return int(np.prod(self.shape))
        return sum(u.size if seen is None else int(seen.sum()) for u, seen in self.parts())

    def snapshots(self, which: slice) -> FileFields:
        first = self.first + which.indices(self.shape[0])[0]
        return replace(self, array=self.array[which], first=first)

    def channels(self, order: Sequence[int]) -> FileFields:
        return replace(self, array=self.array[:, list(order)])

    def points(self, index: NDArray) -> FileFields:
        """The values at some of the points."""
        if index.dtype == bool:
            index = np.flatnonzero(index)
        if len(index) and (np.diff(index) == 1).all():  # what is next to each other is read so
            return replace(self, array=self.array[..., index[0] : index[-1] + 1])
        return replace(self, array=self.array[..., index])

    @property
    def rows(self) -> Array:
        """(times · channels, points)."""
        return self.array.reshape(-1, self.shape[2])

    def parts(self) -> Iterator[Observed]:
        size = max(PIECE_BYTES // (self.dtype.itemsize * self.shape[0] * self.shape[1]), 1)
        for points in grouped(self.array.chunks[2], size):
            values = computed(self.array[..., points])
            if certainly_values(values):
                yield values, None
                continue
            if (marked := fill_values(values)).any():
                raise DataError(self._told(values, marked, points, REPLACING))
            finite = np.isfinite(values)
            if finite.all():
                yield values, None
                continue
            if self.missing == "refuse" or np.isinf(values).any():
                remedy = f"correct the data, or {MASKING}"
                raise DataError(self._told(values, ~finite, points, remedy))
            yield np.where(finite, values, 0), finite

    def _told(self, values: NDArray, bad: NDArray[np.bool_], points: slice, remedy: str) -> str:
        time, channel, point = np.argwhere(bad)[0]
        return (
            f"fields must be finite values, sequence {self.number} is "
            f"{values[time, channel, point]:g} at time index {self.first + time}, channel "
            f"{channel}, point {points.start + point}; {remedy}"
        )


def lazy_fields(
    variables: Sequence[xr.Variable], shape: tuple[int, ...], dtype: np.dtype
) -> list[FileFields]:
    """The fields of every sequence, from one variable (sequence, time, ...space) per channel.

    Points are the C order of the dimensions of space, so all but the first of these have to be
    read together. Where that takes many chunks of the file, the first is cut in turn.
    """
    import dask.array as da

    channels = []
    for variable in variables:
        whole = da.asarray(variable.data).reshape(shape)
        joined = _with_whole_rows(whole).reshape(*shape[:2], -1)
        channels.append(joined.astype(dtype))
    fields = da.stack(channels, axis=2)
    return [FileFields(fields[number]) for number in range(shape[0])]


def _with_whole_rows(array: Array) -> Array:
    """An array (sequence, time, ...space) whose chunks reach over all but the first of space."""
    trailing = range(3, array.ndim)
    if all(len(array.chunks[axis]) == 1 for axis in trailing):
        return array
    row = array.itemsize * array.chunksize[0] * array.chunksize[1] * int(np.prod(array.shape[3:]))
    largest = max(PIECE_BYTES // row, 1)
    parts = [np.array_split(range(length), -(-length // largest)) for length in array.chunks[2]]
    along = tuple(len(part) for chunk in parts for part in chunk)
    return array.rechunk({2: along} | dict.fromkeys(trailing, -1))


def dask_array(fields: NDArray) -> Array:
    """An array in memory as if it were not, for what comes together with lazy fields."""
    import dask.array as da

    return da.from_array(fields)


def computed(array: Array) -> NDArray:
    """A piece of a dask array, read in this thread: its memory is that of the piece."""
    return np.asarray(array.compute(scheduler="synchronous"))


def pieces(rows: Array) -> Iterator[tuple[slice, slice]]:
    """Pieces of an array (columns, points) that are whole chunks, of about `PIECE_BYTES`.

    All columns of some points where these fit, which reads a file chunk once even if it holds
    parts of many sequences; else all points of some columns.
    """
    columns, points = rows.chunks
    most = PIECE_BYTES // rows.itemsize
    if max(points) * sum(columns) <= most:
        for some in grouped(points, most // sum(columns)):
            yield slice(0, sum(columns)), some
        return
    wide = list(grouped(points, most // max(columns)))
    for few in grouped(columns, most // max(part.stop - part.start for part in wide)):
        for some in wide:
            yield few, some


def grouped(chunks: Sequence[int], size: int) -> Iterator[slice]:
    """Neighbouring chunks together, as many as make up `size`, and at least one."""
    start = stop = 0
    for length in chunks:
        if stop > start and stop + length - start > size:
            yield slice(start, stop)
            start = stop
        stop += length
    yield slice(start, stop)
