"""Error bars from forecasts inside a record: which stretch stands for those to come."""

import numpy as np
import pytest
import torch

from smore.training.dynamics.forced.calibration import lead_errors
from smore.training.dynamics.forced.left_out import LeftOutForecasts

DIM, LEADS = 3, 4


def errors_of(size, seed=0):
    """(forecasts, leads, R) normal errors of some mean square per direction, alike at all leads."""
    return np.sqrt(size) * np.random.default_rng(seed).normal(size=(400, LEADS, DIM))


def found(sizes, latest, variance):
    errors = tuple(map(errors_of, sizes))  # of forecasts of nothing
    forecasts = LeftOutForecasts(np.arange(1, LEADS + 1), errors, errors)
    return lead_errors(
        forecasts,
        np.eye(DIM),
        sample=np.eye(DIM),
        outside=np.zeros(DIM),
        excess=torch.zeros(1, dtype=torch.float64),
        step=0.5,
        latest=errors_of(latest),
        variance=variance,
    )


def level(sizes, latest, variance):
    """Mean square per direction that bars are made of."""
    return found(sizes, latest, variance).variances[-1] / DIM / 1.05**2


def median_of(sizes):
    """With what is added for their scatter."""
    logs = np.log(sizes)
    deviation = 1.4826 * np.median(np.abs(logs - np.median(logs)))
    return pytest.approx(np.exp(np.median(logs) + deviation / 2), rel=0.1)


def test_errors_of_chance_are_those_of_the_median_stretch():
    assert level([1.0, 4.0, 2.0, 3.0], 1.5, 100.0) == median_of([1.0, 4.0, 2.0, 3.0])
    # Falling, but far from exact: by chance, or not, who knows.
    assert level([40.0, 3.0, 2.0, 1.0], 0.5, 100.0) == median_of([40.0, 3.0, 2.0, 1.0])


def test_what_is_still_being_learned_is_told_by_the_latest_stretch():
    assert level([40.0, 3.0, 2.0, 1.0], 0.5, 1e6) == pytest.approx(0.5, rel=0.1)
    # Not if they fall by little, the latest is no better than the last, or an earlier one was.
    assert level([4.0, 3.0, 2.0, 1.0], 0.5, 1e6) == median_of([4.0, 3.0, 2.0, 1.0])
    assert level([40.0, 3.0, 2.0, 1.0], 1.1, 1e6) == median_of([40.0, 3.0, 2.0, 1.0])
    assert level([40.0, 1.5, 2.0, 1.0], 0.5, 1e6) == median_of([40.0, 1.5, 2.0, 1.0])


@pytest.mark.parametrize("spread", [0.1, 0.3, 0.5])
def test_nine_in_ten_errors_are_within_bars_of_stretches_of_any_size(spread):
    """Sizes of stretches and of what is forecast are draws from one distribution."""
    random, inside = np.random.default_rng(2), []
    for _ in range(60):
        sizes = np.exp(2 * spread * random.normal(size=5))
        bars = np.sqrt(found(sizes[:4], sizes[0], 1.0).variances[-1] / DIM)
        inside.append(np.abs(np.sqrt(sizes[4]) * random.normal(size=400)) <= 1.645 * bars)
    assert 0.87 < np.mean(inside) < 0.95


def test_leads_are_model_times_from_zero_and_bars_do_not_shrink_with_them():
    result = found([1.0, 1.0, 1.0, 1.0], 1.0, 1.0)
    np.testing.assert_allclose(result.leads, 0.5 * np.arange(LEADS + 1))
    assert result.variances[0] == 0
    assert (np.diff(result.variances) >= 0).all()
