"""What the chosen member of the family gets wrong where it was not fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.training.dynamics.forced.candidates import Candidate
from smore.training.dynamics.forced.record import NUM_LEADS, Array, Record
from smore.training.dynamics.forced.search import Search, powered


@dataclass(frozen=True, eq=False)
class LeftOutForecasts:
    """Errors of forecasts of what was left out.

    Args:
        leads: (leads,) numbers of steps, close together where errors may grow at once.
        forecasts: for every split (forecasts, leads, R).
        errors: of these, NaN where the truth is not known.
    """

    leads: NDArray[np.intp]
    forecasts: tuple[Array, ...]
    errors: tuple[Array, ...]


def left_out_forecasts(search: Search, candidate: Candidate, *, decay: bool) -> LeftOutForecasts:
    """Of every split; `decay` as for `Search.score`."""
    if not search.splits:
        return _standing_still(search.record)
    leads = _spread(min(int(split.leads[-1]) for split in search.splits))
    record, remaining, found, missed = search.record, search.record.remaining(), [], []
    for number, split in enumerate(search.splits):
        rows = np.minimum(split.origins[:, None] + leads, len(record) - 1)
        found.append(forecasts(search, number, candidate, leads, decay=decay))
        errors = found[-1] - record.states[rows]
        errors[remaining[split.origins][:, None] < leads] = np.nan
        missed.append(errors)
    somewhere = [np.isfinite(errors).any((0, 2)) for errors in missed]
    count = max(int(np.all(somewhere, axis=0).sum()), 1)  # leads that every split knows
    return LeftOutForecasts(
        leads[:count], *(tuple(each[:, :count] for each in part) for part in (found, missed))
    )


def forecasts(
    search: Search,
    number: int,
    candidate: Candidate,
    leads: NDArray[np.intp],
    *,
    decay: bool,
    without: int = 0,
) -> Array:
    """States (forecasts, leads, R) that a split forecasts from its origins; see `Search.fitted`."""
    origins, record = search.splits[number].origins, search.record
    anomalies, matrix, constant = search.fitted(number, candidate, decay=decay, without=without)
    rank = len(constant)
    found = anomalies.centre.at(record.times[origins][:, None] + leads * record.step)
    state = np.c_[anomalies.states[origins, :rank], np.ones(len(origins))]
    for place, steps in enumerate(np.diff(leads, prepend=0)):
        state = state @ powered(matrix[None], constant[None], int(steps))[0]
        found[:, place] += state[:, :rank] @ anomalies.directions[:, :rank].T
    return found


def missed_more(search: Search, candidate: Candidate, count: int) -> float:
    """Mean square outside `count` directions: of left-out rows beyond that of training rows."""
    more = []
    for number, split in enumerate(search.splits):
        anomalies = search.fitted(number, candidate)[0]
        basis = anomalies.directions[:, :count]
        missed = anomalies.departures - anomalies.departures @ basis @ basis.T
        squared, known = np.square(missed).sum(1), search.rows(number, candidate.share)
        more.append(squared[~split.training].mean() - squared[known].mean())
    return max(float(np.mean(more)), 0.0) if more else 0.0


def _standing_still(record: Record) -> LeftOutForecasts:
    """How far states move in so many steps, for records too short for anything else."""
    states, longest = record.states, int(record.remaining().max())
    leads = np.arange(1, max(longest, 1) + 1)
    found = np.repeat(states[:, None], len(leads), axis=1)
    errors = np.full_like(found, np.nan)
    for origin, remaining in enumerate(record.remaining()):
        ahead = states[origin + 1 : origin + 1 + remaining]
        errors[origin, :remaining] = states[origin] - ahead
    return LeftOutForecasts(leads, (found,), (errors,))


def _spread(horizon: int) -> NDArray[np.intp]:
    """Leads that are as many times as far as the one before, as nearly as whole steps are."""
    return np.unique(np.geomspace(1, horizon, NUM_LEADS).round().astype(np.intp))
