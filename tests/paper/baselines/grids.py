"""Small trajectories on grids, for the networks that work on images."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore import Trajectories
from smore_paper.datasets.shallow_water.sphere import Sphere

ADVECTION_STEP = 1 / 8  # of the period per time step
TIME_STEP = 0.5


def on_box(fields: NDArray, *, dims: tuple[str, str] = ("x", "y")) -> Trajectories:
    """Fields (sequences, times, channels, *dims) on a periodic grid of [0, 1)²."""
    sizes = dict(zip(dims, fields.shape[3:], strict=True))
    coords = {name: np.arange(size) / size for name, size in sizes.items()}
    return _trajectories(fields, dims, coords)


def on_sphere(fields: NDArray) -> Trajectories:
    """Fields (sequences, times, channels, n, 2n), at every second Gaussian latitude of 2n."""
    sphere = Sphere(2 * fields.shape[3])
    latitude, longitude = np.rad2deg(sphere.latitude[::2]), np.rad2deg(sphere.longitude[::2])
    return _trajectories(fields, ("lat", "lon"), {"lat": latitude, "lon": longitude})


def _trajectories(
    fields: NDArray, dims: tuple[str, str], coords: dict[str, NDArray]
) -> Trajectories:
    channels = {
        f"u{channel}": (("sequence", "time", *dims), fields[:, :, channel])
        for channel in range(fields.shape[2])
    }
    times = TIME_STEP * np.arange(fields.shape[1])
    dataset = xr.Dataset(channels, coords={"time": times, **coords})
    if "lat" in dims:
        dataset["lat"].attrs["units"] = "degrees_north"
        dataset["lon"].attrs["units"] = "degrees_east"
    return Trajectories.from_xarray(dataset)


def noise(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    """Standard normal values."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def advected(
    num_sequences: int, num_snapshots: int, *, resolution: int = 16, seed: int = 0
) -> NDArray[np.float32]:
    """Smooth fields that travel along the first axis, (sequences, times, 1, n, n)."""
    stream = np.random.default_rng(seed)
    axis = 2 * np.pi * np.arange(resolution) / resolution
    travelled = 2 * np.pi * ADVECTION_STEP * np.arange(num_snapshots)[:, None, None]
    fields = np.zeros((num_sequences, num_snapshots, resolution, resolution))
    for k, m in ((1, 0), (1, 1), (2, -1)):
        amplitude = stream.normal(size=(num_sequences, 1, 1, 1))
        phase = stream.uniform(0, 2 * np.pi, size=(num_sequences, 1, 1, 1))
        along = k * (axis[:, None] - travelled)
        fields += amplitude * np.cos(along + m * axis + phase)
    return fields[:, :, None].astype(np.float32)
