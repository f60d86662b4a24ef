"""Data brought into the form a model expects: its channels, its coordinates, its clock."""

from __future__ import annotations

from collections.abc import Sequence as Ordered
from dataclasses import replace

import numpy as np

from smore.data.sequence import Sequence
from smore.data.space import Channel, Clock, Space
from smore.data.trajectories import Trajectories
from smore.errors import DataError


def align(
    observations: Trajectories, channels: Ordered[Channel], space: Space, clock: Clock
) -> Trajectories:
    """`observations` with exactly these channels, in the order of the model's coordinates and time.

    Channels that are not there are unobserved.

    Raises:
        DataError: a channel or coordinate the model does not know, or another kind of time.
    """
    here = observations.space
    if here.geometry != space.geometry or set(here.names) != set(space.names):
        raise DataError(
            f"the model expected {space.geometry} coordinates {', '.join(space.names)}, got "
            f"{here.geometry} coordinates {', '.join(here.names)}; rename or convert them"
        )
    observations = observations.order_coordinates(space.names)
    for name, expected, given in zip(
        space.names, space.units, observations.space.units, strict=True
    ):
        require_units(f"coordinate '{name}'", expected, given)
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
    for position, channel in zip(positions, observations.channels, strict=True):
        require_units(f"channel '{channel.name}'", channels[position].units, channel.units)
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


def _align_clock(observations: Trajectories, clock: Clock) -> Trajectories:
    if observations.clock == clock:
        return observations
    require_units("time", clock.units, observations.clock.units)

    def retell(sequence: Sequence) -> Sequence:
        times = clock.to_numbers(observations.clock.to_values(sequence.times))
        return replace(sequence, times=times)

    sequences = tuple(retell(sequence) for sequence in observations)
    return replace(observations, sequences=sequences, clock=clock)


def require_units(what: str, expected: str, given: str) -> None:
    """Refuse other units than the model's; units nobody told are taken as right."""
    if expected and given and expected != given:
        raise DataError(
            f"the model has units '{expected}' for {what}, the data have '{given}'; convert them"
        )
