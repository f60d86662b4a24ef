"""The gain that a filter settles to, and ensembles that stand for a Gaussian."""

from __future__ import annotations

import numpy as np
import pytest

from smore.assimilation._ensemble import Ensemble
from smore.assimilation.batch import solve_curved_window
from smore.assimilation.kalman import Gaussian, Readings, Transition, gain, predict, update
from smore.assimilation.steady import steady_filter
from smore.errors import SettingsError


def system(seed: int = 0, dim: int = 6, count: int = 3) -> tuple[Transition, Readings]:
    random = np.random.default_rng(seed)
    matrix = np.linalg.qr(random.normal(size=(dim, dim)))[0]
    transition = Transition(matrix, random.normal(size=dim), 0.1 * random.normal(size=(dim, dim)))
    rows = random.normal(size=(count, dim))
    return transition, Readings(rows, np.zeros(count), np.full(count, 0.2))


def test_the_steady_filter_is_where_step_by_step_ends():
    transition, readings = system()
    steady = steady_filter(transition, readings)
    state = Gaussian(np.zeros(6), np.eye(6))
    random = np.random.default_rng(1)
    values = random.normal(size=(400, 3))
    means = []
    for seen in values:
        told = Readings(readings.matrix, seen, readings.deviation)
        last_gain = gain(state, told)
        updated = update(state, told)
        means.append(updated.mean)
        state = predict(updated, transition)
    np.testing.assert_allclose(steady.gain, last_gain, atol=1e-12)
    np.testing.assert_allclose(steady.before @ steady.before.T, state.covariance, atol=1e-12)
    np.testing.assert_allclose(steady.after @ steady.after.T, updated.covariance, atol=1e-12)
    fast = [*steady.run(np.zeros(6), values)]
    np.testing.assert_allclose(fast[-1], means[-1], atol=1e-9)


def test_errors_follow_the_closed_loop_matrix_and_its_noise():
    transition, readings = system(3)
    steady = steady_filter(transition, readings)
    before = steady.before @ steady.before.T
    again = steady.closed_loop @ before @ steady.closed_loop.T + steady.noise @ steady.noise.T
    np.testing.assert_allclose(again, before, atol=1e-12)
    assert steady.spectral_radius < 1


def test_what_grows_unseen_never_settles():
    growing = Transition(np.diag([1.1, 0.5]), np.zeros(2), np.eye(2))
    with pytest.raises(SettingsError, match="does not settle"):
        steady_filter(growing, Readings(np.array([[0.0, 1.0]]), np.zeros(1), np.ones(1)))


def test_a_large_ensemble_does_what_the_exact_filter_does():
    transition, readings = system(4)
    random = np.random.default_rng(0)
    exact = Gaussian(random.normal(size=6), random.normal(size=(6, 6)))
    members = Ensemble.drawn(exact, 20_000, random)
    np.testing.assert_allclose(members.state.mean, exact.mean, atol=1e-10)
    told = Readings(readings.matrix, random.normal(size=3), readings.deviation)
    few = Ensemble(members.members[:50])
    # The transform itself is exact for the members it is given.
    exact_few = update(few.state, told)
    updated = few.updated(told).state
    np.testing.assert_allclose(updated.mean, exact_few.mean, atol=1e-10)
    np.testing.assert_allclose(updated.covariance, exact_few.covariance, atol=1e-10)
    moved = members.predicted(
        lambda states: states @ transition.matrix.T + transition.shift, transition.noise, random
    ).state
    wanted = predict(exact, transition)
    np.testing.assert_allclose(moved.mean, wanted.mean, atol=1e-10)
    np.testing.assert_allclose(
        moved.covariance, wanted.covariance, atol=0.05 * np.abs(wanted.covariance).max()
    )


def test_a_curved_window_ends_at_the_least_of_its_cost():
    """A pendulum watched by its angle: the gradient of the 4D cost vanishes at the answer."""
    random = np.random.default_rng(5)
    step = 0.1

    def advance(state):
        angle, speed = state
        return np.array([angle + step * speed, speed - step * np.sin(angle)])

    def about(_, state):
        matrix = np.array([[1.0, step], [-step * np.cos(state[0]), 1.0]])
        return Transition(matrix, advance(state) - matrix @ state, np.zeros((2, 0)))

    first = Gaussian(np.array([0.5, 0.0]), 0.3 * np.eye(2))
    rows = np.array([[1.0, 0.0]])
    readings = [Readings(rows, random.normal(size=1), np.array([0.1])) for _ in range(15)]
    found = solve_curved_window(first, about, readings)

    def cost(start):
        total, state = np.square((start - first.mean) / 0.3).sum(), start
        for number, each in enumerate(readings):
            total += np.square((each.values - rows @ state) / 0.1).sum()
            state = advance(state) if number < 14 else state
        return total

    start, tiny = found[0].mean, 1e-5
    for direction in np.eye(2):
        ahead, behind = cost(start + tiny * direction), cost(start - tiny * direction)
        # Gauss-Newton stops where the gradient is zero, not where the curvature is exact.
        assert abs(ahead - behind) / (2 * tiny) < 1e-5 * cost(start)
