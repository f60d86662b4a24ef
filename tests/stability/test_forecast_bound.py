"""Theorem 3 on trajectories: the bound holds for the forecasts it is about."""

import numpy as np
import pytest

from smore import SMORE
from smore.errors import DataError
from smore.stability.forecast_bound import l2_norms
from waves import planted, trajectories

DATA = trajectories(num_sequences=6, num_times=10, num_points=60)


@pytest.fixture(scope="module")
def fitted():
    sizes = {"latent_dim": 8, "hidden_dim": 32, "num_hidden": 2, "frequency_scale": 16.0}
    training = trajectories(num_sequences=30, num_times=8, num_points=60, seed=3)
    return SMORE(decoder_steps=300, **sizes).fit(training, progress=False)


@pytest.mark.parametrize("method", ["posterior", "least-squares"])
@pytest.mark.parametrize("sensors", [60, 20])
def test_measured_errors_stay_below_the_bound(fitted, method, sensors):
    seen = DATA.leading(1).at_points(np.arange(sensors))
    found = fitted.forecast_bound(DATA, observations=seen, method=method)
    assert found.observability > 0
    assert (found.measured <= found.bound).all()
    assert found.measured[0] > 0
    assert len(found.bound) == 10


def test_fewer_sensors_than_latents_bound_nothing(fitted):
    seen = DATA.leading(1).at_points(np.arange(5))
    found = fitted.forecast_bound(DATA, observations=seen)
    assert found.observability == 0
    assert np.isinf(found.bound).all()
    assert np.isfinite(found.measured).all()


def test_an_exact_model_has_next_to_no_error_and_a_bound_to_match():
    found = planted(DATA).forecast_bound(DATA)
    assert found.measured.max() < 1e-3
    assert (found.measured <= found.bound).all()
    assert found.bound.max() < 1.0
    assert "6 sequences" in found.recursion.sample


def test_l2_norms_are_weighted_sums_over_points_and_channels():
    mesh = DATA.sequences[0].mesh
    fields = np.random.default_rng(0).normal(size=(3, 2, 60))
    for number, field in enumerate(fields):
        total = sum(
            weight * value**2
            for channel in field
            for weight, value in zip(mesh.weights, channel, strict=True)
        )
        assert l2_norms(fields, mesh)[number] == pytest.approx(total**0.5)


def test_sequences_of_different_lengths_are_refused(fitted):
    ragged = [DATA.select([0]), DATA.select([1]).leading(4)]
    joined = ragged[0].__class__(
        sequences=(*ragged[0].sequences, *ragged[1].sequences),
        channels=DATA.channels,
        space=DATA.space,
        clock=DATA.clock,
        groups=(0, 1),
    )
    with pytest.raises(DataError, match="one length"):
        fitted.forecast_bound(joined)
