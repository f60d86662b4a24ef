"""Training states with equal steps, and what of them is forecast without having been learned from.

Records come with a month missing, with a clock that is a little off, with steps of all lengths.
Where steps are not equal a record is read off a spline at equal ones, and cut where it has a gap;
from then on a step is a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from smore.data import Timeline

Array = NDArray[np.float64]

# A gap of more steps than this is not bridged.
LONGEST_GAP = 3.5
# Where one record is cut to be forecast from what came before, as shares of its length, and how
# much each forecast counts: the last cuts are most like the forecasts to come.
CUTS = (0.45, 0.57, 0.68, 0.8)
CUT_WEIGHTS = (1.0, 1.0, 2.0, 2.0)
# The same for error bars: forecasts from all of these can start as long after the end of the
# training rows as forecasts of a finished model do.
CHECKED_CUTS = (0.45, 0.52, 0.59, 0.66)
# Forecasts from each cut, and the share of the record that they reach ahead.
NUM_ORIGINS = 6
HORIZON = 1 / 6
# Errors are looked at after so many leads at most.
NUM_LEADS = 10
# Trajectories from which on whole ones are left out instead.
ENOUGH_TRAJECTORIES = 4
NUM_FOLDS = 4
LEAST_TRAINING = 4
# Steps that trajectories are forecast for at least, if they have as many.
LEAST_HORIZON = 9


@dataclass(frozen=True, eq=False)
class Record:
    """States at equal steps.

    Args:
        states: (rows, R) coordinates of snapshots.
        times: (rows,) model times.
        segments: (rows,) numbers of stretches without a gap, rising.
        groups: (rows,) which trajectory each belongs to.
        step: between the rows of a segment, model time.
    """

    states: Array
    times: Array
    segments: NDArray[np.intp]
    groups: NDArray[np.intp]
    step: float

    @classmethod
    def of(cls, states: Array, timeline: Timeline, groups: NDArray[np.intp], step: float) -> Record:
        """From a table of snapshots (snapshots, R).

        Args:
            states: in the order of the timeline's rows.
            timeline: when each was taken.
            groups: (sequences,) which trajectory each sequence was cut from.
            step: model time.
        """
        parts: list[tuple[Array, Array, int, int]] = []
        segment = 0
        for number in np.argsort(groups, kind="stable"):
            group, valid = groups[number], timeline.valid[number].numpy()
            rows, times = (each[number].numpy()[valid] for each in (timeline.rows, timeline.times))
            for each_times, each_rows in _stretches(times, rows, step):
                instants, found = _at_equal_steps(each_times, states[each_rows], step)
                parts.append((found, instants, segment, int(group)))
                segment += 1
        return cls(
            np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] for part in parts]),
            np.concatenate([np.full(len(part[1]), part[2]) for part in parts]),
            np.concatenate([np.full(len(part[1]), part[3]) for part in parts]),
            step,
        )

    def __len__(self) -> int:
        return len(self.times)

    def pairs(self, training: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Rows whose successor is the next row, both of them used for training."""
        follows = self.segments[1:] == self.segments[:-1]
        return np.flatnonzero(follows & training[1:] & training[:-1])

    def remaining(self) -> NDArray[np.intp]:
        """(rows,) how many rows of its segment follow each."""
        ends = np.searchsorted(self.segments, self.segments, side="right") - 1
        return np.asarray(ends - np.arange(len(self)))


