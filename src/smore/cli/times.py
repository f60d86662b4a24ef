"""When to forecast, as people write it.

0.5,1.0             numbers, on the data's clock
0.5:10:0.5          START:STOP:STEP, STOP included
1980-01-15          ISO dates
1980-01:1981-12:1M  dates; steps of s, min, h, d, w, M (months) or Y (years)
+10d:1d             for ten days after the observations (of a stream: after its last time), every
                    day; without :1d by training steps
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from smore.data import DAY, Clock, Pace, conversion, dates_of_months, month_numbers
from smore.errors import SettingsError

_DATE = r"-?\d{4}-\d{1,2}(?:-\d{1,2}(?:[T ]\d{1,2}(?::\d{2}(?::\d{2}(?:\.\d+)?)?)?)?)?"
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_DATE}|{_NUMBER}):({_DATE}|{_NUMBER}):(\S+)")
_SPAN = re.compile(rf"({_NUMBER})\s*([a-zA-Z]*)")
_MONTH = re.compile(r"(-?\d{4})-(\d{1,2})")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": DAY, "w": 7 * DAY}
_MONTHS = {"M": 1, "Y": 12}
# A forecast at so many times is a slip of the pen.
MOST_TIMES = 1_000_000


def parse_times(
    text: str,
    clock: Clock,
    pace: Pace | None = None,
    start: float | None = None,
    option: str = "--times",
) -> NDArray[np.generic]:
    """Times as the user writes them, on the model's clock.

    Args:
        text: see above.
        clock: the model's.
        pace: the model's steps, by which months are told and times after the observations.
        start: the time of the observations, for what is told from there.
        option: what the user calls it, for messages.

    Raises:
        SettingsError: the text cannot be understood.
    """
    pace = Pace(scale=1.0) if pace is None else pace
    try:
        return clock.to_values(_numbers(text.strip(), clock, pace, start))
    except (ValueError, OverflowError) as error:
        if isinstance(error, SettingsError):
            raise SettingsError(f"{option} {error}") from None
        kind = "ISO dates" if clock.kind == "datetime" else "numbers"
        if clock.calendar is not None:
            kind += f" of the calendar '{clock.calendar}'"
        step = "1d, 6h or 1M" if clock.kind == "datetime" else "a number"
        raise SettingsError(
            f"{option} takes {kind} separated by commas, START:STOP:STEP with {step} for STEP, or "
            f"+SPAN:STEP from the observations on, got {text!r}"
        ) from None


def parse_steps(first: str, step: str, count: int) -> NDArray[np.generic]:
    """`count` dates from `first` on, a `step` such as 6h or 1M apart."""
    month = f"{first}-01" if _MONTH.fullmatch(first) else first
    clock, _ = Clock.from_values(np.array([month], dtype="datetime64[us]"))
    size, months = _span(step, clock)
    start = float(clock.to_numbers(clock.read([month]))[0])
    if months:
        return clock.to_values(_months_later(start, months * np.arange(count), clock))
    return clock.to_values(start + size * np.arange(count))


def _numbers(text: str, clock: Clock, pace: Pace, start: float | None) -> NDArray[np.float64]:
    if text.startswith("+"):
        if start is None:
            raise SettingsError(f"{text} counts from observations, and there are none here")
        span, _, step = text[1:].partition(":")
        return _after(start, span, step, clock, pace)
    if (found := _RANGE.fullmatch(text)) is not None:
        first, last = (_instant(end, clock, pace) for end in found.groups()[:2])
        return _stepped(first, last, found[3], clock, text)
    if ":" in text and clock.kind != "datetime":
        raise ValueError(text)
    times = np.array([_instant(part.strip(), clock, pace) for part in text.split(",")])
    if not np.isfinite(times).all():
        raise ValueError(text)
    return times


def _instant(text: str, clock: Clock, pace: Pace) -> float:
    """A time as a number; of monthly data 1980-01 is the day that January has there."""
    if clock.kind != "datetime":
        return float(text)
    if (found := _MONTH.fullmatch(text)) is not None:
        number = 12 * int(found[1]) + int(found[2]) - 1
        if not 1 <= int(found[2]) <= 12:
            raise ValueError(text)
        share = 0.0 if pace.months is None else pace.phase % 1
        return float(dates_of_months(clock, np.array([number]), share)[0])
    return float(clock.to_numbers(clock.read([text]))[0])


def _stepped(first: float, last: float, step: str, clock: Clock, text: str) -> NDArray[np.float64]:
    size, months = _span(step, clock)
    if not size > 0 or last < first:
        raise SettingsError(f"{text}: START:STOP:STEP needs STOP >= START, STEP > 0")
    count = int((last - first) / size + 1e-9) + (2 if months else 1)
    if count > MOST_TIMES:
        raise SettingsError(f"{text} are {count:,} times; take larger steps")
    if not months:
        return np.asarray(first + size * np.arange(count))
    times = _months_later(first, months * np.arange(count), clock)
    return times[times <= last * (1 + 1e-12)]


def _after(start: float, span: str, step: str, clock: Clock, pace: Pace) -> NDArray[np.float64]:
    reach, reach_months = _span(span, clock)
    end = (
        float(_months_later(start, np.array([reach_months]), clock)[0])
        if reach_months
        else start + reach
    )
    if not reach > 0:
        raise SettingsError(f"+{span} must reach beyond the observations")
    if step:
        return _stepped(start, end, step, clock, f"+{span}:{step}")[1:]
    count = int(min(reach / pace.scale * 1.1 + 2, MOST_TIMES))
    times = pace.later(start, np.arange(1.0, count + 1), clock)
    within = times[times <= end + 1e-6 * pace.scale]
    return np.asarray(within if len(within) else [end])


def _span(text: str, clock: Clock) -> tuple[float, int]:
    """A length of time in the clock's units, and in months where it is a number of these."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    number, unit = float(found[1]), found[2]
    if clock.kind == "datetime" and unit in _MONTHS:
        months = number * _MONTHS[unit]
        if months != round(months):
            raise SettingsError(f"{text}: expected whole months")
        return months * 28 * DAY, int(months)
    if clock.kind != "datetime" and not unit:
        return number, 0
    if unit not in _SECONDS:
        raise ValueError(text)
    seconds = number * _SECONDS[unit]
    if clock.kind != "number":
        return seconds, 0
    factor = conversion("s", clock.units.split(" since ")[0])
    if factor is None or not clock.units:
        raise SettingsError(f"{text}: the model's times are in {clock.units or 'no units'}")
    return seconds * factor[0], 0


def _months_later(first: float, months: NDArray[np.integer], clock: Clock) -> NDArray[np.float64]:
    """The same share of later months."""
    number = float(month_numbers(clock, np.array(first)))
    whole = int(np.floor(number + 1e-9))
    return dates_of_months(clock, whole + months.astype(np.int64), max(number - whole, 0.0))
