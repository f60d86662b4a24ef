"""Streaming at the disk's speed: fingerprint and scratch copy beside a plain load and a write."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from smore.data import Trajectories, fingerprint, open_dataset, stored

# Chunks (sequences, times) of the layouts that are tried; None for a file without chunks.
LAYOUTS: dict[str, tuple[str, tuple[int, int] | None, dict[str, Any]]] = {
    "contiguous NetCDF": ("contiguous.nc", None, {}),
    "chunked NetCDF": ("chunked.nc", (16, 20), {}),
    "NetCDF, a chunk per snapshot": ("small.nc", (1, 1), {}),
    "compressed NetCDF": ("compressed.nc", (16, 20), {"compression": "gzip", "shuffle": True}),
    "Zarr": ("chunked.zarr", (16, 20), {}),
}
SHAPE = (512, 20, 64, 64)


@dataclass(frozen=True)
class ReadingCost:
    """Seconds of one layout, the least of some repetitions.

    Attributes:
        load_seconds: xarray reads everything into memory.
        write_seconds: that is written to the disk the scratch file is on, and synced.
        stream_seconds: smore opens the file, copies it to a scratch file and fingerprints it.
        ratio: the latter over the sum of the former.
    """

    layout: str
    megabytes: float
    load_seconds: float
    write_seconds: float
    stream_seconds: float
    ratio: float


def bench_reading(repeats: int = 3) -> Iterator[ReadingCost]:
    """Measure every layout, in files that are made for it and removed again."""
    values = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    dims = ("sequence", "time", "x", "y")
    coords = {name: np.arange(float(size)) for name, size in zip(dims, SHAPE, strict=True)}
    coords.pop("sequence")
    dataset = xr.Dataset({"u": (dims, values)}, coords)
    with tempfile.TemporaryDirectory() as folder:
        for layout, (name, chunks, options) in LAYOUTS.items():
            path = Path(folder, name)
            _write(dataset, path, chunks, options)
            parts = np.array([_seconds(path, Path(folder)) for _ in range(repeats)]).min(axis=0)
            load, write, stream = parts.tolist()
            ratio = stream / (load + write)
            yield ReadingCost(layout, values.nbytes / 1e6, load, write, stream, ratio)


def _write(
    dataset: xr.Dataset, path: Path, chunks: tuple[int, int] | None, options: dict[str, Any]
) -> None:
    whole = None if chunks is None else (*chunks, *SHAPE[2:])
    if path.suffix == ".zarr":
        dataset.to_zarr(path, encoding={"u": {"chunks": whole}}, consolidated=False)
    else:
        encoding = options | ({} if whole is None else {"chunksizes": whole})
        dataset.to_netcdf(path, engine="h5netcdf", encoding={"u": encoding})


def _seconds(path: Path, folder: Path) -> tuple[float, float, float]:
    """Of a plain load, of writing what was loaded, and of what a streamed fit does."""
    start = time.perf_counter()
    with open_dataset(path) as dataset:
        values = dataset["u"].values
    loaded = time.perf_counter()
    with (folder / "copy").open("wb") as file:
        values.tofile(file)
        file.flush()
        os.fsync(file.fileno())
    written = time.perf_counter()
    fingerprint(stored(Trajectories.open(path, lazy=True), folder=folder))
    return loaded - start, written - loaded, time.perf_counter() - written
