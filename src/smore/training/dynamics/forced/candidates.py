"""What is tried: centres, sizes, and ridge regressions that shrink towards simple forecasts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from smore.data import DAY, Clock, Pace, days_of_year
from smore.training.dynamics.forced.record import Record

# Harmonics of a year, and the years that a record must have for them; likewise of a day.
YEAR_HARMONICS = {1: 1.2, 2: 1.2, 4: 4.0}
DAY_HARMONICS = {2: 2.5}
HARMONICS_OF_KNOWN = (1, 2, 4)
# Frequencies that are looked for in the data, where a record is long enough for so many.
FOUND = (1, 3)
ROWS_PER_FOUND = 5
# Above this many turns per step a function looks like a slower one.
HALF_A_TURN = 0.5

COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 30, 40, 50, 60, 80, 120, 160, 200, 250, 300, 400)
LEVELS = tuple(10.0**-digits for digits in (1, 2, 3, 4, 6, 9, 14))
RIDGES = (0.0, 1e-18, 1e-15, 1e-13, 1e-11, 1e-8, 1e-5, 1e-3, 0.03, 1.0)
POWERS = (0.0, 0.5)
# Shares of a record, its end, that are learned from: what a transient was at first says little
# about how it goes on. From less than so many rows nothing is learned.
SHARES = (1.0, 0.6, 0.35)
LEAST_ROWS = 12
# What is said about a line or a period goes beyond the record: it has to gain this much, as a
# logarithm of the squared error; likewise what forgets a part of it.
EXTRAPOLATES, FORGETS = 0.3, 0.1


class CentreKind(NamedTuple):
    """Functions of time that the centre consists of, beside a constant.

    Args:
        frequencies: known ones, turns per unit of model time.
        trend: whether there is a straight line.
        found: how many frequencies are to be found in the data.
    """

    frequencies: tuple[float, ...] = ()
    trend: bool = False
    found: int = 0

    @property
    def plain(self) -> bool:
        return self == CentreKind()


class Size(NamedTuple):
    """Leading directions of the departures: a number, or all above a share of the largest.

    The number that a share stands for grows with the record.
    """

    number: int | None = None
    level: float = 0.0


class Shrinkage(NamedTuple):
    """A ridge regression, and what it shrinks towards.

    Args:
        ridge: relative to the variance of the leading direction; infinite for a map that is not
            fitted at all.
        towards: φ of the map φ · 1 that the ridge shrinks towards.
        power: of a direction's variance, by which its share of the ridge grows: 0 shrinks weak
            directions most.
    """

    ridge: float
    towards: float
    power: float = 0.0


class Candidate(NamedTuple):
    """A member of the family.

    Args:
        centre: of the states.
        drift: whether there is a constant term.
        size: of the linear map.
        shrinkage: of its regression.
        share: of the record, its end, that it is learned from.
    """

    centre: CentreKind
    drift: bool
    size: Size
    shrinkage: Shrinkage
    share: float = 1.0

    @property
    def handicap(self) -> float:
        """What it has to gain to be taken."""
        extrapolates = self.centre.trend + (self.centre.found > 0)
        return EXTRAPOLATES * extrapolates + FORGETS * (self.share < 1)


def centre_kinds(
    record: Record, pace: Pace, clock: Clock, periods: Sequence[float] | None
) -> list[CentreKind]:
    """What the record is long enough for.

    Args:
        record: the training states.
        pace: of model time.
        clock: of the data.
        periods: known to the user, in the data's units; None to try those of the calendar.
    """
    known = _known(record, pace, clock, periods)
    found = [CentreKind(each) for each in known]
    found += [CentreKind(each, trend=True) for each in known]
    if periods is None:
        found += [
            CentreKind(found=count)
            for count in FOUND
            if ROWS_PER_FOUND * (2 * count + 3) < 2 * len(record)
        ]
    return found


def _known(
    record: Record, pace: Pace, clock: Clock, periods: Sequence[float] | None
) -> list[tuple[float, ...]]:
    span = (record.times.max() - record.times.min() + record.step) * pace.scale
    if periods is not None:
        return [
            tuple(
                sorted({k * pace.scale / period for period in periods for k in range(1, most + 1)})
            )
            for most in (HARMONICS_OF_KNOWN if periods else (0,))
        ]
    if clock.kind != "datetime":
        return [()]
    year, step = days_of_year(clock) * DAY, record.step * pace.scale

    def harmonics(period: float, most: int) -> tuple[float, ...]:
        turns = (k * pace.scale / period for k in range(1, most + 1))
        return tuple(each for each in turns if each * record.step < HALF_A_TURN)

    years = [harmonics(year, most) for most, least in YEAR_HARMONICS.items() if span > least * year]
    days = [
        harmonics(DAY, most)
        for most, least in DAY_HARMONICS.items()
        if span > least * DAY and step <= DAY / 4
    ]
    kinds = [a + b for a in [(), *years] for b in [(), *days]]
    return list(dict.fromkeys(kinds))


def shrunk_towards(horizon: int) -> tuple[float, ...]:
    """φ of climatology, of departures that are forgotten soon and late, of persistence."""
    return (0.0, math.exp(-6 / horizon), math.exp(-1 / horizon), 1.0)
