"""Sensors on a page: where they stand and what they measured."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from smore.data import Mesh, Trajectories
from smore.data import Sequence as Snapshots
from smore.explore._truth import Snapshot
from smore.surrogate import Description

FloatArray = NDArray[np.float64]

# A picture with more sensors than this is no picture.
MOST_SENSORS = 2000


@dataclass(frozen=True, eq=False)
class Sensor:
    """One sensor.

    Args:
        number: its name.
        place: (dim,) where it stands.
        values: (channels,) what it measured, NaN for nothing.
    """

    number: int
    place: FloatArray
    values: FloatArray


@dataclass
class Sensors:
    """The sensors of a page.

    Args:
        num_channels: that they may measure.
        rows: themselves.
        seed: of the noise of their values, where these come from data.
    """

    num_channels: int
    rows: list[Sensor] = field(default_factory=list)
    seed: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def places(self) -> FloatArray:
        """(sensors, dim)."""
        return np.array([row.place for row in self.rows])

    @property
    def values(self) -> FloatArray:
        """(sensors, channels)."""
        return np.array([row.values for row in self.rows]).reshape(len(self), self.num_channels)

    def add(self, place: FloatArray, values: FloatArray | None = None) -> Sensor:
        """One more."""
        number = 1 + max((row.number for row in self.rows), default=0)
        nothing = np.full(self.num_channels, np.nan)
        self.rows.append(Sensor(number, place, nothing if values is None else values))
        return self.rows[-1]

    def keep(self, numbers: Iterable[int]) -> None:
        """Remove all others."""
        kept = set(numbers)
        self.rows = [row for row in self.rows if row.number in kept]

    def change(
        self, number: int, *, place: FloatArray | None = None, values: FloatArray | None = None
    ) -> None:
        """Another place or other values; nothing happens to a sensor that is gone."""
        for at, row in enumerate(self.rows):
            if row.number == number:
                self.rows[at] = replace(
                    row,
                    place=row.place if place is None else place,
                    values=row.values if values is None else values,
                )

    def measure(
        self, snapshot: Snapshot, measured: Sequence[int], noise: Mapping[int, float]
    ) -> None:
        """Let all of them stand at points of the data, and take the values from there.

        Args:
            snapshot: the data.
            measured: which channels they measure.
            noise: standard deviation that is added, by channel. It belongs to the point: a sensor
                that comes back finds its old value.
        """
        if not self.rows:
            return
        for row, point in zip(self.rows, snapshot.nearest(self.places).tolist(), strict=True):
            values = np.full(self.num_channels, np.nan)
            drawn = np.random.default_rng([self.seed, point]).standard_normal(self.num_channels)
            for channel in measured:
                exact = snapshot.values[point, channel]
                values[channel] = exact + noise.get(channel, 0.0) * drawn[channel]
            self.change(row.number, place=snapshot.places[point], values=values)

    def observations(self, description: Description, time: float) -> Trajectories | None:
        """What `infer` takes, with the channels and coordinates of the model; None if nothing."""
        table = [row for row in self.rows if np.isfinite(row.values).any()]
        if not table:
            return None
        values = np.array([row.values for row in table]).T[None]
        seen = np.isfinite(values)
        coords = np.array([row.place for row in table])
        mesh = Mesh.scattered(coords, np.ones(len(coords)))
        mask = None if seen.all() else seen
        sequence = Snapshots(np.array([time]), np.where(seen, values, 0.0), mesh, mask)
        return Trajectories(
            (sequence,), description.channels, description.space, description.clock, (0,)
        )

    def to_csv(self, description: Description, time: float) -> str:
        """The table as `smore forecast` reads it: blank where nothing was measured."""
        channels = np.flatnonzero(np.isfinite(self.values).any(axis=0)).tolist()
        names = [description.channels[number].name for number in channels]
        instant = description.clock.to_values(np.array([time]))[0]
        told = repr(float(instant)) if description.clock.kind == "number" else str(instant)
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(["time", *description.space.names, *names])
        for row in self.rows:
            values = [row.values[number] for number in channels]
            cells = [repr(float(value)) if np.isfinite(value) else "" for value in values]
            writer.writerow([told, *map(repr, map(float, row.place)), *cells])
        return file.getvalue()
