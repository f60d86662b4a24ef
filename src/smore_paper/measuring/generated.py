"""Smooth random fields of any resolution, written to disk snapshot by snapshot.

A field is a sum of a few products of waves along x and y whose phases move in time,

    u(t, x, y) = Σ_k a_k cos(2π m_k x + ω_k t + φ_k) cos(2π n_k y + ψ_k)

on the unit torus: as a product of two thin matrices it costs next to nothing on a large grid.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.runtime import ProgressLine, default_root, require_room

NUM_WAVES = 8
LARGEST_WAVENUMBER = 4
LARGEST_FREQUENCY = 0.5  # per snapshot
CHANNEL = "u"
# Of the file: rows of a snapshot that make up about as much.
CHUNK_BYTES = 2**22
ITEM = np.dtype(np.float32).itemsize
# The data, and the copy by points that training makes while it streams them.
COPIES = 2


@dataclass(frozen=True)
class Generated:
    """Sequences of snapshots on an n x n periodic grid, one channel, float32.

    Args:
        grid: n.
        sequences: how many.
        snapshots: of each.
        seed: of all random numbers.
    """

    grid: int
    sequences: int
    snapshots: int
    seed: int = 0

    @property
    def points(self) -> int:
        return self.grid**2

    @property
    def num_bytes(self) -> int:
        """Of all fields."""
        return ITEM * self.sequences * self.snapshots * self.points

    def fields(self, sequence: int) -> Iterator[NDArray[np.float32]]:
        """The snapshots (grid, grid) of one sequence, one after the other."""
        random = np.random.default_rng([self.seed, sequence])
        amplitude = random.normal(size=NUM_WAVES) / np.sqrt(NUM_WAVES)
        along, across = random.integers(0, LARGEST_WAVENUMBER, (2, NUM_WAVES), endpoint=True)
        frequency = random.uniform(-LARGEST_FREQUENCY, LARGEST_FREQUENCY, NUM_WAVES)
        start, shift = random.uniform(0, 2 * np.pi, (2, NUM_WAVES))
        angles = 2 * np.pi * self.axis[:, None]
        columns = (amplitude * np.cos(angles * across + shift)).astype(np.float32)
        for time in range(self.snapshots):
            rows = np.cos(angles * along + frequency * time + start).astype(np.float32)
            yield rows @ columns.T

    @property
    def axis(self) -> NDArray[np.float64]:
        """Coordinates of the grid along each dimension."""
        return np.arange(self.grid) / self.grid

    def dataset(self) -> xr.Dataset:
        """Everything, in memory."""
        values = np.stack([np.stack(list(self.fields(each))) for each in range(self.sequences)])
        return xr.Dataset(
            {CHANNEL: (("sequence", "time", "x", "y"), values)},
            coords={"time": np.arange(self.snapshots), "x": self.axis, "y": self.axis},
        )

    def write(self, path: Path) -> None:
        """Write a Zarr file in chunks of rows of one snapshot."""
        import zarr  # takes its time to load, and every command loads this module

        group = zarr.open_group(path, mode="w-")
        for name, values in (
            ("time", np.arange(self.snapshots)),
            ("x", self.axis),
            ("y", self.axis),
        ):
            group.create_array(name, data=values, dimension_names=[name])
        rows = min(max(CHUNK_BYTES // (ITEM * self.grid), 1), self.grid)
        array = group.create_array(
            CHANNEL,
            shape=(self.sequences, self.snapshots, self.grid, self.grid),
            chunks=(1, 1, rows, self.grid),
            dtype=np.float32,
            compressors=None,
            dimension_names=["sequence", "time", "x", "y"],
        )
        total, size = self.sequences * self.snapshots, f"{self.num_bytes / 1e9:.1f} GB"
        with ProgressLine(f"generating {self.grid} x {self.grid}", total) as line:
            for sequence in range(self.sequences):
                for time, field in enumerate(self.fields(sequence)):
                    array[sequence, time] = field
                    line.update(sequence * self.snapshots + time + 1, size)


@contextmanager
def generated_file(data: Generated, scratch: Path | None = None) -> Iterator[Path]:
    """A Zarr file with `data`, which is gone afterwards, come what may.

    Args:
        data: what is in it.
        scratch: folder for it; by default that of smore's cache.

    Raises:
        DataError: the disk has no room for the data and the copy that training makes.
    """
    folder = default_root() / "scratch" if scratch is None else scratch
    folder.mkdir(parents=True, exist_ok=True)
    require_room(
        folder,
        COPIES * data.num_bytes,
        "room for generated data and the copy that training makes of them",
        "use a smaller grid or fewer sequences, or another folder with --scratch and SMORE_CACHE",
    )
    place = Path(tempfile.mkdtemp(prefix="generated-", dir=folder))
    try:
        path = place / "fields.zarr"
        data.write(path)
        yield path
    finally:
        shutil.rmtree(place)


def disk_bytes(path: Path) -> int:
    """What the files in a folder take."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
