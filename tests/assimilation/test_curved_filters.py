"""Dynamics that bend: the linearised filter and the ensemble against 4D."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from smore.assimilation import Stream, solve_curved_window
from smore.assimilation._filtering import StreamFilter
from smore.assimilation.assimilating import assimilate
from smore.assimilation.kalman import Gaussian, Readings
from waves import NUM_MODES, planted, trajectories

DIM = 2 * NUM_MODES


@pytest.fixture(scope="module")
def bent():
    """Waves with a quadratic term, a tight prior and no errors of decoder and dynamics."""
    model = planted(trajectories(), dynamics="quadratic", integrator="rk4")
    surrogate = model.surrogate_
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        surrogate.dynamics.bias.zero_()
        surrogate.dynamics.tensor.copy_(0.005 * torch.randn(DIM, DIM, DIM, generator=random))
    prior = replace(surrogate.prior, factor=0.3 * torch.eye(DIM).double())
    model.surrogate_ = replace(surrogate, priors=(prior,))
    return model


def bent_stream(model, num_times: int, noise: float):
    """Readings of a true run of the quadratic dynamics."""
    surrogate = model.surrogate_
    filter_ = StreamFilter(surrogate, np.full(2, noise**2))
    random = np.random.default_rng(0)
    state = 0.3 * random.normal(size=(1, DIM))
    coords = random.uniform(-0.9, 0.9, size=(6, 2))
    step = surrogate.description.time_step
    rows = []
    for _ in range(num_times):
        places = surrogate.description.coordinate_map(coords)
        seen = []
        for channel in range(2):
            matrix, offset = filter_.system.rows(places, np.full(6, channel))
            seen.append(matrix @ state[0] + offset + noise * random.normal(size=6))
        rows.append(np.stack(seen, axis=1))
        state = filter_.system.advanced(state, 0.0, surrogate.description.step)
    times = np.repeat(step * np.arange(num_times), 6)
    names = [f"s{number}" for number in range(6)] * num_times
    return Stream.of(times, np.tile(coords, (num_times, 1)), np.concatenate(rows), names, surrogate)


def four_d(model, stream, noise: float):
    """All readings at once, linearised about the path found last."""
    surrogate = model.surrogate_
    filter_ = StreamFilter(surrogate, np.full(2, noise**2))
    readings, instants = [], []
    for time, part in stream.by_time():
        rows, values = filter_.rows(part)
        readings.append(Readings(rows, values, np.full(len(part), noise)))
        instants.append(filter_._model_time(time))

    def about(index, mean):
        return filter_.system.transition(mean, instants[index], instants[index + 1])

    first = Gaussian(surrogate.prior.mean.numpy(), surrogate.prior.factor.numpy())
    return solve_curved_window(first, about, readings)


def test_the_linearised_filter_is_near_4d(bent):
    noise = 0.02
    stream = bent_stream(bent, 8, noise)
    wanted = four_d(bent, stream, noise)[-1]
    how = {"noise": noise, "estimate": False, "watch": False}
    found = assimilate(bent.surrogate_, stream, **how)
    mean = found.filter.latent(found.steps[-1].belief).mean
    spread = np.sqrt(np.diagonal(wanted.covariance))
    assert np.abs((mean - wanted.mean) / spread).max() < 0.25
    # Without the quadratic term in the linearisation it would be far off.
    assert np.abs(mean - bent.surrogate_.prior.mean.numpy()).max() > 5 * spread.max()


def test_a_large_ensemble_agrees_with_the_linearised_filter(bent):
    noise = 0.05
    stream = bent_stream(bent, 6, noise)
    how = {"noise": noise, "estimate": False, "watch": False}
    linearised = assimilate(bent.surrogate_, stream, **how)
    ensemble = assimilate(bent.surrogate_, stream, members=500, **how)
    one = linearised.filter.latent(linearised.steps[-1].belief)
    other = ensemble.filter.latent(ensemble.steps[-1].belief)
    spread = np.sqrt(np.diagonal(one.covariance))
    assert np.abs((one.mean - other.mean) / spread).max() < 0.6
    ratio = np.sqrt(np.diagonal(other.covariance)) / spread
    assert ratio.min() > 0.75
    assert ratio.max() < 1.3
