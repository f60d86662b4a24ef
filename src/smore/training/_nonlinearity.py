"""Whether trajectories ask for quadratic dynamics, judged on some of their points.

Maps over a step are fitted to some trajectories, linear ones and quadratic ones of several sizes,
and forecast the others. What a linear map cannot say shows there, long before anything is trained.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from smore.runtime import one_thread
from smore.training.dynamics.forced.record import ENOUGH_TRAJECTORIES, Array
from smore.training.problem import TrainingProblem

# Values of a snapshot that are enough to tell, and snapshots, but of so many trajectories at least.
MOST_VALUES, MOST_SNAPSHOTS, LEAST_TRAJECTORIES = 1024, 1280, 32
LINEAR_SIZES, QUADRATIC_SIZES = (4, 8, 16, 32, 64, 128), (4, 8, 16, 32)
RIDGES = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
# One trajectory in so many is forecast, so many steps ahead.
FOLD, HORIZON = 4, 9
# Quadratic dynamics take minutes where linear ones take seconds: their error has to be smaller by
# this factor.
WORTHWHILE = 2.0


def asks_for_quadratic(problem: TrainingProblem, groups: tuple[int, ...]) -> bool:
    """Whether quadratic maps forecast left-out trajectories so much better than linear ones.

    Args:
        problem: snapshots on one mesh, without gaps that move.
        groups: which trajectory each sequence is of.
    """
    if len(set(groups)) < ENOUGH_TRAJECTORIES or not problem.timeline.uniform:
        return False
    some = _some(np.array(groups), int(problem.timeline.valid.sum()))
    linear, quadratic = errors_of_kinds(_states(problem)[some], np.array(groups)[some])
    return bool(WORTHWHILE * quadratic < linear)


def _some(groups: NDArray[np.intp], num_snapshots: int) -> NDArray[np.bool_]:
    """(sequences,) those of an even choice of trajectories."""
    numbers = np.unique(groups)
    wanted = max(LEAST_TRAJECTORIES, len(numbers) * MOST_SNAPSHOTS // num_snapshots)
    chosen = np.linspace(0, len(numbers) - 1, min(wanted, len(numbers))).round().astype(int)
    return np.isin(groups, numbers[chosen])


@one_thread()
def errors_of_kinds(states: Array, groups: NDArray[np.intp]) -> tuple[float, float]:
    """Least mean squared errors of left-out forecasts by linear and by quadratic maps.

    For the latter what they cannot reach stands, where that settles it.

    Args:
        states: (sequences, times, values) about their mean.
        groups: (sequences,) which trajectory each is of.
    """
    out = np.isin(groups, np.unique(groups)[::FOLD])
    flat = states[~out].reshape(-1, states.shape[2])
    directions = np.linalg.svd(flat, full_matrices=False)[2]
    known, missing = states[~out] @ directions.T, states[out] @ directions.T
    # In units in which the leading direction is of order one, so are its squares.
    unit = np.sqrt(np.square(known[..., 0]).mean())
    known, missing = known / unit, missing / unit
    linear = _least_error(known, missing, LINEAR_SIZES, quadratic=False)
    least = _outside(missing, QUADRATIC_SIZES[-1])
    if WORTHWHILE * least >= linear:
        return linear, least
    return linear, _least_error(known, missing, QUADRATIC_SIZES, quadratic=True)


def _least_error(known: Array, missing: Array, sizes: tuple[int, ...], *, quadratic: bool) -> float:
    """Of maps of several sizes, each with the ridge that suits it."""
    most = known.shape[2]
    return min(
        error
        for size in sizes
        if size == sizes[0] or size <= most
        for error in _errors(known, missing, min(size, most), quadratic=quadratic)
    )


def _outside(missing: Array, size: int) -> float:
    """Mean square of what is to be forecast outside the leading directions."""
    return float(np.square(missing[:, 1 : HORIZON + 1, size:]).sum(2).mean())


def _errors(known: Array, missing: Array, size: int, *, quadratic: bool) -> Iterator[float]:
    """Mean squared errors of whole states, for every ridge."""
    before, after = (
        known[:, part, :size].reshape(-1, size) for part in (slice(None, -1), slice(1, None))
    )
    features = _features(before, quadratic)
    middle, spread = features.mean(0), features.std(0) + 1e-300
    left, singular, right = np.linalg.svd((features - middle) / spread, full_matrices=False)
    image = left.T @ (after - after.mean(0))
    steps = min(HORIZON, missing.shape[1] - 1)
    beyond = _outside(missing, size)
    for ridge in RIDGES:
        inverse = singular / (singular**2 + ridge * len(before) + 1e-24 * singular[0] ** 2)
        step = (right.T * inverse) @ image / spread[:, None]
        constant, state, total = after.mean(0) - middle @ step, missing[:, 0, :size], 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for number in range(1, steps + 1):
                state = _features(state, quadratic) @ step + constant
                total += np.square(state - missing[:, number, :size]).sum(1).mean() / steps
        yield float(total + beyond) if np.isfinite(total) else np.inf


def _features(states: Array, quadratic: bool) -> Array:
    """(n, size) states, with all products of two of their coordinates."""
    if not quadratic:
        return states
    first, second = np.triu_indices(states.shape[1])
    return np.column_stack([states, states[:, first] * states[:, second]])


@torch.no_grad()
def _states(problem: TrainingProblem) -> Array:
    """(sequences, times, values) of an even choice of sequences and values, about their mean."""
    (block,) = problem.blocks
    block = block.stacked() if problem.num_channels > 1 else block
    length = int(problem.timeline.valid.sum(1).min())
    rows = torch.linspace(0, block.num_points - 1, MOST_VALUES).round().long().unique()
    table = block.team.gather(block.at(rows).values.to("cpu", torch.float64)).T
    states = problem.timeline.gather(table)[:, :length].numpy()
    return np.asarray(states - states.mean((0, 1)))
