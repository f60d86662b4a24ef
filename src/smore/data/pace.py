"""From the data's times to model time, in which a training step has length 1.

Months and years are steps to the people who make records of them, though no two months need have
the same length. Where dates come once a month, once a quarter or once a year, model time counts
calendar months; everywhere else it is the data's time in other units.
"""

from __future__ import annotations

import cftime
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from smore.data.space import Clock
from smore.data.trajectories import Trajectories

DAY = 86400.0
# Dates that are less than this share of a month from a whole step are meant to be one: records of
# the middle of a month, or of its last day.
NEARLY = 0.12
DAYS_OF_YEAR = {"noleap": 365.0, "365_day": 365.0, "360_day": 360.0, "all_leap": 366.0}


class Pace(BaseModel):
    """How model time follows the data's.

    Attributes:
        scale: unit of model time in the data's units; its mean where months differ.
        months: calendar months in a unit of model time; None where it is no number of months.
        phase: months since the beginning of the year 0 at which model time was 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    scale: float = Field(gt=0)
    months: int | None = Field(default=None, ge=1)
    phase: float = 0.0

    @classmethod
    def of(cls, trajectories: Trajectories) -> Pace:
        """The pace at which the median step of the data has length 1."""
        steps = np.concatenate([np.diff(sequence.times) for sequence in trajectories])
        typical = float(f"{np.median(steps):.12g}")
        plain = cls(scale=typical)
        clock = trajectories.clock
        month = days_of_year(clock) * DAY / 12
        months = round(typical / month)
        if clock.kind != "datetime" or months < 1:
            return plain
        counted = [month_numbers(clock, sequence.times) for sequence in trajectories]
        calendar = cls(scale=months * month, months=months, phase=float(counted[0][0] % months))
        if all(calendar._is_whole(each).all() for each in counted):
            return calendar
        return plain

    def __call__(self, times: NDArray[np.float64], clock: Clock) -> NDArray[np.float64]:
        """Model times of times on `clock`, of any shape."""
        if self.months is None:
            return times / self.scale
        counted = month_numbers(clock, times)
        steps = (counted - self.phase) / self.months
        return np.where(self._is_whole(counted), steps.round(), steps)

    def later(
        self, start: float, steps: NDArray[np.floating], clock: Clock
    ) -> NDArray[np.floating]:
        """The times that are whole `steps` of model time after `start`: its day of later months."""
        if self.months is None:
            return start + self.scale * steps
        number = float(month_numbers(clock, np.array(start)))
        share = (self.phase if self._is_whole(np.array(number)) else number) % 1
        first = round(number - share)
        return dates_of_months(clock, first + self.months * steps.astype(np.int64), share)

    @property
    def words(self) -> str | None:
        """A unit of model time as people say it; None where it is a plain number of the data's."""
        if self.months is None:
            return None
        count, unit = self.months, "month"
        if count % 12 == 0:
            count, unit = count // 12, "year"
        return unit if count == 1 else f"{count} {unit}s"

    def _is_whole(self, counted: NDArray[np.float64]) -> NDArray[np.bool_]:
        assert self.months is not None
        steps = (counted - self.phase) / self.months
        return np.asarray(np.abs(steps - steps.round()) * self.months < NEARLY)


def days_of_year(clock: Clock) -> float:
    """The mean length of a year of dates on `clock`."""
    return DAYS_OF_YEAR.get(clock.calendar or "", 365.2425)


def month_numbers(clock: Clock, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Months since the beginning of the year 0, with the share of the month that has passed."""
    dates = clock.to_values(times)
    if clock.calendar is None:
        whole = dates.astype("datetime64[M]")
        begin, end = (each.astype(dates.dtype) for each in (whole, whole + np.timedelta64(1, "M")))
        return np.asarray(12 * 1970 + whole.astype(np.int64) + (dates - begin) / (end - begin))
    numbers = [_month_number(date) for date in dates.ravel()]
    return np.array(numbers, dtype=np.float64).reshape(dates.shape)


def dates_of_months(
    clock: Clock, numbers: NDArray[np.integer], share: float
) -> NDArray[np.float64]:
    """The instants on `clock` at which a share of each month has passed; inverse of the above."""
    if clock.calendar is None:
        whole = (numbers - 12 * 1970).astype("datetime64[M]")
        begin, end = (
            clock.to_numbers(each.astype("datetime64[us]"))
            for each in (whole, whole + np.timedelta64(1, "M"))
        )
    else:
        begin, end = (
            clock.to_numbers(
                np.array(
                    [
                        cftime.datetime(number // 12, number % 12 + 1, 1, calendar=clock.calendar)
                        for number in which.tolist()
                    ],
                    dtype=object,
                )
            )
            for which in (numbers, numbers + 1)
        )
    instants = begin + share * (end - begin)
    # A share of a month of another length may miss the full hour by a second or so.
    return np.asarray(np.round(instants / 3600) * 3600 if share else instants)


def _month_number(date: cftime.datetime) -> float:
    begin = cftime.datetime(date.year, date.month, 1, calendar=date.calendar)
    passed = (date - begin).total_seconds() / DAY
    return 12 * date.year + date.month - 1 + passed / date.daysinmonth
