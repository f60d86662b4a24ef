"""Training until validation stops improving: what it returns, when it ends, and that it resumes."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from grids import advected, on_box

from smore.errors import InterruptedTrainingError
from smore_paper.baselines import convergence
from smore_paper.baselines.convergence import LEARNING_RATE, _Standing, fit_until_converged
from smore_paper.baselines.fno import FNO
from stopping import StopAfter


@pytest.fixture(scope="module")
def data():
    everything = on_box(advected(12, 5, resolution=8))
    return everything.select(range(8)), everything.select(range(8, 12))


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(convergence, "EVALUATE_EVERY", 2)
    monkeypatch.setattr(convergence, "MOST_EPOCHS", 12)


def operator():
    return FNO(2, 3, 1, batch_size=4)


def weights(trained):
    return torch.cat([weight.detach().flatten() for weight in trained._network.parameters()])


def test_the_weights_with_the_lowest_validation_error_are_kept(data):
    train, validation = data
    trained = operator()
    went = fit_until_converged(trained, train, validation, seed=0)
    truth = np.stack([sequence.fields[1:] for sequence in validation])
    error = np.square(trained.forecast(validation, truth.shape[1]) - truth).mean()
    assert [epoch for epoch, _ in went.curve] == [2, 4, 6, 8, 10, 12]
    assert error == pytest.approx(min(each for _, each in went.curve), rel=1e-5)
    assert dict(went.curve)[went.best_epoch] == min(each for _, each in went.curve)
    assert went.epochs == trained.epochs_run == 12
    assert not went.converged


def test_one_that_is_cut_off_goes_on_bit_by_bit(data, tmp_path, monkeypatch):
    train, validation = data
    whole, resumed = operator(), operator()
    expected = fit_until_converged(whole, train, validation, seed=3)
    with monkeypatch.context() as patch:
        patch.setattr(convergence, "stop_requests", lambda: nullcontext(StopAfter(5)))
        with pytest.raises(InterruptedTrainingError):
            fit_until_converged(operator(), train, validation, seed=3, checkpoints=tmp_path)
    went = fit_until_converged(resumed, train, validation, seed=3, checkpoints=tmp_path)
    assert went.curve == expected.curve
    assert torch.equal(weights(resumed), weights(whole))


def test_the_rate_shrinks_where_nothing_is_gained_and_training_ends():
    standing, network = _Standing(), torch.nn.Linear(1, 1)
    standing.judge(1.0, network)
    for _ in range(convergence.PATIENCE):
        assert standing.rate == LEARNING_RATE
        standing.judge(0.995, network)  # lower, but by less than a hundredth
    assert standing.rate == pytest.approx(0.3 * LEARNING_RATE)
    assert standing.lowest == 0.995
    while not standing.ended:
        standing.judge(math.nan, network)
    assert standing.rate < convergence.LOWEST_RATE
    assert standing.lowest == 0.995


def test_a_training_that_turns_non_finite_goes_back_with_smaller_steps(data, monkeypatch):
    train, validation = data
    usual, calls = convergence.accumulate_rollout_loss, iter(range(1000))

    def loss(*given):
        return math.nan if next(calls) == 10 else usual(*given)

    monkeypatch.setattr(convergence, "accumulate_rollout_loss", loss)
    trained = operator()
    went = fit_until_converged(trained, train, validation, seed=0)
    assert went.epochs == 12
    assert torch.isfinite(weights(trained)).all()
