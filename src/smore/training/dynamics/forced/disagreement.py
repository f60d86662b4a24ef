"""Whether distances from younger selves tell errors, judged by forecasts inside the record.

Errors of a transient differ by orders of magnitude from one forecast to the next, whatever their
lead: it goes where nothing was learned, sooner or later. What the same model would have forecast
without its last snapshots differs from its forecast as the error does, in the same forecasts and at
the same leads, by a ratio that hardly depends on the stretch. Of records that go on as they did
all of them know the same, and errors are better told by their size by lead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smore.training.dynamics.forced.candidates import Candidate
from smore.training.dynamics.forced.left_out import LeftOutForecasts, forecasts
from smore.training.dynamics.forced.record import Array
from smore.training.dynamics.forced.search import ROUND_OFF, Search
from smore.training.dynamics.forced.system import Coordinates, System

# Shares of √(n N) rows, n learned from and N in the record, that younger selves do without: their
# distance has to be that of a step of learning, of a fixed number of rows where a model learns
# fast, of a share of n where it learns slowly. One may be small by chance, hence several.
WITHOUT = (0.03, 0.045, 0.06, 0.08)
# Mean squares of log errors about their sizes by lead, from which on these say little, and which
# share of that may be left about what distances say.
VARIED, LEFT = 2.0, 0.25
# Where errors are this share of the variance, rounding is part of them.
ROUNDED = 1e-10


@dataclass(frozen=True, eq=False)
class Ratios:
    """Squared errors over squared distances from younger selves.

    Args:
        without: rows, from the end of the record, that each of these does not learn from.
        ages: (ages,) steps from the last row that was learned from to the start of a forecast.
        logs: (ages, leads).
        departures: of younger selves' forecasts, for every split (selves, forecasts, leads, R).
    """

    without: tuple[int, ...]
    ages: Array
    logs: Array
    departures: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class YoungerSelves:
    """Models that did without the last snapshots, and how errors go with distances from them.

    Args:
        systems: these.
        ratios: of errors and distances.
        end: model time of the last row of the record.
    """

    systems: tuple[System, ...]
    ratios: Ratios
    end: float


def younger_selves(
    search: Search,
    candidate: Candidate,
    left_out: LeftOutForecasts,
    coordinates: Coordinates,
    *,
    decay: bool,
) -> YoungerSelves | None:
    """Those that are asked how uncertain a forecast is, if they tell; see `ratios`.

    Args:
        search: forecasts for error bars.
        candidate: what was chosen.
        left_out: what it gets wrong in these.
        coordinates: of the systems.
        decay: as for `Search.score`.
    """
    if search.many:  # trajectories do not grow older
        return None
    found = ratios(search, candidate, left_out, decay=decay)
    if found is None:
        return None
    record = search.record
    systems = tuple(
        System.within(
            coordinates,
            *search.fitted(None, candidate, decay=decay, without=rows),
            record.step,
        )
        for rows in found.without
    )
    return YoungerSelves(systems, found, float(record.times.max()))


def ratios(
    search: Search, candidate: Candidate, left_out: LeftOutForecasts, *, decay: bool
) -> Ratios | None:
    """What distances from younger selves are to be multiplied with, if they tell errors.

    Args:
        search: forecasts for error bars.
        candidate: what was chosen.
        left_out: what it gets wrong in these.
        decay: as for `Search.score`.
    """
    if len(search.splits) < 2 or not candidate.centre.plain:
        return None
    least = 10 * ROUND_OFF * search.variance
    squares = [np.square(each).sum(2) + least for each in left_out.errors]
    ages = [split.origins - split.training.nonzero()[0][-1] for split in search.splits]
    if len(ages[0]) < 2 or not all(np.isfinite(each).all() for each in squares):
        return None
    levels = np.median([np.log(each.mean(0)) for each in squares], axis=0)
    spread = np.mean([np.square(np.log(each) - levels).mean() for each in squares])
    if squares[-1].mean() < ROUNDED * search.variance or spread < VARIED:
        return None
    departures = tuple(
        _departures(search, number, candidate, left_out, decay) for number in range(len(squares))
    )
    found = []
    for since, errors, apart in zip(ages, squares, departures, strict=True):
        distances = np.log(np.square(apart).sum(3) + least).mean(0)
        found.append(_at(ages[0], since, np.log(errors) - distances))
    middle = np.median(found, axis=0)
    if np.square(np.array(found) - middle).mean() > LEFT * spread:
        return None
    return Ratios(_all_without(search, None), ages[0].astype(float), middle, departures)


def _departures(
    search: Search, number: int, candidate: Candidate, left_out: LeftOutForecasts, decay: bool
) -> Array:
    """(selves, forecasts, leads, R) of younger selves' forecasts of a split from its own."""
    others = [
        forecasts(search, number, candidate, left_out.leads, decay=decay, without=rows)
        for rows in _all_without(search, number)
    ]
    return np.array(others) - left_out.forecasts[number]


def _all_without(search: Search, number: int | None) -> tuple[int, ...]:
    """Rows of a split, or of the whole record for None, that younger selves do without."""
    whole = len(search.record)
    rows = whole if number is None else int(search.splits[number].training.sum())
    return tuple(max(1, round(share * (rows * whole) ** 0.5)) for share in WITHOUT)


def _at(ages: Array, since: Array, logs: Array) -> Array:
    """`logs` (forecasts, leads) of forecasts `since` so many rows, at other `ages`."""
    return np.column_stack([np.interp(ages, since, each) for each in logs.T])
