"""Scores over the windows of a rollout, against loops over every prediction."""

import numpy as np
import pytest
import torch

from smore.data import Trajectories
from smore.data.timeline import Timeline
from smore.evaluation import score

CHANNELS, POINTS = 2, 4


def timeline(lengths):
    return Timeline.of(
        Trajectories.from_arrays(
            [np.zeros((length, CHANNELS, POINTS)) for length in lengths],
            np.random.default_rng(0).uniform(size=(POINTS, 2)),
            [np.arange(float(length)) for length in lengths],
        )
    )


def literal(squared, count, lengths, steps):
    """Mean error per field entry over the steps in `steps`, or None without any entry."""
    total = entries = 0.0
    row = 0
    for length in lengths:
        for step in range(length):
            for channel in range(CHANNELS):
                if step in steps:
                    total += float(squared[row, channel])
                    entries += float(count[row, channel])
            row += 1
    return total / entries if entries else None


@pytest.mark.parametrize("lengths", [[5, 5, 5], [5, 2, 7], [3]])
@pytest.mark.parametrize("horizon", [2, 4, 10])
@pytest.mark.parametrize("masked", [False, True])
def test_windows_are_means_over_their_entries(lengths, horizon, masked):
    rng = np.random.default_rng(1)
    shape = (sum(lengths), CHANNELS)
    squared = torch.tensor(rng.uniform(size=shape))
    count = torch.tensor(rng.integers(1, POINTS, size=shape) if masked else np.full(shape, POINTS))
    scores = score(squared, count, timeline(lengths), horizon)
    longest = max(lengths)
    in_horizon = literal(squared, count, lengths, range(1, horizon))
    extrapolation = literal(squared, count, lengths, range(horizon, longest))
    assert scores.in_horizon == pytest.approx(in_horizon)
    assert scores.extrapolation == (None if extrapolation is None else pytest.approx(extrapolation))
    assert scores.full == pytest.approx(literal(squared, count, lengths, range(1, longest)))
    assert scores.per_step == pytest.approx(
        [literal(squared, count, lengths, [step]) for step in range(1, longest)]
    )


def test_the_initial_snapshot_is_never_scored():
    squared = torch.tensor([[1e9, 1e9], [1.0, 1.0], [2.0, 2.0]])
    scores = score(squared, torch.ones(3, 2), timeline([3]), 2)
    assert (scores.in_horizon, scores.extrapolation, scores.full) == (1.0, 2.0, 1.5)


def test_an_entry_weighs_the_same_whatever_its_sequence():
    """Errors are averaged over entries, not over the means of sequences."""
    squared, count = torch.tensor([[0.0], [10.0], [0.0], [0.0]]), torch.tensor([[1], [1], [9], [9]])
    short = Trajectories.from_arrays(
        np.zeros((2, 2, 1, 3)), np.random.default_rng(0).uniform(size=(3, 1)), [0.0, 1.0]
    )
    assert score(squared, count, Timeline.of(short), 5).full == 1.0


def test_nothing_observed_is_no_score():
    scores = score(torch.zeros(3, 2), torch.zeros(3, 2), timeline([3]), 2)
    assert scores.in_horizon is None
    assert scores.extrapolation is None
    assert scores.full is None
