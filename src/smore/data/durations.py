"""Lengths of time as people say them: 6 hours, 1 month, 44.8 days."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smore.data.pace import DAY, Pace, days_of_year
from smore.data.space import Clock

_UNITS = (("days", DAY), ("hours", 3600.0), ("minutes", 60.0), ("s", 1.0))


class TimeUnit(NamedTuple):
    """In what periods and rates are told.

    Attributes:
        name: in the plural; "" where nobody told.
        length: in the data's units.
    """

    name: str
    length: float


def time_unit(clock: Clock, pace: Pace) -> TimeUnit:
    """The unit that goes with the steps of the data: months for monthly ones, and so on."""
    if clock.kind == "number":
        return TimeUnit(clock.units.split(" since ")[0], 1.0)
    if pace.months is not None:
        year = days_of_year(clock) * DAY
        return TimeUnit("years", year) if pace.months % 12 == 0 else TimeUnit("months", year / 12)
    return next(TimeUnit(name, size) for name, size in _UNITS if pace.scale >= size or size == 1.0)


def told_steps(clock: Clock, pace: Pace, steps: NDArray[np.float64]) -> str | None:
    """The steps of the data (in the data's units) in words; None where there are none."""
    if not len(steps):
        return None
    if pace.words is not None:
        return pace.words if pace.words[0].isdigit() else f"1 {pace.words}"
    low, high = (float(f"{value:.9g}") for value in (steps.min(), steps.max()))
    if clock.kind == "number":
        units = f" {clock.units.split(' since ')[0]}" if clock.units else ""
        return f"{low:g}{units}" if low == high else f"{low:g} to {high:g}{units}"
    return told_duration(low) if low == high else f"{told_duration(low)} to {told_duration(high)}"


def told_duration(seconds: float) -> str:
    """Seconds in the largest unit of which they are a whole number, or at least one."""
    for name, size in _UNITS:
        if seconds and seconds % size == 0:
            return _counted(seconds / size, name)
    name, size = next((u for u in _UNITS if seconds >= u[1]), _UNITS[-1])
    return _counted(float(f"{seconds / size:.6g}"), name)


def _counted(number: float, name: str) -> str:
    return f"{number:g} {name.removesuffix('s') if number == 1 and name != 's' else name}"
