"""Trajectories as an xarray dataset that `reading` turns into the same trajectories again."""

from __future__ import annotations

from collections import abc
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.cells import point_weights
from smore.data.fields.file_fields import FileFields
from smore.data.mesh import Mesh, shared_meshes
from smore.data.quadrature import default_cells
from smore.data.reading._layout import SEQUENCE, WEIGHT_NAMES
from smore.data.reading.datasets import TRAJECTORY
from smore.data.reading.ugrid import mesh_variables
from smore.data.sequence import Sequence
from smore.data.space import SPHERE_NAMES, Channel, Clock, Space
from smore.data.trajectories import Trajectories

TIME = "time"
WEIGHTS = WEIGHT_NAMES[0]

Variables = dict[str, xr.Variable]


def to_dataset(trajectories: Trajectories) -> xr.Dataset:
    """See `Trajectories.to_xarray`."""
    meshes = _writable_meshes(trajectories)
    coordinates = _times(trajectories) | _places(trajectories, meshes)
    if len(meshes) == 1 and meshes[0].tessellation is not None:
        coordinates |= mesh_variables(meshes[0], trajectories.space)
    if trajectories.groups != tuple(range(len(trajectories))):
        coordinates[TRAJECTORY] = xr.Variable((SEQUENCE,), np.array(trajectories.groups))
    return xr.Dataset(
        _channels(trajectories, meshes),
        coords=coordinates,
        # What the variables do not tell: zarr forgets their order, and names may hint otherwise.
        attrs={
            "geometry": trajectories.space.geometry,
            "coordinate_names": list(trajectories.space.names),
            "channel_names": [channel.name for channel in trajectories.channels],
        },
    )


def numbered_fields(
    fields: NDArray[np.floating],
    mesh: Mesh,
    channels: abc.Sequence[Channel],
    space: Space,
    dimension: str,
) -> xr.Dataset:
    """Fields (n, channels, points) as forecasts are written, numbered from 1 along `dimension`."""
    numbers = np.arange(1.0, 1 + len(fields))
    return (
        Trajectories(
            sequences=(Sequence(numbers, fields.astype(np.float32), mesh),),
            channels=tuple(channels),
            space=space,
            clock=Clock(),
            groups=(0,),
        )
        .to_xarray()
        .isel(sequence=0)
        .rename(time=dimension)
        .assign_coords({dimension: numbers.astype(int)})
    )


def _writable_meshes(trajectories: Trajectories) -> list[Mesh]:
    """Meshes that fit in one array: as they are, or as scattered points if grids differ in size.

    A single mesh stands for all sequences.
    """
    meshes = shared_meshes(sequence.mesh for sequence in trajectories)
    structures = {
        # Along a single dimension the shorter ones are padded.
        (mesh.dims, mesh.coordinate_dims, mesh.shape if len(mesh.dims) > 1 else None)
        for mesh in meshes
    }
    if len(structures) > 1:
        meshes = shared_meshes(Mesh.scattered(mesh.coords, mesh.weights) for mesh in meshes)
    return meshes[:1] if all(mesh is meshes[0] for mesh in meshes) else meshes


def _channels(trajectories: Trajectories, meshes: list[Mesh]) -> Variables:
    if len(meshes) == 1 and len({sequence.num_snapshots for sequence in trajectories}) == 1:
        sources = [each.source for each in trajectories if isinstance(each.source, FileFields)]
        if len(sources) == len(trajectories):
            return _lazy_channels(trajectories, sources, meshes[0])
    num_times = max(sequence.num_snapshots for sequence in trajectories)
    grid = np.max([mesh.shape for mesh in meshes], axis=0)
    shape = (len(trajectories), num_times, int(np.prod(grid)))
    dtype = np.result_type(*(sequence.fields.dtype for sequence in trajectories))
    dims = (SEQUENCE, TIME, *meshes[0].dims)
    variables = {}
    for number, channel in enumerate(trajectories.channels):
        values = np.full(shape, np.nan, dtype)
        for target, sequence in zip(values, trajectories, strict=True):
            field = sequence.fields[:, number]
            if sequence.observed is not None:
                field = np.where(sequence.observed[:, number], field, np.nan)
            target[: field.shape[0], : field.shape[1]] = field
        on_grid = values.reshape(*shape[:2], *grid)
        variables[channel.name] = xr.Variable(dims, on_grid, _attributes(channel))
    return variables


