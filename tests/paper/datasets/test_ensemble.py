"""Running simulations side by side: order, progress, interruption, divergence."""

import itertools
import threading

import numpy as np
import pytest

from smore.errors import DivergenceError
from smore_paper.datasets.ensemble import Ensemble


def counting(start):
    """start, start + 1, start + 2, ... without end."""
    for value in itertools.count(start):
        yield np.full(2, value, np.float32)


def record(ensemble, trajectory=counting, members=(10, 20, 30)):
    return ensemble.record(trajectory, members, intervals=5, keep=2, description="counting")


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_keeps_the_last_snapshots_in_the_order_of_the_members(workers):
    recorded = np.stack(record(Ensemble(workers)))
    np.testing.assert_array_equal(recorded[:, :, 0], [[13, 14], [23, 24], [33, 34]])


def test_progress_ends_at_the_total_and_speaks_in_the_callers_thread():
    calls = []
    record(Ensemble(2, lambda *args: calls.append((*args, threading.current_thread()))))
    done, totals, descriptions, threads = zip(*calls, strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == 15
    assert set(totals) == {15}
    assert set(descriptions) == {"counting"}
    assert set(threads) == {threading.current_thread()}


def test_an_exception_in_progress_ends_the_simulation():
    """Endless members must stop too, or the call would never return."""

    def interrupt(done, total, description):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Ensemble(2, interrupt).record(
            counting, [1, 2, 3, 4], intervals=10**9, keep=1, description="endless"
        )


def test_a_simulation_that_blows_up_is_named():
    def exploding(start):
        yield np.ones(2, np.float32)
        yield np.array([1.0, np.inf], np.float32)

    with pytest.raises(DivergenceError, match=r"counting.*snapshot 1.*solver_step"):
        record(Ensemble(2), exploding)
