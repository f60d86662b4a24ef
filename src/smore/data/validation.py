"""The border: data that cannot be used are refused here, before any work.

Every refusal says what was expected, what came, where, and what to do.
"""

from __future__ import annotations

import warnings
from collections import abc
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from smore.data.fields.file_fields import FileFields
from smore.data.fields.fill_values import certainly_values, unusable
from smore.data.mesh import Mesh
from smore.data.sequence import Sequence
from smore.data.space import GEOMETRIES, Geometry, Space
from smore.data.trajectories import Missing, Trajectories
from smore.errors import DataError, UnitsWarning, how_to_set


def validated(trajectories: Trajectories, missing: Missing) -> Trajectories:
    """`trajectories` with every number checked; with "mask", NaN turned into "not observed".

    Raises:
        DataError: for the first thing found that cannot be used.
    """
    if missing not in ("refuse", "mask"):
        raise DataError(f"missing must be 'refuse' or 'mask', got {missing!r}")
    seen: set[int] = set()
    for number, sequence in enumerate(trajectories):
        if id(sequence.mesh) not in seen:
            _check_mesh(sequence.mesh, trajectories.space, number)
            seen.add(id(sequence.mesh))
        _check_times(sequence, trajectories, number)
    if trajectories.is_lazy:  # numbers are looked at when they are read
        sequences = (
            replace(sequence, source=replace(sequence.source, number=number, missing=missing))
            for number, sequence in enumerate(trajectories)
            if isinstance(sequence.source, FileFields)
        )
    else:
        sequences = (
            _checked_fields(sequence, trajectories, number, missing)
            for number, sequence in enumerate(trajectories)
        )
    return replace(trajectories, sequences=tuple(sequences))


def require_snapshots(trajectories: Trajectories, minimum: int) -> None:
    """Refuse sequences of fewer than `minimum` snapshots."""
    for number, sequence in enumerate(trajectories):
        if sequence.num_snapshots < minimum:
            raise DataError(
                f"expected at least {minimum} snapshots in every sequence, sequence {number} has "
                f"{sequence.num_snapshots}; leave out the sequences that are too short"
            )


def require_some(count: int, what: str) -> None:
    """Refuse data with no `what` in them."""
    if count == 0:
        raise DataError(f"the data are empty: expected at least one {what}, got none")


def require_distinct(names: abc.Sequence[str], what: str) -> None:
    """Refuse the same name twice."""
    for name in names:
        if names.count(name) > 1:
            raise DataError(
                f"{what} names must differ, '{name}' is there {names.count(name)} times"
            )


def require_real(dtype: np.dtype, what: str) -> np.dtype:
    """The floating type in which values of `dtype` are kept: float32 and float64 as they are."""
    if dtype.kind not in "fiu":
        raise DataError(
            f"{what} must hold real numbers, got values of type {dtype}; leave it out, or convert "
            "it (a complex field: its real and imaginary parts as two channels)"
        )
    is_single = dtype.kind == "f" and dtype.itemsize <= 4  # in either byte order
    return np.dtype(np.float32) if is_single else np.dtype(np.float64)


def make_space(names: abc.Sequence[str], units: abc.Sequence[str], geometry: Geometry) -> Space:
    """A `Space` that is refused as data are, with DataError."""
    if geometry not in GEOMETRIES:
        raise DataError(f"geometry must be one of {', '.join(GEOMETRIES)}, got {geometry!r}")
    try:
        return Space(names=tuple(names), units=tuple(units), geometry=geometry)
    except ValidationError as error:
        raise DataError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None


def _check_mesh(mesh: Mesh, space: Space, number: int) -> None:
    if not all(np.isfinite(axis).all() for axis in mesh.axes):
        point, column = np.argwhere(~np.isfinite(mesh.coords))[0]
        raise DataError(
            f"coordinate '{space.names[column]}' of sequence {number} must be finite, is "
            f"{mesh.coords[point, column]} at {_place(mesh, point)}; remove the points without a "
            "position (padding of shorter sequences goes to the end, in all coordinates)"
        )
    # Coordinates stored in float32 may miss the pole by their last digit.
    if space.geometry == "sphere" and np.abs(mesh.axes[0]).max() > 90.0 * (1 + 1e-6):
        point = int(np.argmax(np.abs(mesh.coords[:, 0])))
        raise DataError(
            f"latitude '{space.names[0]}' of sequence {number} must lie in [-90, 90] degrees, "
            f"is {mesh.coords[point, 0]:g} at {_place(mesh, point)}; check the order (latitude, "
            f"longitude), or pass {how_to_set('geometry', 'box')} for plain coordinates"
        )
    if space.geometry == "sphere" and _covers_globe_in_radians(mesh):
        warnings.warn(
            f"'{space.names[0]}' and '{space.names[1]}' of sequence {number} are taken for "
            "degrees, but as radians they would cover the globe; convert them with numpy.rad2deg "
            "if they are",
            UnitsWarning,
            stacklevel=2,
        )
    if not all(_are_weights(factor) for _, factor in mesh.cells):
        raise DataError(
            f"quadrature weights of sequence {number} must be finite, not negative and not all "
            f"zero, range from {mesh.weights.min()} to {mesh.weights.max()}"
        )


