"""Observations as they come: values, each with its time, place, channel and sensor."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smore.data import Channel, Clock, Space
from smore.errors import DataError
from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """Values in the order of their times, in the model's units, coordinates and clock.

    Made by `read_stream` and `Stream.of`, which check everything.

    Args:
        times: (n,) numbers on the model's clock.
        coords: (n, dim).
        channels: (n,) numbers of the model's channels.
        values: (n,) in the data's units, finite.
        sensors: (n,) positions in `names`.
        names: of the sensors. One that nobody named is called by the place where it stands.
        repeated: how many values said again what another one had said.
    """

    times: FloatArray
    coords: FloatArray
    channels: NDArray[np.intp]
    values: FloatArray
    sensors: NDArray[np.intp]
    names: tuple[str, ...]
    repeated: int = 0

    @classmethod
    def of(
        cls,
        times: FloatArray,
        coords: FloatArray,
        values: FloatArray,
        sensors: Sequence[str] | None,
        surrogate: Surrogate,
    ) -> Stream:
        """A stream from a table with a row for every time and place, after checking it.

        Args:
            times: (rows,) numbers on the model's clock.
            coords: (rows, dim) in the order of the model's coordinates.
            values: (rows, channels of the model), NaN where nothing was observed.
            sensors: (rows,) names; None to tell sensors apart by where they stand.
            surrogate: the model.

        Raises:
            DataError: nothing observed, values that are not finite, places outside the domain, or
                values that contradict each other.
        """
        description = surrogate.description
        labels = _named_by_place(coords, description.space) if sensors is None else list(sensors)
        row, channel = np.nonzero(~np.isnan(values))
        names = tuple(dict.fromkeys(labels))
        number = {name: at for at, name in enumerate(names)}
        which = np.array([number[label] for label in labels], dtype=np.intp)
        found = cls(
            times[row],
            coords[row],
            channel.astype(np.intp),
            values[row, channel],
            which[row],
            names,
        )
        _require_usable(found, description.channels, description.clock)
        _require_inside(found, surrogate)
        return found.select(found._order()).once(surrogate)

    def once(self, surrogate: Surrogate) -> Stream:
        """Every value once, of a stream in order.

        Raises:
            DataError: values that contradict each other.
        """
        description = surrogate.description
        return _without_repeats(self, description.channels, description.clock)

    def _order(self) -> NDArray[np.intp]:
        return np.lexsort((self.channels, self.sensors, self.times))

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return (
            f"<Stream: {len(self):,} values of {len(self.names)} sensors at "
            f"{len(np.unique(self.times)):,} times>"
        )

    def select(self, which: NDArray | slice) -> Stream:
        """Some of the values."""
        return replace(
            self,
            times=self.times[which],
            coords=self.coords[which],
            channels=self.channels[which],
            values=self.values[which],
            sensors=self.sensors[which],
        )

    def without(self, names: Collection[str]) -> Stream:
        """All values but those of some sensors."""
        out = np.array([name in names for name in self.names], dtype=bool)
        return self.select(~out[self.sensors])

    def joined(self, more: Stream) -> Stream:
        """The values of both, in the order of their times; sensors of one name are one."""
        names = tuple(dict.fromkeys(self.names + more.names))
        number = {name: at for at, name in enumerate(names)}
        renamed = np.array([number[name] for name in more.names], dtype=np.intp)
        times = np.concatenate([self.times, more.times])
        both = Stream(
            times,
            np.concatenate([self.coords, more.coords]),
            np.concatenate([self.channels, more.channels]),
            np.concatenate([self.values, more.values]),
            np.concatenate([self.sensors, renamed[more.sensors]]),
            names,
            self.repeated + more.repeated,
        )
        return both.select(both._order())

    def by_time(self) -> Iterator[tuple[float, Stream]]:
        """The values of every time, one time after the other."""
        changes = np.flatnonzero(np.diff(self.times, prepend=-np.inf) > 0).tolist()
        for start, stop in zip(changes, [*changes[1:], len(self)], strict=False):
            yield float(self.times[start]), self.select(slice(start, stop))


def _named_by_place(coords: FloatArray, space: Space) -> list[str]:
    return [
        ", ".join(f"{name} = {x:.12g}" for name, x in zip(space.names, row, strict=True))
        for row in coords.tolist()
    ]


def _require_usable(stream: Stream, channels: Sequence[Channel], clock: Clock) -> None:
    if not len(stream):
        names = ", ".join(channel.name for channel in channels)
        raise DataError(f"expected at least one observed value of {names} in the stream, got none")
    for what, values in (("times", stream.times), ("coordinates", stream.coords.sum(1))):
        if not np.isfinite(values).all():
            raise DataError(f"{what} of observations must be finite; leave out those that are not")
    bad = np.flatnonzero(~np.isfinite(stream.values))
    if len(bad):
        first = bad[0]
        raise DataError(
            f"'{channels[stream.channels[first]].name}' must be finite where it is observed, is "
            f"{stream.values[first]} at {told(stream, first, clock)}; correct it, or leave it out"
        )


def _require_inside(stream: Stream, surrogate: Surrogate) -> None:
    description = surrogate.description
    inside = description.coordinate_map
    if not inside.outside(stream.coords).any():
        return
    for at in range(len(stream)):
        outside = inside.outside(stream.coords[at : at + 1])
        if outside.any():
            axis = description.space.names[int(outside.argmax())]
            raise DataError(
                "observations must lie in the domain that the model was trained on; along "
                f"'{axis}' there is one {outside.max():.1%} of its extent outside, at "
                f"{told(stream, at, description.clock)}; check the units and the order of the "
                "coordinates, or leave the point out"
            )


def _without_repeats(stream: Stream, channels: Sequence[Channel], clock: Clock) -> Stream:
    """`stream`, in order, with every value once."""
    keys = np.column_stack([stream.times, stream.sensors, stream.channels])
    again = np.append(False, (keys[1:] == keys[:-1]).all(axis=1))[: len(keys)]
    differs = np.flatnonzero(again[1:] & (stream.values[1:] != stream.values[:-1]))
    if len(differs):
        at = differs[0] + 1
        raise DataError(
            f"expected one value of '{channels[stream.channels[at]].name}' of a sensor at a time, "
            f"got {stream.values[at - 1]} and {stream.values[at]} at {told(stream, at, clock)}; "
            "average repeated measurements, or tell sensors apart by names"
        )
    return replace(stream.select(~again), repeated=stream.repeated + int(again.sum()))


def told(stream: Stream, at: int, clock: Clock) -> str:
    """Sensor and time of a value, safe to show."""
    name = "".join(c if c.isprintable() else "?" for c in stream.names[stream.sensors[at]][:80])
    time = clock.to_values(stream.times[at]) if np.isfinite(stream.times[at]) else "nan"
    return f"sensor '{name}', time {time}"
