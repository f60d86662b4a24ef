"""Simple forecasts of the training data, to be kept with the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from smore.data import DAY, Trajectories, days_of_year
from smore.surrogate import MONTHS, PodDmd, References, months_of
from smore.training.preparing import Prepared

# What references may take in a model file and in memory. A DMD is the first to go.
MOST_BYTES = 2**26
# Years that dates have to cover, and the longest step in months, for means of calendar months.
LEAST_YEARS, LONGEST_STEP = 2.0, 1.1
# Values that are summed together, of data that are on disk.
AT_ONCE = 2**22


def largest_rank(num_values: int) -> int:
    """Modes of a DMD of fields of so many values that leave room for a mean and monthly ones."""
    return max(MOST_BYTES // max(num_values, 1) - 8 - 4 * MONTHS, 0) // 8


def make_references(prepared: Prepared, dmd: PodDmd | None) -> References | None:
    """Of data on one mesh that is stored with the model.

    Args:
        prepared: all training data; in a team, this process's share of the points.
        dmd: of the values that were ever observed, points first; see `Study`.
    """
    trajectories, mesh = prepared.trajectories, prepared.mesh
    if mesh is None:
        return None
    num_values = trajectories.num_channels * mesh.num_points
    if 8 * num_values > MOST_BYTES:
        return None
    by_month = (8 + 4 * MONTHS) * num_values <= MOST_BYTES and _covers_years(trajectories)
    totals, counts = _totals(prepared, MONTHS if by_month else 1)
    total, count = totals.sum(0), counts.sum(0)
    everything = total / np.maximum(count, 1)
    mean = _normalised(prepared, everything, count)
    monthly = None
    if by_month and (counts.reshape(MONTHS, -1).max(1) > 0).all():
        means = np.where(counts > 0, totals / np.maximum(counts, 1), everything)
        monthly = _normalised(prepared, means, count).astype(np.float32)
    return References(mean, monthly, None if dmd is None else _spread(dmd, mean, count > 0))


def _covers_years(trajectories: Trajectories) -> bool:
    clock = trajectories.clock
    if clock.kind != "datetime":
        return False
    times = np.concatenate([sequence.times for sequence in trajectories])
    steps = np.concatenate([np.diff(sequence.times) for sequence in trajectories])
    year, step = days_of_year(clock) * DAY, float(np.median(steps))
    span = times.max() - times.min() + step
    # A record of 24 months may be a day short of two mean years.
    return bool(step <= LONGEST_STEP * year / 12 and span >= 0.99 * LEAST_YEARS * year)


def _totals(prepared: Prepared, num_classes: int) -> tuple[NDArray, NDArray]:
    """Sums and numbers of values, (classes, channels, points): by month, or all in one class."""
    trajectories = prepared.trajectories
    shape = (num_classes, trajectories.num_channels, trajectories.meshes[0].num_points)
    totals, counts = np.zeros(shape), np.zeros(shape)
    size = max(AT_ONCE // (shape[1] * shape[2]), 1)
    for sequence in trajectories:
        months = np.zeros(sequence.num_snapshots, dtype=np.intp)
        if num_classes > 1:
            months = months_of(sequence.times, trajectories.clock)
        for start in range(0, sequence.num_snapshots, size):
            some = slice(start, start + size)
            piece, own = sequence.snapshots(some).load(), months[some]
            for month in np.unique(own):
                chosen = own == month
                totals[month] += piece.fields[chosen].sum(0, dtype=np.float64)
                counts[month] += (
                    chosen.sum() if piece.observed is None else piece.observed[chosen].sum(0)
                )
    return _gathered(prepared, totals), _gathered(prepared, counts)


def _gathered(prepared: Prepared, values: NDArray) -> NDArray:
    """The points of all processes, from (classes, channels, points) of this one."""
    here = torch.as_tensor(np.ascontiguousarray(values.transpose(2, 0, 1)))
    return prepared.team.gather(here).numpy().transpose(1, 2, 0)


def _normalised(prepared: Prepared, fields: NDArray, count: NDArray) -> NDArray:
    return np.ascontiguousarray(np.where(count > 0, prepared.normalization.apply(fields), 0.0))


def _spread(dmd: PodDmd, mean: NDArray, seen: NDArray[np.bool_]) -> PodDmd:
    """A DMD of (channels · points,) from one of those that were ever observed, points first."""
    channels, points = seen.shape
    modes = np.zeros((points, channels, dmd.modes.shape[1]))
    modes[seen.T] = dmd.modes
    return replace(dmd, mean=mean.ravel(), modes=modes.transpose(1, 0, 2).reshape(mean.size, -1))
