"""Columns of numbers in a scratch file: what would be a matrix if it fitted into memory.

The file is cut into tiles of points, and holds the columns of a tile one after the other:

    tile 0: column 0, column 1, .. | tile 1: column 0, column 1, .. | ..

so a snapshot can be written as it comes, a tile is read in one go, and so are some columns of it.
Files are read and written, not mapped: mapped pages count as resident memory.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smore.errors import DataError
from smore.runtime import default_root, require_room

TILE_BYTES = 2**23
TILE_RANGE = (2**8, 2**16)
SCRATCH = "a scratch file for data that do not fit into memory"
ELSEWHERE = "set SMORE_CACHE to a folder of yours that has room for it"
ITEM = np.dtype(np.float32).itemsize


class ColumnStore:
    """(points, columns) float32 on disk, gone when nobody holds it any more.

    The file has no name once it is open, so it does not outlive its process either.

    Args:
        num_points: length of a column.
        num_columns: how many.
        folder: where; by default the scratch folder of smore's cache.
        tile: points of a tile; by default as many as make up a few megabytes.

    Raises:
        DataError: the disk has no room for it, or the folder cannot be written to.
    """

    def __init__(
        self,
        num_points: int,
        num_columns: int,
        folder: str | os.PathLike[str] | None = None,
        tile: int | None = None,
    ) -> None:
        self.num_points, self.num_columns = num_points, num_columns
        self.folder = Path(folder) if folder is not None else default_root() / "scratch"
        self.tile = tile or tile_size(num_columns)
        self._lock = threading.Lock()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            needed = ITEM * num_points * num_columns
            require_room(self.folder, needed, SCRATCH, f"make room, or {ELSEWHERE}")
            self._file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._unwritable(error) from None
        weakref.finalize(self, self._file.close)

    @property
    def num_tiles(self) -> int:
        return -(-self.num_points // self.tile)

    def points_of(self, tile: int) -> slice:
        """The points of a tile."""
        return slice(tile * self.tile, min((tile + 1) * self.tile, self.num_points))

    def write(self, column: int, point: int, values: NDArray[np.float32]) -> None:
        """Write values (columns, points), of which the first is for `column` and `point`."""
        num_points = values.shape[1]
        for tile in range(point // self.tile, -(-(point + num_points) // self.tile)):
            points = self.points_of(tile)
            start, stop = max(points.start, point), min(points.stop, point + num_points)
            part = np.ascontiguousarray(values[:, start - point : stop - point], np.float32)
            if stop - start == points.stop - points.start:
                self._write(self._place(tile, column), part)
            else:
                for number, row in enumerate(part, start=column):
                    self._write(self._place(tile, number) + ITEM * (start - points.start), row)

    def read(self, tile: int, columns: NDArray[np.integer]) -> NDArray[np.float32]:
        """Some columns of a tile, (columns, points)."""
        points = self.points_of(tile)
        values = np.empty((len(columns), points.stop - points.start), dtype=np.float32)
        breaks = np.flatnonzero(np.diff(columns) != 1) + 1
        for run in np.split(np.arange(len(columns)), breaks):
            if len(run):
                self._read(self._place(tile, int(columns[run[0]])), values[run[0] : run[-1] + 1])
        return values

    def _place(self, tile: int, column: int) -> int:
        """Where a column of a tile begins in the file."""
        points = self.points_of(tile)
        length = points.stop - points.start
        return ITEM * (points.start * self.num_columns + column * length)

    def _write(self, place: int, values: NDArray[np.float32]) -> None:
        left = values.data.cast("B")
        try:
            with self._lock:
                self._file.seek(place)
                while left:
                    left = left[self._file.write(left) :]
        except OSError as error:  # somebody else filled the disk
            raise self._unwritable(error) from None

    def _read(self, place: int, values: NDArray[np.float32]) -> None:
        left = values.data.cast("B")
        with self._lock:
            self._file.seek(place)
            while left:
                count = self._file.readinto(left)
                assert count, "a part of the scratch file was never written"
                left = left[count:]

    def _unwritable(self, error: OSError) -> DataError:
        return DataError(
            f"{SCRATCH} cannot be written to {self.folder}: {error.strerror}; {ELSEWHERE}"
        )


def tile_size(num_columns: int) -> int:
    """Points of a tile: a power of two, so that chunks and tiles fit into each other."""
    points = max(TILE_BYTES // (ITEM * max(num_columns, 1)), 1)
    return int(np.clip(2 ** int(np.log2(points)), *TILE_RANGE))
