"""Data brought into the form a model expects: its channels, its coordinates, its clock."""

from __future__ import annotations

import warnings
from collections.abc import Sequence as Ordered
from dataclasses import replace

import numpy as np

from smore.data.mesh import Mesh, shared_meshes
from smore.data.sequence import Sequence
from smore.data.space import Channel, Clock, Space
from smore.data.trajectories import Trajectories
from smore.data.units import conversion
from smore.errors import DataError, UnitsWarning

# A value in the model's units is factor * value + offset.
Way = tuple[float, float]
UNCHANGED: Way = (1.0, 0.0)


def align(
    observations: Trajectories, channels: Ordered[Channel], space: Space, clock: Clock
) -> Trajectories:
    """`observations` with exactly these channels, in the order of the model's coordinates and time.

    Channels that are not there are unobserved. Values, places and times in other units than the
    model's are converted, which is told (UnitsWarning).

    Raises:
        DataError: a channel or coordinate the model does not know, units that cannot be converted,
            or another kind of time.
    """
    here = observations.space
    if here.geometry != space.geometry or set(here.names) != set(space.names):
        raise DataError(
            f"the model expected {space.geometry} coordinates {', '.join(space.names)}, got "
            f"{here.geometry} coordinates {', '.join(here.names)}; rename or convert them"
        )
    observations = observations.order_coordinates(space.names)
    observations = _align_space(observations, space)
    return _align_clock(_align_channels(observations, channels), clock)


def _align_channels(observations: Trajectories, channels: Ordered[Channel]) -> Trajectories:
    known = [channel.name for channel in channels]
    given = [channel.name for channel in observations.channels]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise DataError(
            f"the model knows the channels {', '.join(known)}, the data have "
            f"{', '.join(unknown)} as well; select or rename the channels"
        )
    positions = [known.index(name) for name in given]
    ways = [
        way_of_units(f"channel '{channel.name}'", channels[position].units, channel.units)
        for position, channel in zip(positions, observations.channels, strict=True)
    ]
    if any(way != UNCHANGED for way in ways):
        observations = _converted(observations, ways)
        # They are in the model's units now, and must not be converted again.
        named = tuple(channels[position] for position in positions)
        observations = replace(observations, channels=named)
    if given == known:
        return observations

    def widen(sequence: Sequence) -> Sequence:
        num_times, _, num_points = sequence.fields.shape
        fields = np.zeros((num_times, len(known), num_points), dtype=sequence.fields.dtype)
        observed = np.zeros(fields.shape, dtype=bool)
        fields[:, positions] = sequence.fields
        observed[:, positions] = True if sequence.observed is None else sequence.observed
        return Sequence(sequence.times, fields, sequence.mesh, observed)

    sequences = tuple(widen(sequence) for sequence in observations)
    return replace(observations, sequences=sequences, channels=tuple(channels))


def _converted(observations: Trajectories, ways: list[Way]) -> Trajectories:
    """Every channel times its factor plus its offset."""
    if observations.is_lazy:
        raise DataError(
            "data that are streamed from their file cannot be converted to other units; convert "
            "them "
            "in the file"
        )
    factors, offsets = (np.array(each)[:, None] for each in zip(*ways, strict=True))

    def convert(sequence: Sequence) -> Sequence:
        fields = (factors * sequence.fields + offsets).astype(sequence.fields.dtype)
        if sequence.observed is not None:
            fields = np.where(sequence.observed, fields, 0)
        return Sequence(sequence.times, fields, sequence.mesh, sequence.observed)

    return replace(observations, sequences=tuple(map(convert, observations)))


def _align_space(observations: Trajectories, space: Space) -> Trajectories:
    """Places in the model's units."""
    ways = [
        way_of_units(f"coordinate '{name}'", expected, given)
        for name, expected, given in zip(
            space.names, space.units, observations.space.units, strict=True
        )
    ]
    if all(way == UNCHANGED for way in ways):
        return observations

    def convert(mesh: Mesh) -> Mesh:
        axes = tuple(
            factor * axis + offset for axis, (factor, offset) in zip(mesh.axes, ways, strict=True)
        )
        (along, first), *others = mesh.cells
        size = float(np.prod([factor for factor, _ in ways]))
        return replace(mesh, axes=axes, cells=((along, abs(size) * first), *others))

    meshes = shared_meshes(convert(sequence.mesh) for sequence in observations)
    sequences = tuple(map(Sequence.on, observations, meshes))
    return replace(observations, sequences=sequences, space=space)


def _align_clock(observations: Trajectories, clock: Clock) -> Trajectories:
    if observations.clock == clock:
        return observations
    way = way_of_units("time", clock.units, observations.clock.units)

    def retell(sequence: Sequence) -> Sequence:
        times = clock.to_numbers(observations.clock.to_values(sequence.times))
        return replace(sequence, times=way[0] * times + way[1])

    sequences = tuple(retell(sequence) for sequence in observations)
    return replace(observations, sequences=sequences, clock=clock)


def way_of_units(what: str, expected: str, given: str) -> Way:
    """From the data's units to the model's; units nobody told are taken as right."""
    if not expected or not given:
        return UNCHANGED
    way = conversion(given, expected)
    if way is None:
        raise DataError(
            f"the model has units '{expected}' for {what}, the data have '{given}', which cannot "
            "be converted; correct or convert them"
        )
    if way != UNCHANGED:
        warnings.warn(
            f"{what} is converted from '{given}' to the model's '{expected}'",
            UnitsWarning,
            stacklevel=4,
        )
    return way