def _lazy_channels(trajectories: Trajectories, sources: list[FileFields], mesh: Mesh) -> Variables:
    """Channels that stay where they are until the dataset is written or looked at."""
    import dask.array as da

    together = da.stack(
        [source.as_dask() for source in sources]
    )  # (sequence, time, channel, point)
    shape = (*together.shape[:2], *mesh.shape)
    return {
        channel.name: xr.Variable(
            (SEQUENCE, TIME, *mesh.dims),
            together[:, :, number].reshape(shape),
            _attributes(channel),
        )
        for number, channel in enumerate(trajectories.channels)
    }


def _attributes(channel: Channel) -> dict[str, str]:
    return _told({"units": channel.units, "long_name": channel.long_name})


def _times(trajectories: Trajectories) -> Variables:
    clock = trajectories.clock
    variable = _by_sequence((TIME,), [sequence.times for sequence in trajectories], {})
    attrs = _told({"units": clock.units if clock.kind == "number" else ""})
    return {TIME: xr.Variable(variable.dims, clock.to_values(variable.values), attrs)}


def _places(trajectories: Trajectories, meshes: list[Mesh]) -> Variables:
    """Coordinates along the dimensions they vary over, and weights unless they are the default."""
    space = trajectories.space
    variables = {}
    for column, (name, units) in enumerate(zip(space.names, space.units, strict=True)):
        attrs = _told({"units": units})
        if space.geometry == "sphere":
            attrs["standard_name"] = SPHERE_NAMES[column]
        axes = [mesh.axes[column] for mesh in meshes]
        variables[name] = _by_sequence(meshes[0].coordinate_dims[column], axes, attrs)
    if not all(_has_default_weights(mesh, trajectories) for mesh in meshes):
        weights = [mesh.weights.reshape(mesh.shape) for mesh in meshes]
        variables[WEIGHTS] = _by_sequence(meshes[0].dims, weights, {})
    return variables


def _has_default_weights(mesh: Mesh, trajectories: Trajectories) -> bool:
    if mesh.tessellation is not None:
        usual = point_weights(mesh.tessellation, trajectories.space.geometry)
        return np.array_equal(mesh.weights, usual)
    cells = default_cells(
        mesh.axes, mesh.dims, mesh.shape, mesh.coordinate_dims, trajectories.space.geometry
    )
    # Factor by factor where there are the same ones: a large grid need not be written out.
    if [along for along, _ in cells] == [along for along, _ in mesh.cells]:
        pairs = zip(cells, mesh.cells, strict=True)
        return all(np.array_equal(ours, theirs) for (_, ours), (_, theirs) in pairs)
    return np.array_equal(mesh.weights, replace(mesh, cells=cells).weights)


def _by_sequence(
    dims: tuple[str, ...], arrays: list[NDArray[np.float64]], attrs: dict[str, str]
) -> xr.Variable:
    """A variable over `dims` when all sequences agree, else over (sequence, *dims).

    Arrays of one dimension may differ in length.
    """
    if all(np.array_equal(array, arrays[0]) for array in arrays):
        return xr.Variable(dims, arrays[0].copy(), attrs)
    values = _padded(arrays) if len(dims) == 1 else np.stack(arrays)
    return xr.Variable((SEQUENCE, *dims), values, attrs)


def _padded(rows: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Rows of different length as a matrix, filled up with NaN."""
    matrix = np.full((len(rows), max(map(len, rows))), np.nan)
    for target, row in zip(matrix, rows, strict=True):
        target[: len(row)] = row
    return matrix


def _told(attrs: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in attrs.items() if value}