def _covers_globe_in_radians(mesh: Mesh) -> bool:
    latitudes, longitudes = mesh.axes
    within = np.abs(latitudes).max() <= np.pi / 2 + 1e-6 and np.ptp(longitudes) <= 2 * np.pi + 1e-6
    return bool(within and np.ptp(latitudes) > 0.85 * np.pi and np.ptp(longitudes) > 1.7 * np.pi)


def _are_weights(factor: NDArray[np.float64]) -> bool:
    return bool(np.isfinite(factor).all() and (factor >= 0).all() and factor.any())


def _check_times(sequence: Sequence, trajectories: Trajectories, number: int) -> None:
    times = sequence.times
    require_some(len(times), f"snapshot in sequence {number}")
    bad = np.flatnonzero(~np.isfinite(times))
    if len(bad):
        raise DataError(
            f"times of sequence {number} must be finite, time index {bad[0]} is {times[bad[0]]}; "
            "remove the snapshots without a time (padding of shorter sequences goes to the end)"
        )
    bad = np.flatnonzero(np.diff(times) <= 0)
    if len(bad):
        before, after = trajectories.clock.to_values(times[bad[0] : bad[0] + 2])
        raise DataError(
            f"times of sequence {number} must increase strictly, but {before} at time index "
            f"{bad[0]} is followed by {after}; sort the snapshots and drop duplicates "
            "(dataset.sortby('time').drop_duplicates('time')), or put separate runs along a "
            "dimension 'sequence'"
        )


def _checked_fields(
    sequence: Sequence, trajectories: Trajectories, number: int, missing: Missing
) -> Sequence:
    fields = sequence.fields
    if certainly_values(fields):
        return sequence
    if (bad := unusable(fields, missing)) is not None:
        time, channel, point = np.argwhere(bad.where)[0]
        told = told_value(trajectories, sequence, number, (time, channel, point))
        raise DataError(
            f"'{trajectories.channels[channel].name}' must be a finite value, is "
            f"{fields[time, channel, point]:g} {told}; {bad.where.sum()} such values in this "
            f"sequence; {bad.remedy}"
        )
    known = ~np.isnan(fields)
    if known.all():
        return sequence
    if not known.any():
        raise DataError(
            f"sequence {number} has no observed value at all, every one is NaN; leave it out"
        )
    return Sequence(sequence.times, np.where(known, fields, 0), sequence.mesh, known)


def told_value(
    trajectories: Trajectories,
    sequence: Sequence,
    number: int,
    index: tuple[int, int, int],
    first: int = 0,
) -> str:
    """Where a value is: sequence, time and point.

    Args:
        trajectories: whose clock and space tell it.
        sequence: the one it is in.
        number: which one the user knows that as.
        index: (time, channel, point) there.
        first: the time index that the user knows the first snapshot by.
    """
    time, _, point = index
    (coords,) = sequence.mesh.places(np.array([point]))
    position = ", ".join(
        f"{name} = {x:g}" for name, x in zip(trajectories.space.names, coords, strict=True)
    )
    return (
        f"in sequence {number} at time index {first + time} "
        f"(time = {trajectories.clock.to_values(sequence.times[time])}), "
        f"{_place(sequence.mesh, point)} ({position})"
    )


def _place(mesh: Mesh, point: int) -> str:
    if len(mesh.shape) == 1:
        return f"point {point}"
    index = np.unravel_index(point, mesh.shape)
    where = ", ".join(f"{dim} index {i}" for dim, i in zip(mesh.dims, index, strict=True))
    return f"point {point} [{where}]"
