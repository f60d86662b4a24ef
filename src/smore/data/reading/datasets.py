"""Trajectories from xarray datasets."""

from __future__ import annotations

from collections import abc
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.fields.file_fields import FileFields, file_fields
from smore.data.mesh import Mesh, shared_meshes
from smore.data.quadrature import default_cells, with_cells
from smore.data.reading._decoding import made_plain
from smore.data.reading._layout import Layout, find_layout
from smore.data.reading._selecting import select
from smore.data.reading.request import ReadAs
from smore.data.reading.ugrid import unpacked
from smore.data.sequence import Sequence
from smore.data.space import SPHERE_UNITS, Channel, Clock, Space
from smore.data.trajectories import Trajectories
from smore.data.validation import make_space, require_real, require_some, validated
from smore.errors import DataError

TRAJECTORY = "trajectory"


def read_datasets(
    datasets: list[xr.Dataset],
    how: ReadAs,
    *,
    lazy: bool = False,
    notes: abc.Sequence[str] = (),
) -> Trajectories:
    """See `Trajectories.from_xarray`, and `Trajectories.open` for `lazy`.

    Args:
        datasets: one after the other.
        how: what the user says about them.
        lazy: whether fields stay where they are.
        notes: what was done to the datasets before, for the record.
    """
    require_some(len(datasets), "dataset")
    for dataset in datasets:
        if not isinstance(dataset, xr.Dataset):
            raise DataError(
                f"expected an xarray Dataset or a list of them, got {type(dataset).__name__}; name "
                "a single array and make it one: array.to_dataset(name='u')"
            )
    found = [plain(each, how) for each in datasets]
    chunked = any(each[n].chunks for each, layout in found for n in layout.channels)
    parts: list[Trajectories] = []
    for dataset, layout in found:
        parts.append(_read(dataset, layout, parts[0].clock if parts else None, lazy or chunked))
    made = validated(parts[0] if len(parts) == 1 else _joined(parts), how.missing)
    first = found[0][1].reading
    return replace(made, reading=replace(first, notes=(*notes, *first.notes)))


def plain(dataset: xr.Dataset, how: ReadAs) -> tuple[xr.Dataset, Layout]:
    """What is selected of a dataset, in plain words, and which variable plays which part.

    Cells are taken out of it before parts are looked for: what describes them is no channel.
    """
    dataset, selected = select(dataset, how.select)
    dataset, decoded = made_plain(dataset)
    dataset, cells = unpacked(dataset, how.channels or how.like.channels)
    layout = find_layout(dataset, how)
    dataset = dataset.isel(dict.fromkeys(layout.squeezed, 0), drop=True)
    record = layout.reading if cells is None else cells.recorded(layout.reading)
    notes = (*selected, *decoded, *record.notes)
    return dataset, replace(layout, cells=cells, reading=replace(record, notes=notes))


def _read(dataset: xr.Dataset, layout: Layout, clock: Clock | None, lazy: bool) -> Trajectories:
    """What one dataset holds, before any number is looked at."""
    space = _space(dataset, layout)
    fields = _fields(dataset, layout, lazy)
    clock, times = _times(dataset, layout, clock)
    meshes = _meshes(dataset, layout, space, shaped=layout.cells is None)
    if layout.cells is not None:
        cells = layout.cells.tessellation(space.names)
        meshes = [
            with_cells(meshes[0], cells, space.geometry, weighted=layout.weights is None)
        ] * len(meshes)
    sequences = tuple(
        Sequence(when, _unpadded_fields(values, len(when), mesh.num_points), mesh)
        for when, values, mesh in zip(times, fields, meshes, strict=True)
    )
    return Trajectories(
        sequences, _channels(dataset, layout), space, clock, _groups(dataset, layout)
    )


