"""Dates of calendars that numpy does not know: years without leap days, months of 30 days."""

from __future__ import annotations

import re

import cftime
import numpy as np
from numpy.typing import NDArray

from smore.errors import DataError

CALENDARS = (
    "noleap",
    "365_day",
    "360_day",
    "all_leap",
    "366_day",
    "julian",
    "standard",
    "gregorian",
    "proleptic_gregorian",
)
_ISO_DATE = re.compile(
    r"(-?\d{1,4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?"
)


def calendar_of(values: NDArray) -> str | None:
    """The calendar of an array of `cftime` dates; None for anything else."""
    if values.dtype != object or not values.size:
        return None
    calendars = {str(getattr(value, "calendar", "")) for value in values.flat}
    if "" in calendars:
        return None
    if len(calendars) > 1:
        raise DataError(f"times must be of one calendar, got {', '.join(sorted(calendars))}")
    return calendars.pop()


def seconds_since(values: NDArray, reference: str, calendar: str) -> NDArray[np.float64]:
    """`cftime` dates -> seconds, to the microsecond."""
    microseconds = cftime.date2num(values, f"microseconds since {reference}", calendar)
    return np.asarray(microseconds, dtype=np.int64) / 1e6


def dates_after(seconds: NDArray[np.float64], reference: str, calendar: str) -> NDArray:
    """Seconds -> `cftime` dates, to the microsecond."""
    microseconds = np.rint(seconds * 1e6).astype(np.int64)
    dates = cftime.num2date(microseconds, f"microseconds since {reference}", calendar)
    return np.asarray(dates, dtype=object)


def read_date(text: str, calendar: str) -> cftime.datetime:
    """The date that an ISO text such as 2001-02-28 or 2001-02-28T12:30 tells.

    Raises:
        ValueError: no such text, or no such date in this calendar.
    """
    found = _ISO_DATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no ISO date")
    *parts, fraction = found.groups(default="0")
    microsecond = int(fraction.ljust(6, "0"))
    return cftime.datetime(*map(int, parts), microsecond, calendar=calendar)
