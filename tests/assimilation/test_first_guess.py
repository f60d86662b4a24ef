"""How far a first guess is still in a state, and what its covariance has to own up to."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from smore.assimilation._first_guess import FirstGuess, underestimated
from smore.assimilation.kalman import Gaussian, Readings, Transition, predict, update
from smore.inference import LatentPrior

DIM, EXTRA, COUNT = 4, 2, 40


def _prior(count: int | None = COUNT) -> LatentPrior:
    random = np.random.default_rng(0)
    factor = random.normal(size=(DIM, DIM)) + 2 * np.eye(DIM)
    return LatentPrior(torch.tensor(random.normal(size=DIM)), torch.tensor(factor), count)


def _start(prior: LatentPrior, departure: np.ndarray) -> Gaussian:
    mean = prior.mean.numpy() + prior.factor.numpy() @ departure
    return Gaussian(
        np.append(mean, np.zeros(EXTRA)),
        np.concatenate([prior.factor.numpy(), np.zeros((EXTRA, DIM))]),
    )


def _steps(count: int = 5) -> list[tuple[Transition, Readings]]:
    random, size = np.random.default_rng(1), DIM + EXTRA
    return [
        (
            Transition(0.4 * random.normal(size=(size, size)), np.zeros(size), 0.1 * np.eye(size)),
            Readings(random.normal(size=(2, size)), random.normal(size=2), np.full(2, 0.3)),
        )
        for _ in range(count)
    ]


def test_the_matrix_says_what_another_first_guess_would_have_changed():
    """Two filters of the same readings, whose guesses differ by F ξ, come to differ by G ξ."""
    prior, departure = _prior(), np.random.default_rng(2).normal(size=DIM)
    one, other = _start(prior, np.zeros(DIM)), _start(prior, departure)
    guess = FirstGuess.of(prior, 0, DIM + EXTRA)
    for transition, readings in _steps():
        one, other = predict(one, transition), predict(other, transition)
        guess = guess.moved(transition.matrix).updated(one, readings)
        one, other = update(one, readings), update(other, readings)
        np.testing.assert_allclose(other.mean - one.mean, guess.matrix @ departure, atol=1e-12)


def test_what_is_owned_up_to_adds_up():
    """In two portions or at once: P + (f - 1) G Gᵀ; a smaller f takes nothing back."""
    prior = _prior()
    state, guess = _start(prior, np.zeros(DIM)), FirstGuess.of(prior, 0, DIM + EXTRA)
    once = guess.owned_up(state, 2.5)[1]
    guess, twice = guess.owned_up(state, 1.5)
    guess, twice = guess.owned_up(twice, 2.5)
    np.testing.assert_allclose(once.covariance, 2.5 * state.covariance, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(twice.covariance, once.covariance, rtol=1e-12, atol=1e-12)
    assert guess.owned_up(twice, 2.0) == (guess, twice)


def test_directions_that_readings_determine_are_counted():
    """Fine readings of two directions determine two; a prior that is known needs no more."""
    prior = _prior()
    start = Gaussian(prior.mean.numpy(), prior.factor.numpy())
    assert underestimated(prior, start) == pytest.approx(
        float(prior.underestimate(torch.tensor(0)))
    )
    rows = np.random.default_rng(3).normal(size=(2, DIM))
    after = update(start, Readings(rows, np.zeros(2), np.full(2, 1e-6)))
    wanted = float(prior.underestimate(torch.tensor(2.0)))
    assert underestimated(prior, after) == pytest.approx(wanted, rel=1e-6)
    assert not FirstGuess.of(_prior(None), 0, DIM).matters
