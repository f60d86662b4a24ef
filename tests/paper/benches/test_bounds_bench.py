"""The bench that counts broken bounds: it finds none, and would find one."""

import numpy as np
import pytest

from smore.stability.certificate import Certificate
from smore_paper.benches import random_systems
from smore_paper.benches.bounds import BoundsResult, check_masks, check_systems
from smore_paper.benches.random_systems import EDGY, ROBUST


def test_no_bound_of_random_systems_is_exceeded():
    rows = list(check_systems(36, seed=1))
    assert [row.kind for row in rows] == [*ROBUST, *EDGY]
    assert sum(row.count for row in rows) >= 36
    assert not any(row.violated for row in rows)
    assert all(0 < row.worst_ratio <= 1 + 1e-12 for row in rows)
    half = sum(row.count for row in rows if row.kind in EDGY)
    assert half == 18


def test_no_bound_of_random_masks_is_exceeded():
    rows = list(check_masks(30, seed=1))
    assert [row.proved for row in rows] == [True, True, True, False]
    assert sum(row.count for row in rows if row.proved) == 30
    assert not any(row.violated for row in rows if row.proved)


def test_a_wrong_bound_would_be_counted(monkeypatch):
    truth = Certificate.bound

    def too_small(self, start, num_steps):
        return 0.5 * truth(self, start, num_steps)

    monkeypatch.setattr(Certificate, "bound", too_small)
    system = random_systems.linear(np.random.default_rng(0))
    assert system.worst_ratio(20) > 1
    row = BoundsResult("Theorem 1", "made up", True, 0)
    for ratio in (system.worst_ratio(20), None, 0.5, 1.0, float("inf")):
        row.add(ratio)
    assert (row.count, row.refused, row.violated) == (4, 1, 2)
    assert row.worst_ratio == float("inf")


def test_a_system_that_nothing_is_claimed_of_has_no_ratio():
    system = random_systems._linear(np.random.default_rng(0), -1.0, "exact", 0.0)
    assert system.worst_ratio(5) is None


@pytest.mark.parametrize("name", [*ROBUST, *EDGY])
def test_the_same_seed_draws_the_same_system(name):
    draw = (ROBUST | EDGY)[name]
    one, two = (draw(np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one.states, two.states)
    for left, right in zip(one.dynamics.parameters(), two.dynamics.parameters(), strict=True):
        np.testing.assert_array_equal(left.detach().numpy(), right.detach().numpy())
