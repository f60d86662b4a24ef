"""Trajectories from plain numpy arrays."""

from __future__ import annotations

from collections import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smore.data.mesh import POINT, Mesh, shared_meshes
from smore.data.quadrature import default_cells
from smore.data.sequence import Arrays, Sequence, per_sequence
from smore.data.space import SPHERE_NAMES, SPHERE_UNITS, Channel, Clock, Geometry, Space
from smore.data.trajectories import Missing, Trajectories
from smore.data.validation import (
    make_space,
    require_distinct,
    require_real,
    require_some,
    validated,
)
from smore.errors import DataError


def read_arrays(
    fields: Arrays,
    coords: Arrays,
    times: Arrays,
    channels: abc.Sequence[str | Channel] | None,
    weights: Arrays | None,
    geometry: Geometry,
    coordinate_names: abc.Sequence[str] | None,
    missing: Missing,
) -> Trajectories:
    """See `Trajectories.from_arrays`."""
    snapshots = _fields_by_sequence(fields)
    count = len(snapshots)
    positions = _per_sequence(coords, 2, count, "coordinate array (points, dim)")
    moments = _per_sequence(times, 1, count, "time array (times,)")
    for number, arrays in enumerate(zip(snapshots, moments, positions, strict=True)):
        _check_shapes(number, *arrays)

    names = _channels(channels, snapshots[0].shape[1])
    space = _space(coordinate_names, positions[0].shape[1], geometry)
    clock, numbers = _told(moments)
    if weights is None:
        meshes = _meshes(positions, [None] * count, space)
    else:
        meshes = _meshes(positions, _per_sequence(weights, 1, count, "weight array"), space)
    sequences = tuple(map(Sequence, numbers, snapshots, meshes))
    return validated(Trajectories(sequences, names, space, clock, tuple(range(count))), missing)


def _fields_by_sequence(fields: Arrays) -> list[NDArray]:
    """(times, channels, points) arrays in float32 or float64, without a copy where they are."""
    fields = _plain(fields, 3, "array (sequences, times, channels, points)")
    require_some(len(fields), "sequence")
    alone = np.ndim(fields[0]) == 2
    arrays = [np.asarray(each) for each in ([fields] if alone else fields)]
    for number, array in enumerate(arrays):
        if array.ndim != 3 or array.shape[1] != arrays[0].shape[1]:
            raise DataError(
                "expected fields (sequences, times, channels, points) with the same channels in "
                f"every sequence, got {array.shape} for sequence {number} and {arrays[0].shape} "
                "for sequence 0"
            )
    return [array.astype(require_real(array.dtype, "fields"), copy=False) for array in arrays]


def _per_sequence(values: Any, ndim: int, count: int, what: str) -> list[NDArray]:
    """`per_sequence`, of plain arrays."""
    return per_sequence(_plain(values, ndim, what), ndim, count, what)


def _plain(values: Any, ndim: int, what: str) -> Arrays:
    """One array of `ndim` or more dimensions, or a list of arrays; see `_unmasked`."""
    try:
        if isinstance(values, list | tuple):
            parts = [_unmasked(each) for each in values]
            return np.asarray(parts) if parts and parts[0].ndim == ndim - 1 else parts
        array = _unmasked(values)
        len(array)  # a number has none, nor has what numpy cannot read
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"expected one {what} or a list of them, got {type(values).__name__}: {error}"
        ) from None
    return array


def _unmasked(values: Any) -> NDArray:
    """NaN (NaT) in place of masked values: nobody sees the numbers behind the mask."""
    if not np.ma.is_masked(values):
        return np.asarray(values)
    if values.dtype.kind in "mM":
        return values.filled("NaT")
    return values.astype(require_real(values.dtype, "a masked array")).filled(np.nan)