def _channels(dataset: xr.Dataset, layout: Layout) -> tuple[Channel, ...]:
    attributes = [(name, dataset[name].attrs) for name in layout.channels]
    return tuple(
        Channel(
            name=name,
            units=str(attrs.get("units", "")),
            long_name=str(attrs.get("long_name", "")),
        )
        for name, attrs in attributes
    )


def _space(dataset: xr.Dataset, layout: Layout) -> Space:
    default = SPHERE_UNITS if layout.geometry == "sphere" else ("",) * len(layout.coordinates)
    units = [
        str(dataset[name].attrs.get("units", "")) or usual
        for name, usual in zip(layout.coordinates, default, strict=False)
    ]
    return make_space(layout.coordinates, units, layout.geometry)


def _fields(
    dataset: xr.Dataset, layout: Layout, lazy: bool
) -> NDArray[np.floating] | list[FileFields]:
    """(times, channels, points) of every sequence.

    In memory it is a view of the dataset where one channel allows it. Variables that are dask
    arrays stay where they are, and others with them.
    """
    names = (layout.sequence, layout.time, *layout.space)
    dims = [name for name in names if name is not None]
    num_sequences, num_times = _num_sequences(dataset, layout), dataset.sizes.get(layout.time, 1)
    dtype = np.result_type(*(require_real(dataset[name].dtype, name) for name in layout.channels))
    variables = [dataset.variables[name] for name in layout.channels]
    shape = (num_sequences, num_times, *(dataset.sizes[name] for name in layout.space))
    if lazy:
        return file_fields(variables, names, shape, dtype)

    def channel(variable: xr.Variable) -> NDArray[np.floating]:
        return variable.transpose(*dims).values.reshape(num_sequences, num_times, -1)

    if len(variables) == 1:
        return channel(variables[0]).astype(dtype, copy=False)[:, :, None]
    num_points = int(np.prod(shape[2:]))
    fields = np.empty((num_sequences, num_times, len(variables), num_points), dtype)
    for number, variable in enumerate(variables):
        fields[:, :, number] = channel(variable)
    return fields


def _times(
    dataset: xr.Dataset, layout: Layout, clock: Clock | None
) -> tuple[Clock, list[NDArray[np.float64]]]:
    """The clock (the given one, if any) and the times (times,) of each sequence, unpadded."""
    variable = _time_variable(dataset, layout)
    dims = [name for name in (layout.sequence, layout.time) if name in variable.dims]
    values, units = variable.transpose(*dims).values, str(variable.attrs.get("units", ""))
    if clock is None:
        clock, times = Clock.from_values(values, units)
    else:
        times = clock.to_numbers(values)
        if clock.kind == "number" and units != clock.units:
            raise DataError(
                f"all datasets must have times in the same units, got '{clock.units}' and '{units}'"
            )
    times = times.reshape(-1, dataset.sizes.get(layout.time, 1))
    if layout.sequence in variable.dims:
        return clock, [each[: _unpadded(~np.isnan(each))] for each in times]
    return clock, [times[0]] * _num_sequences(dataset, layout)


def _time_variable(dataset: xr.Dataset, layout: Layout) -> xr.Variable:
    if layout.instants is not None:
        return dataset.variables[layout.instants]
    if layout.time is None:
        return xr.Variable((), 0.0)
    raise DataError(
        f"nothing says when the snapshots along dimension '{layout.time}' are; add times with "
        f"dataset.assign_coords({layout.time}=...) or smore data convert FILE OUT.nc --coord "
        f"{layout.time}=0:1"
    )


