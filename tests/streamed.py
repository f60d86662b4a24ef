"""The same small trajectories in memory and in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from smore import Trajectories

SEQUENCES, TIMES, SHAPE = 4, 6, (9, 14)
# Chunks of a file: whole snapshots, all snapshots of some points, odd ones, parts of many runs.
CHUNKS = {
    "snapshots": (1, 1, 9, 14),
    "points": (4, 6, 2, 14),
    "odd": (1, 4, 5, 3),
    "runs": (3, 2, 9, 5),
}


def flow(dtype: str = "f4", num_channels: int = 2) -> xr.Dataset:
    """Smooth fields on a grid, a sum of a few waves of random amplitude and phase."""
    rng = np.random.default_rng(0)
    y, x = np.linspace(0.0, 1.0, SHAPE[0]), np.linspace(-1.0, 1.0, SHAPE[1])
    waves = [np.outer(np.cos(j * y), np.sin(k * x + j)) for j in range(1, 4) for k in range(1, 4)]
    phases = rng.uniform(0, 6, size=(SEQUENCES, num_channels, 1, 9))
    turned = np.cos(0.3 * np.arange(TIMES)[:, None] * np.arange(1, 10) + phases)
    amplitudes = rng.normal(size=(SEQUENCES, num_channels, 1, 9)) * turned
    fields = np.einsum("sctk,kyx->csyxt", amplitudes, waves).transpose(0, 1, 4, 2, 3)
    dims = ("sequence", "time", "y", "x")
    return xr.Dataset(
        {f"u{number}": (dims, each.astype(dtype)) for number, each in enumerate(fields)},
        coords={"time": 0.5 * np.arange(TIMES), "y": y, "x": x},
        attrs={"channel_names": [f"u{number}" for number in range(num_channels)]},
    )


def write(dataset: xr.Dataset, folder: Path, chunks: str = "snapshots") -> Path:
    """A Zarr file with the named chunks, or a NetCDF file that has none."""
    if chunks == "netcdf":
        dataset.to_netcdf(folder / "flow.nc", engine="h5netcdf")
        return folder / "flow.nc"
    encoding = {str(name): {"chunks": CHUNKS[chunks]} for name in dataset.data_vars}
    dataset.to_zarr(folder / "flow.zarr", consolidated=False, encoding=encoding)
    return folder / "flow.zarr"


def both(
    dataset: xr.Dataset, folder: Path, chunks: str = "snapshots", **options: str
) -> tuple[Trajectories, Trajectories]:
    """The trajectories of a dataset in memory, and lazy."""
    path = write(dataset, folder, chunks)
    return Trajectories.open(path, **options), Trajectories.open(path, lazy=True, **options)
