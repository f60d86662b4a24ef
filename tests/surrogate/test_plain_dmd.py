"""Plain POD + DMD: exact where the data are linear, and refused where the rank cannot be told."""

import numpy as np
import pytest

from smore.errors import DataError
from smore.surrogate import PodDmd


def linear_sequences(rng, num_sequences=3, length=12):
    """Sequences (times, 9) of x' = A x + b in three dimensions, seen through nine values."""
    change = np.linalg.qr(rng.normal(size=(3, 3)))[0] * 0.95
    constant, seen = rng.normal(size=3), rng.normal(size=(3, 9))
    states = rng.normal(size=(num_sequences, 3))
    path = [states]
    for _ in range(length - 1):
        path.append(path[-1] @ change + constant)
    return np.stack(path, axis=1) @ seen + 2.0


def test_linear_data_are_forecast_exactly():
    sequences = linear_sequences(np.random.default_rng(0))
    model = PodDmd.fit(list(sequences[:2]), rank=3)
    found = model.forecast(sequences[2, 0], 11)
    np.testing.assert_allclose(found, sequences[2, 1:], atol=1e-9)
    both = model.forecast(sequences[1:, 0], 11)
    np.testing.assert_allclose(both, sequences[1:, 1:], atol=1e-9)


def test_pairs_do_not_reach_from_one_sequence_to_the_next():
    rng = np.random.default_rng(1)
    sequences = [rng.normal(size=(5, 4)), rng.normal(size=(4, 4))]
    model = PodDmd.fit(sequences, rank=2)
    states = [(each - model.mean) @ model.modes for each in sequences]
    pairs = [(s[k], s[k + 1]) for s in states for k in range(len(s) - 1)]
    square, cross = np.zeros((3, 3)), np.zeros((3, 2))
    for before, after in pairs:
        known = np.append(before, 1.0)
        square += np.outer(known, known)
        cross += np.outer(known, after)
    np.testing.assert_allclose(model.step, np.linalg.solve(square, cross))
    np.testing.assert_allclose(model.modes.T @ model.modes, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("rank", [0, 5, 9])
def test_a_rank_that_cannot_be_told_is_refused(rank):
    with pytest.raises(DataError, match=r"a rank between 1 and 4 .* 9 snapshots of 4 values"):
        PodDmd.fit([np.random.default_rng(0).normal(size=(9, 4))], rank)
