"""The interface: what it promises and what it refuses, whatever the method."""

from __future__ import annotations

import time

import numpy as np
import pytest
from grids import noise, on_box

from smore.errors import DataError, NotFittedError, SettingsError
from smore_paper.baselines.base import Baseline, Budget
from smore_paper.baselines.operator_inference import OperatorInference
from smore_paper.baselines.pod_dmd import PODDMD


class Persistence(Baseline):
    """The first snapshot for ever."""

    name = "persistence"
    num_parameters = 0

    def _train(self, training):
        return 0, "cpu"

    def _rollout(self, first, num_steps):
        assert all(sequence.num_snapshots == 1 for sequence in first)
        fields = np.stack([sequence.fields for sequence in first])
        return np.repeat(fields, num_steps, axis=1).astype(np.float64)


def test_a_forecast_starts_from_the_first_snapshot_and_sees_no_other():
    fields = noise(3, 4, 2, 5, 6)
    model = Persistence().fit(on_box(fields), seed=0, epochs=1)
    forecast = model.forecast(on_box(fields), 7)
    assert forecast.dtype == np.float32
    expected = fields[:, :1].reshape(3, 1, 2, 30)
    np.testing.assert_array_equal(forecast, np.broadcast_to(expected, (3, 7, 2, 30)))


def test_a_fit_says_what_it_took():
    model = Persistence().fit(on_box(noise(1, 2, 1, 4, 4)), seed=0, seconds=9.0)
    assert (model.epochs_run, model.device) == (0, "cpu")
    assert 0 <= model.seconds < 5


def test_forecast_comes_after_fit_and_with_the_same_channels():
    data = on_box(noise(1, 2, 2, 4, 4))
    with pytest.raises(NotFittedError, match="call fit"):
        Persistence().forecast(data, 1)
    model = Persistence().fit(data, seed=0, epochs=1)
    with pytest.raises(DataError, match=r"u0, u1.*select_channels"):
        model.forecast(data.select_channels(["u1"]), 1)
    with pytest.raises(DataError, match="at least one step"):
        model.forecast(data, 0)


@pytest.mark.parametrize("method", [PODDMD(3), OperatorInference(3)])
def test_what_looks_at_the_data_once_has_nothing_to_select(method):
    data = on_box(noise(2, 3, 1, 4, 4))
    with pytest.raises(SettingsError, match="nothing to select; leave select_on out"):
        method.fit(data, seed=0, epochs=1, select_on=data)


@pytest.mark.parametrize(
    ("seconds", "epochs"), [(None, None), (0.0, 1), (None, 0), (float("nan"), None)]
)
def test_a_budget_needs_a_positive_limit(seconds, epochs):
    with pytest.raises(SettingsError, match=r"limit|positive"):
        Budget(seconds, epochs)


def test_the_limit_that_comes_first_ends_the_budget():
    assert Budget(None, 4).used(1) == 0.25
    assert Budget(1e6, 4).used(5) == 1
    short = Budget(1e-3, 10**6)
    time.sleep(2e-3)
    assert short.used(1) == 1
