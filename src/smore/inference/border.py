"""Observations that would give a state without giving notice that they are wrong.

Whatever the numbers, a latent state comes out of a fit: kilometres taken for metres or two values
for one quantity show as a bad forecast, later, if at all. They are refused here.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.data import BoxMap, CoordinateMap, Mesh, Sequence, StoredFields, Trajectories
from smore.errors import DataError


@dataclass(frozen=True)
class _Repeats:
    """Points that are there more than once: `points` (n,) by number, `place` (n,) where.

    Points of the same place follow one another.
    """

    points: NDArray[np.intp]
    place: NDArray[np.intp]


def check_observations(observations: Trajectories, coordinate_map: CoordinateMap) -> None:
    """Refuse observations that no state of the model can mean.

    Args:
        observations: one snapshot per sequence, with the channels and coordinates of the model.
        coordinate_map: the domain of the model.

    Raises:
        DataError: nothing is observed in a sequence; an observed value is not finite, lies
            outside the domain (by more than `coordinate_map.outside` lets pass), or contradicts
            another one at the same point.
    """
    meshes = {id(sequence.mesh): sequence.mesh for sequence in observations}
    reaches_out = {key: coordinate_map.outside(mesh.reach).any() for key, mesh in meshes.items()}
    repeats = {key: _find_repeats(mesh) for key, mesh in meshes.items()}
    for number, sequence in enumerate(observations):
        assert sequence.num_snapshots == 1
        if not isinstance(sequence.source, StoredFields):  # these were checked on the way
            _require_values(observations, number)
        if reaches_out[id(sequence.mesh)]:
            _require_inside(observations, number, coordinate_map)
        if len(repeats[id(sequence.mesh)].points):
            _require_agreement(observations, number, repeats[id(sequence.mesh)])


def _require_values(observations: Trajectories, number: int) -> None:
    sequence = observations.sequences[number]
    observed = _observed(sequence)
    if not observed.any():
        names = ", ".join(channel.name for channel in observations.channels)
        raise DataError(
            f"expected at least one observed value of {names} in every sequence, sequence "
            f"{number} has none; leave it out"
        )
    bad = np.argwhere(observed & ~np.isfinite(sequence.fields[0]))
    if len(bad):
        channel, point = bad[0]
        raise DataError(
            f"'{observations.channels[channel].name}' must be finite where it is observed, is "
            f"{sequence.fields[0, channel, point]} in sequence {number} at "
            f"{_told(observations, number, point)}; correct it, or leave it out"
        )


def _require_inside(observations: Trajectories, number: int, coordinate_map: CoordinateMap) -> None:
    sequence, space = observations.sequences[number], observations.space
    points = np.flatnonzero(_observed(sequence).any(axis=0))
    coords = sequence.mesh.places(points)
    columns = np.flatnonzero(coordinate_map.outside(coords))
    if not len(columns):
        return
    column = columns[0]
    # `outside` tells about the farthest of some points: grow them until there is one outside.
    first = bisect_left(
        range(len(points)),
        True,
        key=lambda last: bool(coordinate_map.outside(coords[: last + 1])[column] > 0),
    )
    low, high = _domain(coordinate_map)[column]
    raise DataError(
        f"observations must lie in the domain that the model was trained on, where "
        f"'{space.names[column]}' is from {low:g} to {high:g} {space.units[column]}".rstrip()
        + f"; sequence {number} has one at {_told(observations, number, points[first])}; check "
        "the units and the order of the coordinates, or leave the point out"
    )


def _domain(coordinate_map: CoordinateMap) -> list[tuple[float, float]]:
    """Lower and upper end of every coordinate."""
    if isinstance(coordinate_map, BoxMap):
        return list(zip(coordinate_map.lower, coordinate_map.upper, strict=True))
    return [
        (coordinate_map.south, coordinate_map.north),
        (coordinate_map.west, coordinate_map.east),
    ]


def _require_agreement(observations: Trajectories, number: int, repeats: _Repeats) -> None:
    sequence = observations.sequences[number]
    for channel, seen in enumerate(_observed(sequence)):
        known = seen[repeats.points]
        points, place = repeats.points[known], repeats.place[known]
        values = sequence.fields[0, channel, points]
        differ = np.flatnonzero((place[1:] == place[:-1]) & (values[1:] != values[:-1]))
        if len(differ):
            one, other = values[differ[0] : differ[0] + 2]
            raise DataError(
                f"expected one value of '{observations.channels[channel].name}' at a point, "
                f"sequence {number} has {one} and {other} at "
                f"{_told(observations, number, points[differ[0]])}; average repeated measurements"
            )


def _find_repeats(mesh: Mesh) -> _Repeats:
    """The points that share their coordinates with another one."""
    if mesh.surely_distinct:
        return _Repeats(np.empty(0, np.intp), np.empty(0, np.intp))
    order = np.lexsort(mesh.coords.T)
    ordered = mesh.coords[order]
    as_before = np.concatenate(([False], (ordered[1:] == ordered[:-1]).all(axis=1)))
    repeated = as_before | np.append(as_before[1:], False)
    place = np.cumsum(~as_before)
    return _Repeats(order[repeated], place[repeated])


def _observed(sequence: Sequence) -> NDArray[np.bool_]:
    """(channels, points) which values of the snapshot are observed."""
    observed = sequence.observed
    if observed is None:
        return np.broadcast_to(np.True_, sequence.source.shape[1:])
    return observed[0]


def _told(observations: Trajectories, number: int, point: int) -> str:
    (coords,) = observations.sequences[number].mesh.places(np.array([point]))
    position = ", ".join(
        f"{name} = {x:g}" for name, x in zip(observations.space.names, coords, strict=True)
    )
    return f"point {point} ({position})"
