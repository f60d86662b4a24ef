"""Filter, smoother and 4D against what textbooks and filterpy do, on random systems.

Every system has gaps (times without readings) and sensors that move (rows that change), and some
have more readings than states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from filterpy.kalman import KalmanFilter

from oracles.textbook_kalman import kalman_filter, rts_smoother
from smore.assimilation._smoothing import smoothed
from smore.assimilation.batch import solve_window
from smore.assimilation.kalman import (
    Gaussian,
    Readings,
    Transition,
    expected,
    gain,
    predict,
    update,
)

NUM_SYSTEMS, EXACT = 200, 1e-9


@dataclass
class System:
    first: Gaussian
    transitions: list[Transition]
    readings: list[Readings]


def random_system(seed: int) -> System:
    """Stable, unstable or oscillating; with full, low-rank or no noise in some transitions."""
    random = np.random.default_rng(seed)
    dim, times = int(random.integers(1, 9)), int(random.integers(3, 13))
    root = random.normal(size=(dim, dim)) + np.eye(dim)
    transitions = []
    for _ in range(times - 1):
        matrix = random.normal(size=(dim, dim))
        matrix *= random.uniform(0.6, 1.1) / np.abs(np.linalg.eigvals(matrix)).max()
        rank = int(random.integers(1, dim + 1))
        noise = random.uniform(0.1, 1.0) * random.normal(size=(dim, rank))
        # Textbooks invert what is predicted: it must have full rank there.
        noise = np.concatenate([noise, 0.3 * np.eye(dim)], axis=1)
        transitions.append(Transition(matrix, random.normal(size=dim), noise))
    readings = []
    for _ in range(times):
        count = 0 if random.uniform() < 0.3 else int(random.integers(1, 2 * dim + 1))
        rows = random.normal(size=(count, dim))
        readings.append(
            Readings(rows, random.normal(size=count), random.uniform(0.1, 1.0, size=count))
        )
    return System(Gaussian(random.normal(size=dim), root), transitions, readings)


def filtered(system: System) -> tuple[list[Gaussian], float]:
    state, found, likelihood = system.first, [], 0.0
    for number, readings in enumerate(system.readings):
        if number:
            state = predict(state, system.transitions[number - 1])
        likelihood += expected(state, readings).log_likelihood if len(readings) else 0.0
        state = update(state, readings)
        found.append(state)
    return found, likelihood


def textbook(system: System):
    return (
        system.first.mean,
        system.first.covariance,
        [(each.matrix, each.shift, each.noise @ each.noise.T) for each in system.transitions],
        [
            (each.matrix, each.values, np.diag(each.deviation**2)) if len(each) else None
            for each in system.readings
        ],
    )


def gap(found: list[Gaussian], wanted) -> float:
    """Largest difference of means and covariances, relative to their size."""
    return max(
        max(
            np.abs(one.mean - mean).max() / max(np.abs(mean).max(), 1),
            np.abs(one.covariance - covariance).max() / max(np.abs(covariance).max(), 1),
        )
        for one, (mean, covariance) in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("seed", range(NUM_SYSTEMS))
def test_filter_and_smoother_are_the_textbooks(seed):
    system = random_system(seed)
    wanted, predicted, likelihood = kalman_filter(*textbook(system))
    found, told = filtered(system)
    assert gap(found, wanted) <= EXACT
    assert told == pytest.approx(likelihood, rel=EXACT, abs=EXACT)
    later = rts_smoother(wanted, predicted, textbook(system)[2])
    assert gap([*smoothed(found, system.transitions)][::-1], later) <= EXACT


@pytest.mark.parametrize("seed", range(NUM_SYSTEMS))
def test_filter_and_smoother_are_those_of_filterpy(seed):
    system = random_system(seed)
    dim = len(system.first.mean)
    wanted = []
    # What is constant is an entry of the state that stays 1.
    theirs = KalmanFilter(dim_x=dim + 1, dim_z=1)
    theirs.x = np.append(system.first.mean, 1.0)
    theirs.P = np.zeros((dim + 1, dim + 1))
    theirs.P[:dim, :dim] = system.first.covariance
    for number, readings in enumerate(system.readings):
        if number:
            step = system.transitions[number - 1]
            F = np.block(
                [[step.matrix, step.shift[:, None]], [np.zeros((1, dim)), np.ones((1, 1))]]
            )
            Q = np.zeros((dim + 1, dim + 1))
            Q[:dim, :dim] = step.noise @ step.noise.T
            theirs.predict(F=F, Q=Q)
        if len(readings):
            H = np.pad(readings.matrix, ((0, 0), (0, 1)))
            theirs.update(readings.values, R=np.diag(readings.deviation**2), H=H)
        wanted.append((theirs.x[:dim].copy(), theirs.P[:dim, :dim].copy()))
    found, _ = filtered(system)
    assert gap(found, wanted) <= EXACT
    # Its smoother takes the state without the constant: shifts are followed by hand.
    means, drift = [], np.zeros(dim)
    drifts = [drift]
    for step in system.transitions:
        drift = step.matrix @ drift + step.shift
        drifts.append(drift)
    means = np.array([mean - drift for (mean, _), drift in zip(wanted, drifts, strict=True)])
    covariances = np.array([covariance for _, covariance in wanted])
    Fs = [np.eye(dim), *(step.matrix for step in system.transitions)]
    Qs = [np.zeros((dim, dim)), *(step.noise @ step.noise.T for step in system.transitions)]
    plain = KalmanFilter(dim_x=dim, dim_z=1)
    later, spread, *_ = plain.rts_smoother(means, covariances, Fs=Fs, Qs=Qs)
    smooth = [*smoothed(found, system.transitions)][::-1]
    wanted = [(mean + drift, each) for mean, drift, each in zip(later, drifts, spread, strict=True)]
    assert gap(smooth, wanted) <= EXACT


@pytest.mark.parametrize("seed", range(0, NUM_SYSTEMS, 4))
def test_all_readings_at_once_say_what_the_smoother_says(seed):
    system = random_system(seed)
    at_once = solve_window(system.first, system.transitions, system.readings)
    found, _ = filtered(system)
    smooth = [*smoothed(found, system.transitions)][::-1]
    assert gap(smooth, [(each.mean, each.covariance) for each in at_once]) <= EXACT
    assert gap(found[-1:], [(at_once[-1].mean, at_once[-1].covariance)]) <= EXACT


def test_states_without_variance_and_without_noise_are_smoothed_too():
    random = np.random.default_rng(0)
    rotation = np.array([[0.8, -0.6], [0.6, 0.8]])
    matrix = np.block([[rotation, np.eye(2)], [np.zeros((2, 2)), rotation]])
    first = Gaussian(random.normal(size=4), random.normal(size=(4, 2)))  # rank 2 of 4
    steps = [Transition(matrix, np.zeros(4), np.zeros((4, 0)))] * 6
    rows = [random.normal(size=(1, 4)) for _ in range(7)]
    readings = [Readings(row, random.normal(size=1), np.array([1e-3])) for row in rows]
    system = System(first, steps, readings)
    smooth = [*smoothed(filtered(system)[0], steps)][::-1]
    at_once = solve_window(first, steps, readings)
    assert gap(smooth, [(each.mean, each.covariance) for each in at_once]) <= 1e-7


def test_covariances_stay_positive_and_right_in_a_long_run_with_fine_readings():
    """Readings ten million times finer than the prior, ten thousand of them."""
    random = np.random.default_rng(1)
    turn = np.linalg.qr(random.normal(size=(6, 6)))[0]
    state = Gaussian(np.zeros(6), np.eye(6))
    step = Transition(turn, np.zeros(6), 1e-6 * np.eye(6))
    for _ in range(10_000):
        rows = random.normal(size=(2, 6))
        state = predict(update(state, Readings(rows, np.zeros(2), np.full(2, 1e-7))), step)
    sizes = np.linalg.eigvalsh(state.covariance)
    assert sizes.min() >= 1e-12 * (1 - 1e-9)  # what the last step added
    assert sizes.max() < 1e-9


def test_a_gain_moves_the_mean_as_the_update_does():
    system = random_system(3)
    readings = next(each for each in system.readings if len(each))
    moved = gain(system.first, readings) @ (readings.values - readings.matrix @ system.first.mean)
    np.testing.assert_allclose(
        update(system.first, readings).mean, system.first.mean + moved, atol=1e-12
    )


def test_a_reading_left_out_is_judged_by_all_others():
    """The closed form against updating with the others and asking for the one."""
    random = np.random.default_rng(2)
    state = Gaussian(random.normal(size=4), random.normal(size=(4, 4)))
    readings = Readings(random.normal(size=(6, 4)), random.normal(size=6), np.full(6, 0.3))
    for number, told in enumerate(expected(state, readings).left_out):
        others = update(state, readings.select(np.arange(6) != number))
        alone = expected(others, readings.select(np.array([number])))
        assert told == pytest.approx(float(alone.whitened[0] * np.sign(alone.root[0, 0])), abs=1e-9)