@dataclass(frozen=True, eq=False)
class Split:
    """Forecasts of what was not learned from.

    Args:
        training: (rows,) what is learned from.
        origins: (forecasts,) rows that forecasts start from.
        leads: (leads,) steps after which they are looked at; multiples of the first.
        known: (forecasts, leads) whether the truth is known there.
        weight: how much this split counts.
    """

    training: NDArray[np.bool_]
    origins: NDArray[np.intp]
    leads: NDArray[np.intp]
    known: NDArray[np.bool_]
    weight: float

    @classmethod
    def of(
        cls,
        record: Record,
        training: NDArray[np.bool_],
        origins: NDArray[np.intp],
        horizon: int,
        weight: float,
    ) -> Split:
        stride = max(1, -(-horizon // NUM_LEADS))
        leads = np.arange(stride, horizon + 1, stride)
        known = leads <= record.remaining()[origins][:, None]
        return cls(training, origins, leads, known, weight)


def choosing_splits(record: Record) -> list[Split]:
    """By rolling origins in one or few trajectories, by leaving out trajectories if many."""
    groups = np.unique(record.groups)
    if len(groups) >= ENOUGH_TRAJECTORIES:
        return _folds(record, groups)
    return _rolling(record, groups, CUTS, CUT_WEIGHTS)


def checking_splits(record: Record) -> list[Split]:
    """Rolling origins for error bars."""
    groups = np.unique(record.groups)
    return _rolling(record, groups, CHECKED_CUTS, (1.0,) * len(CHECKED_CUTS))


def _rolling(
    record: Record, groups: NDArray[np.intp], cuts: tuple[float, ...], weights: tuple[float, ...]
) -> list[Split]:
    """What came before some time, and forecasts from then on."""
    lengths = [int((record.groups == group).sum()) for group in groups]
    horizon = max(2, round(HORIZON * max(lengths)))
    remaining, found = record.remaining(), []
    position = np.concatenate([np.arange(length) / length for length in lengths])
    for cut, weight in zip(cuts, weights, strict=True):
        training = position < cut
        possible = np.flatnonzero(~training & (remaining >= horizon))
        if not len(possible):
            possible = np.flatnonzero(~training & (remaining >= 1))
        if training.sum() < LEAST_TRAINING or not len(possible):
            continue
        # Origins soon after the cut: a model is used soon after it was made.
        first = position[possible] < cut + HORIZON
        possible = possible[first] if first.any() else possible
        chosen = np.unique(np.linspace(0, len(possible) - 1, NUM_ORIGINS).round().astype(int))
        found.append(Split.of(record, training, possible[chosen], horizon, weight))
    return found


def _folds(record: Record, groups: NDArray[np.intp]) -> list[Split]:
    """Some trajectories left out, forecast from their beginning and from points on their way."""
    remaining, found = record.remaining(), []
    longest = int(remaining.max())
    horizon = max(1, min(longest, max(LEAST_HORIZON, round(HORIZON * longest))))
    place = np.arange(len(record)) - np.searchsorted(record.segments, record.segments)
    starts = (place % (horizon + 1) == 0) & (remaining >= 1)
    for fold in range(NUM_FOLDS):
        out = np.isin(record.groups, groups[fold::NUM_FOLDS])
        origins = np.flatnonzero(out & starts)
        if len(origins):  # none where all that is left out are single snapshots between gaps
            found.append(Split.of(record, ~out, origins, horizon, 1.0))
    return found


def _stretches(
    times: Array, rows: NDArray[np.intp], step: float
) -> list[tuple[Array, NDArray[np.intp]]]:
    """Times and rows between gaps that are too long to be bridged."""
    ends = np.flatnonzero(np.diff(times) > LONGEST_GAP * step) + 1
    return list(zip(np.split(times, ends), np.split(rows, ends), strict=True))


def _at_equal_steps(times: Array, states: Array, step: float) -> tuple[Array, Array]:
    """Times and states at equal steps from the first one on."""
    steps = np.diff(times) / step
    if not len(steps) or np.abs(steps - 1).max() < 1e-6:
        return times, states
    count = int((times[-1] - times[0]) / step + 1e-6)
    instants = times[0] + step * np.arange(count + 1)
    if len(times) < 3:
        share = ((instants - times[0]) / (times[-1] - times[0]))[:, None]
        return instants, (1 - share) * states[0] + share * states[-1]
    return instants, CubicSpline(times, states)(np.minimum(instants, times[-1]))