def _meshes(dataset: xr.Dataset, layout: Layout, space: Space, *, shaped: bool) -> list[Mesh]:
    """The mesh of each sequence, unpadded; `shaped`: weighted by the shape that its points have."""
    columns = [_over_space(dataset, layout, name) for name in layout.coordinates]
    measure = None if layout.weights is None else _over_space(dataset, layout, layout.weights)
    coordinate_dims = tuple(along for along, _ in columns)
    shape = tuple(dataset.sizes[name] for name in layout.space)

    def mesh(number: int) -> Mesh:
        axes = [values[number % len(values)] for _, values in columns]
        size = shape
        if len(shape) == 1:  # the end may be padding
            length = _unpadded(~np.all([np.isnan(axis) for axis in axes], axis=0))
            require_some(length, f"point in sequence {number}")
            axes, size = [_shortened(axis, length) for axis in axes], (length,)
        if measure is None:
            cells = default_cells(
                tuple(axes), layout.space, size, coordinate_dims, space.geometry, shaped=shaped
            )
        else:
            along, values = measure
            cells = ((along, _shortened(values[number % len(values)], size[0])),)
        return Mesh(tuple(axes), cells, layout.space, size, coordinate_dims)

    parts = columns if measure is None else [*columns, measure]
    if all(len(values) == 1 for _, values in parts):
        return [mesh(0)] * _num_sequences(dataset, layout)
    return shared_meshes(mesh(number) for number in range(_num_sequences(dataset, layout)))


def _over_space(
    dataset: xr.Dataset, layout: Layout, name: str
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The dimensions of space along which a variable varies, and its values over these.

    (sequences, ...), or (1, ...) when the same for all.
    """
    variable = dataset.variables[name]
    require_real(variable.dtype, f"'{name}'")
    along = tuple(str(dim) for dim in variable.dims if dim in layout.space)
    if layout.sequence in variable.dims:
        return along, variable.transpose(layout.sequence, *along).values.astype(np.float64)
    return along, variable.values.astype(np.float64)[None]


def _groups(dataset: xr.Dataset, layout: Layout) -> tuple[int, ...]:
    """From `trajectory(sequence)`, as numbers; each sequence on its own when there is none."""
    count = _num_sequences(dataset, layout)
    if TRAJECTORY not in dataset.variables or dataset[TRAJECTORY].dims not in (
        (),
        (layout.sequence,),
    ):
        return tuple(range(count))
    labels = np.broadcast_to(dataset[TRAJECTORY].values, count)  # one label may be for all
    if labels.dtype.kind not in "iu":
        _, labels = np.unique(labels.astype(str), return_inverse=True)
    return tuple(labels.tolist())


def _joined(parts: list[Trajectories]) -> Trajectories:
    """One after the other; trajectories of different datasets are different."""
    first = parts[0]
    groups: list[int] = []
    for number, part in enumerate(parts):
        for ours, theirs, what in (
            (first.channels, part.channels, "channels"),
            (first.space, part.space, "coordinates"),
        ):
            if ours != theirs:
                raise DataError(
                    f"all datasets must have the same {what}, dataset 0 has {ours} and dataset "
                    f"{number} has {theirs}"
                )
        offset = max(groups) + 1 - min(part.groups) if groups else 0
        groups += [group + offset for group in part.groups]
    sequences = [sequence for part in parts for sequence in part]
    meshes = shared_meshes(sequence.mesh for sequence in sequences)
    return Trajectories(
        tuple(map(Sequence.on, sequences, meshes)),
        first.channels,
        first.space,
        first.clock,
        tuple(groups),
    )


def _num_sequences(dataset: xr.Dataset, layout: Layout) -> int:
    return 1 if layout.sequence is None else dataset.sizes[layout.sequence]


def _unpadded_fields(
    values: NDArray[np.floating] | FileFields, num_times: int, num_points: int
) -> NDArray[np.floating] | FileFields:
    if isinstance(values, FileFields):
        values = values.snapshots(slice(num_times))
        padded = num_points < values.shape[2]
        return values.points(np.arange(num_points)) if padded else values
    return values[:num_times, :, :num_points]


def _shortened(axis: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """The start of an axis; a value that is the same along it stays as it is."""
    return axis[:length] if axis.ndim else axis


def _unpadded(present: NDArray[np.bool_]) -> int:
    """Length up to the last entry that is there."""
    return int(np.max(np.flatnonzero(present), initial=-1)) + 1
