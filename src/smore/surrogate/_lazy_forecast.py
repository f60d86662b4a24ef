"""Forecasts that are decoded when they are asked for, a slab of the mesh at a time.

Written to a file, they never are in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from smore.data import FileFields, Mesh, file_fields
from smore.errors import DataError
from smore.runtime import Pass
from smore.surrogate.decoding import decode_part, deviation_part
from smore.surrogate.surrogate import Surrogate

SLAB_BYTES = 2**25

# (times, channels, points) of one state, in memory or not.
Fields = NDArray[np.float32] | FileFields


def lazily_decoded(surrogate: Surrogate, latents: Tensor, meshes: list[Mesh]) -> list[Fields]:
    """Fields of latents (states, times, codes, p), each on its mesh, which is the same."""
    mesh = _one_mesh(meshes)
    seen = surrogate.seen_on(mesh)
    surrogate.warn_outside([mesh])

    def decode(points: slice) -> NDArray[np.float32]:
        return blanked(decode_part(surrogate, latents, mesh, points), seen, points)

    shape = (*latents.shape[:2], surrogate.num_channels)
    return _in_slabs(decode, shape, mesh, len(meshes))


def lazy_deviations(
    surrogate: Surrogate, covariances: Tensor, meshes: list[Mesh], growth: Tensor | None
) -> list[Fields]:
    """Standard deviations of covariances (states or 1, times, codes, p, p)."""
    mesh = _one_mesh(meshes)
    seen = surrogate.seen_on(mesh)

    def deviate(points: slice) -> NDArray[np.float32]:
        deviations = deviation_part(surrogate, covariances, mesh, points, growth)
        return blanked(deviations, seen, points)

    shape = (*covariances.shape[:2], surrogate.num_channels)
    found = _in_slabs(deviate, shape, mesh, len(meshes))
    return found * (len(meshes) // len(found))


def blanked(
    fields: NDArray[np.float32], seen: NDArray[np.bool_] | None, points: slice = slice(None)
) -> NDArray[np.float32]:
    """`fields` (..., channels, some points) with NaN where the model has never seen a value.

    Args:
        fields: they are changed.
        seen: see `Surrogate.seen_on`.
        points: which points of the mesh these are.
    """
    if seen is not None:
        fields[..., ~seen[:, points]] = np.nan
    return fields


def _in_slabs(
    function: Callable[[slice], NDArray[np.float32]],
    shape: tuple[int, ...],
    mesh: Mesh,
    num_states: int,
) -> list[Fields]:
    """What `function` gives for a range of points, (states or 1, times, channels, points), lazily.

    Slabs are such that the fields of all states in one take about `SLAB_BYTES`.
    """
    import dask
    import dask.array as da
    import xarray as xr

    row = int(np.prod(mesh.shape[1:]))
    thickness = max(SLAB_BYTES // (4 * row * num_states * int(np.prod(shape[1:]))), 1)
    progress = Pass(mesh.num_points)

    @dask.delayed(pure=False)
    def slab(points: slice) -> NDArray[np.float32]:
        values = function(points)
        progress.add(points.stop - points.start)
        return values

    slabs = []
    for start in range(0, mesh.shape[0], thickness):
        points = slice(start * row, min(start + thickness, mesh.shape[0]) * row)
        whole = (*shape, points.stop - points.start)
        slabs.append(da.from_delayed(slab(points), whole, dtype=np.float32))
    array = da.concatenate(slabs, axis=3)
    dims = ("state", "time", "point")
    channels = [xr.Variable(dims, array[:, :, channel]) for channel in range(shape[2])]
    return [*file_fields(channels, dims, channels[0].shape, np.dtype(np.float32))]


def _one_mesh(meshes: list[Mesh]) -> Mesh:
    if any(mesh is not meshes[0] for mesh in meshes):
        raise DataError("a lazy forecast needs one mesh for all states; leave out lazy=True")
    return meshes[0]