def _told(moments: list[NDArray]) -> tuple[Clock, list[NDArray[np.float64]]]:
    """The clock that tells all times, and the times on it."""
    kinds = {when.dtype.kind if when.dtype.kind in "mM" else "number" for when in moments}
    if len(kinds) > 1:
        types = sorted({str(when.dtype) for when in moments})
        raise DataError(
            f"times must be told in one way, got {' and '.join(types)} values; convert them"
        )
    clock, _ = Clock.from_values(np.concatenate(moments))
    return clock, [clock.to_numbers(when) for when in moments]


def _check_shapes(number: int, fields: NDArray, times: NDArray, coords: NDArray) -> None:
    if coords.ndim != 2 or times.ndim != 1:
        raise DataError(
            f"expected coordinates (points, dim) and times (times,), got {coords.shape} and "
            f"{times.shape} for sequence {number}"
        )
    require_some(coords.shape[1], "coordinate (column of coords)")
    num_times, _, num_points = fields.shape
    if len(coords) != num_points:
        raise DataError(
            f"coordinates and fields must have the same points: sequence {number} has "
            f"{len(coords)} coordinates and fields {fields.shape} (times, channels, points) "
            f"at {num_points} points"
        )
    if len(times) != num_times:
        raise DataError(
            f"times and fields must have the same snapshots: sequence {number} has {len(times)} "
            f"times and fields {fields.shape} (times, channels, points) of {num_times} snapshots"
        )
    for size, what in zip(fields.shape, ("snapshot", "channel", "point"), strict=True):
        require_some(size, what)


def _channels(channels: abc.Sequence[str | Channel] | None, count: int) -> tuple[Channel, ...]:
    if channels is None:
        channels = [f"u{number}" for number in range(count)]
    for each in channels:
        if not isinstance(each, str | Channel):
            raise DataError(f"expected names of channels, got {each!r}")
    named = tuple(Channel(name=each) if isinstance(each, str) else each for each in channels)
    require_distinct([channel.name for channel in named], "channel")
    if len(named) != count:
        raise DataError(f"expected a name for each of {count} channels, got {len(named)}")
    return named


def _space(names: abc.Sequence[str] | None, dim: int, geometry: Geometry) -> Space:
    if names is None and geometry == "sphere":
        names = SPHERE_NAMES
    elif names is None:
        names = tuple("xyz"[:dim]) if dim <= 3 else tuple(f"x{axis}" for axis in range(dim))
    if len(names) != dim:
        raise DataError(
            f"expected a name for each of {dim} coordinates (columns of coords), got {tuple(names)}"
        )
    units = SPHERE_UNITS if geometry == "sphere" else ("",) * dim
    return make_space(names, units, geometry)


def _meshes(
    positions: list[NDArray], weights: abc.Sequence[NDArray | None], space: Space
) -> list[Mesh]:
    made: dict[tuple[int, int], Mesh] = {}
    for number, (coords, given) in enumerate(zip(positions, weights, strict=True)):
        if (id(coords), id(given)) not in made:
            made[id(coords), id(given)] = _mesh(coords, given, space, number)
    return shared_meshes(
        made[id(coords), id(given)] for coords, given in zip(positions, weights, strict=True)
    )


def _mesh(coords: NDArray, weights: NDArray | None, space: Space, number: int) -> Mesh:
    if coords.shape[1] != space.dim:
        raise DataError(
            f"expected {space.dim} coordinates as in sequence 0, got {coords.shape[1]} in "
            f"sequence {number}"
        )
    require_real(coords.dtype, "coordinates")
    coords = np.array(coords, dtype=np.float64)
    if weights is None:
        along = ((POINT,),) * space.dim
        shape = (len(coords),)
        ((_, found),) = default_cells(tuple(coords.T), (POINT,), shape, along, space.geometry)
        weights = np.broadcast_to(found, shape)
    require_real(weights.dtype, "weights")
    if weights.shape != (len(coords),):
        raise DataError(
            f"expected one quadrature weight for each of {len(coords)} points, got weights "
            f"{weights.shape} for sequence {number}"
        )
    return Mesh.scattered(coords, np.array(weights, dtype=np.float64))
