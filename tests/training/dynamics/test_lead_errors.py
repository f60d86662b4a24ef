"""Error bars from forecasts inside a record: which stretch stands for those to come."""

import numpy as np
import pytest
import torch

from smore.training.dynamics.forced.calibration import lead_errors
from smore.training.dynamics.forced.search import LeftOutForecasts

DIM, LEADS = 3, 4


def errors_of(size, seed=0):
    """(forecasts, leads, R) normal errors of some mean square per direction, alike at all leads."""
    return np.sqrt(size) * np.random.default_rng(seed).normal(size=(400, LEADS, DIM))


def found(sizes, latest, variance):
    forecasts = LeftOutForecasts(np.arange(1, LEADS + 1), tuple(map(errors_of, sizes)))
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


def level(result):
    """Mean square per direction that bars are made of."""
    return result.variances[-1] / DIM / 1.05**2


def test_errors_of_chance_are_those_of_the_median_stretch():
    assert level(found([1.0, 4.0, 2.0, 3.0], 1.5, 100.0)) == pytest.approx(6**0.5, rel=0.1)
    # Falling, but far from exact: by chance, or not, who knows.
    assert level(found([40.0, 3.0, 2.0, 1.0], 0.5, 100.0)) == pytest.approx(6**0.5, rel=0.1)


def test_what_is_still_being_learned_is_told_by_the_latest_stretch():
    assert level(found([40.0, 3.0, 2.0, 1.0], 0.5, 1e6)) == pytest.approx(0.5, rel=0.1)
    # Not if they fall by little, the latest is no better than the last, or an earlier one was.
    assert level(found([4.0, 3.0, 2.0, 1.0], 0.5, 1e6)) == pytest.approx(6**0.5, rel=0.1)
    assert level(found([40.0, 3.0, 2.0, 1.0], 1.1, 1e6)) == pytest.approx(6**0.5, rel=0.1)
    assert level(found([40.0, 1.5, 2.0, 1.0], 0.5, 1e6)) == pytest.approx(3**0.5, rel=0.1)


def test_leads_are_model_times_from_zero_and_bars_do_not_shrink_with_them():
    result = found([1.0, 1.0, 1.0, 1.0], 1.0, 1.0)
    np.testing.assert_allclose(result.leads, 0.5 * np.arange(LEADS + 1))
    assert result.variances[0] == 0
    assert (np.diff(result.variances) >= 0).all()
