"""What a figure tells: fields of some channels over time, beside the truth and error bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.data import Channel, Clock
from smore.errors import SettingsError
from smore.plotting.colours import Colours, error_colours, field_colours
from smore.plotting.ground import DEGREES, Ground, with_units
from smore.surrogate import Description

Array = NDArray[np.floating]
# (points, dim) where something was observed at each time; None for nowhere.
Marks = Sequence[Array | None]
# Channels that are drawn where nobody chooses.
MOST_CHANNELS = 6


@dataclass(frozen=True, eq=False)
class Row:
    """One kind of field over time.

    Args:
        label: what it shows.
        fields: (times, points); NaN where nothing is known.
        colours: of all times.
        units: beside the colours.
        marks: places to mark, such as sensors.
    """

    label: str
    fields: Array
    colours: Colours
    units: str = ""
    marks: Marks = ()

    def at(self, times: Sequence[int]) -> Row:
        """Some of the times, in the colours of all."""
        marks = [self.marks[time] for time in times] if self.marks else ()
        return Row(self.label, self.fields[times], self.colours, self.units, marks)


@dataclass(frozen=True, eq=False)
class Course:
    """One channel over time: (times, points) each, NaN where nothing is known.

    Args:
        channel: its name and units.
        values: what the model says.
        deviation: its standard deviation, if there is one.
        truth: what it is compared with, if anything.
        marks: where it was observed.
    """

    channel: Channel
    values: Array
    deviation: Array | None = None
    truth: Array | None = None
    marks: Marks = ()

    @property
    def quantity(self) -> str:
        return with_units(self.channel.name, self.channel.units)

    @property
    def error(self) -> Array | None:
        return None if self.truth is None else np.abs(self.values - self.truth)

    def rows(self, word: str) -> list[Row]:
        """Truth, what the model says (`word`), error and standard deviation, as far as known."""
        units = "" if self.channel.units == "1" else self.channel.units
        units = DEGREES.get(units, units)
        # The truth sets the scale: a forecast that went astray must not hide it.
        colours = field_colours(self.values if self.truth is None else self.truth)
        rows = [] if self.truth is None else [Row("truth", self.truth, colours, units)]
        rows.append(Row(word, self.values, colours, units, self.marks))
        for label, values in (("|error|", self.error), ("standard\ndeviation", self.deviation)):
            if values is not None:
                scale = error_colours(values, most=colours.high - colours.low)
                rows.append(Row(label, values, scale, units))
        return rows


@dataclass(frozen=True, eq=False)
class Story:
    """Some channels over time.

    Args:
        heading: what all of it is.
        word: what the values are: a forecast, an analysis.
        ground: where.
        times: (times,) numbers.
        clock: how times are told.
        courses: of each channel.
        snapshots: their numbers, where titles count them.
    """

    heading: str
    word: str
    ground: Ground
    times: NDArray[np.float64]
    clock: Clock
    courses: Sequence[Course]
    snapshots: Sequence[int] = ()

    def title(self, index: int) -> str:
        """Of one time."""
        told = told_time(self.times[index], self.clock)
        return f"snapshot {self.snapshots[index]}\n{told}" if self.snapshots else told


def told_time(time: float, clock: Clock) -> str:
    """A time as the data tell it, without the zeros of a full day."""
    when = clock.to_values(time)
    if clock.kind == "number":
        return f"t = {when:.4g} {clock.units}".strip()
    return str(when)[:16].replace("T", " ").removesuffix(" 00:00")


def panel_snapshots(length: int, columns: int = 5) -> list[int]:
    """Evenly spread snapshots; for twenty of them numbers 1, 5, 10, 15 and 20, counted from 1."""
    if length <= columns:
        return list(range(length))
    steps = np.round(np.arange(1, columns) * length / (columns - 1)).astype(int) - 1
    return sorted({0, *steps.tolist()})


def evenly(length: int, most: int) -> list[int]:
    """All numbers below `length`, or so many of them, ends included."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(int)).tolist()


def chosen_channels(description: Description, names: Sequence[str] | None) -> list[int]:
    """Numbers of the channels to draw; by default all, of very many the first.

    Raises:
        SettingsError: names that the model does not know.
    """
    known = [channel.name for channel in description.channels]
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise SettingsError(
            f"expected channels to draw out of {', '.join(known)}, got {', '.join(unknown)}"
        )
    return [known.index(name) for name in names or known[:MOST_CHANNELS]]


def left_out(description: Description, channels: Sequence[str] | None) -> str:
    """Words about channels that are not drawn, for a heading."""
    count = len(description.channels)
    if channels or count <= MOST_CHANNELS:
        return ""
    return f"; the first {MOST_CHANNELS} of {count} channels"
