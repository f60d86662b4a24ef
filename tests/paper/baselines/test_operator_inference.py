"""Operator inference against a quadratic system that is known."""

import builtins

import numpy as np
import pytest

from smore.data import Trajectories
from smore.errors import DataError, MissingExtraError
from smore_paper.baselines.operator_inference import (
    RIDGES,
    OperatorInference,
    held_out_error,
    infer,
    rollout,
)

DIM, NUM_POINTS, NUM_TIMES = 3, 20, 8
COORDS = np.random.default_rng(9).uniform(size=(NUM_POINTS, 2))
MODES = np.linalg.qr(np.random.default_rng(5).normal(size=(NUM_POINTS, DIM)))[0]


def system():
    """c, A and symmetric H of a damped rotation with a quadratic term that makes no energy."""
    random = np.random.default_rng(1)
    turn = random.normal(size=(DIM, DIM))
    linear = np.linalg.qr(np.eye(DIM) + 0.3 * (turn - turn.T))[0] * 0.95
    tensor = random.normal(size=(DIM, DIM, DIM))
    tensor = 0.05 * (tensor - tensor.transpose(1, 0, 2))
    return 0.1 * random.normal(size=DIM), linear, (tensor + tensor.transpose(0, 2, 1)) / 2


def step(state):
    constant, linear, quadratic = system()
    return constant + linear @ state + np.einsum("ijk,j,k->i", quadratic, state, state)


def paths(num_sequences, num_times, seed=0):
    """(sequences, times, r) of the system."""
    states = np.random.default_rng(seed).normal(size=(num_sequences, 1, DIM))
    for _ in range(num_times - 1):
        states = np.concatenate([states, [[step(each)] for each in states[:, -1]]], axis=1)
    return states


def trajectories(num_sequences=40, num_times=NUM_TIMES, seed=0):
    fields = 5.0 + paths(num_sequences, num_times, seed) @ MODES.T
    return Trajectories.from_arrays(fields[:, :, None], COORDS, np.arange(float(num_times)))


def fitted(rank=DIM):
    return OperatorInference(rank).fit(trajectories(), seed=0, epochs=1)


def test_known_operators_are_recovered():
    states = [each.T for each in paths(40, NUM_TIMES)]
    found = infer(states, RIDGES[-1]).operators
    constant, linear, quadratic = system()
    np.testing.assert_allclose(found[0].entries, constant, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1].entries, linear, rtol=0, atol=1e-8)
    tensor = found[2].expand_entries(found[2].entries).reshape(DIM, DIM, DIM)
    np.testing.assert_allclose(tensor, quadratic, rtol=0, atol=1e-8)


def test_forecasts_follow_the_system_beyond_the_training_window():
    test = trajectories(5, 20, seed=3)
    baseline = fitted()
    truth = np.stack([sequence.fields for sequence in test])
    np.testing.assert_allclose(baseline.forecast(test, 19), truth[:, 1:], rtol=0, atol=1e-4)
    assert baseline.epochs_run == 1
    assert baseline.device == "cpu"


def test_rollouts_are_those_of_opinf_one_sequence_at_a_time():
    states = [each.T for each in paths(40, NUM_TIMES)]
    model = infer(states, 1e-3)
    path = rollout(model, np.stack([each[:, 0] for each in states], axis=1), 6)
    for number, each in enumerate(states):
        np.testing.assert_allclose(path[:, :, number].T, model.predict(each[:, 0], 7)[:, 1:])


def test_a_large_ridge_stands_still():
    states = [each.T for each in paths(40, NUM_TIMES)]
    model = infer(states, 1e9)
    np.testing.assert_allclose(model.rhs(states[0]), states[0], atol=1e-12)


def test_the_held_out_error_is_the_mean_over_snapshots():
    known = [each.T for each in paths(40, NUM_TIMES)]
    model = infer(known, 3e-2)
    truth = [known[0], known[1][:, :4]]
    errors = []
    for each in truth:
        state = each[:, 0]
        for time in range(1, each.shape[1]):
            state = model.rhs(state)
            errors.append(np.sum((state - each[:, time]) ** 2))
    assert held_out_error(model, truth, bound=np.inf) == pytest.approx(np.mean(errors))


def test_rollouts_that_run_away_after_the_window_are_not_chosen():
    """They may fit what is seen of them: the bound is asked of twice the length."""
    growth = 1.2 ** np.arange(NUM_TIMES)
    states = [start * growth * np.ones((DIM, 1)) for start in (0.5, 1.0)]
    model = infer(states, RIDGES[-1])
    farthest = np.linalg.norm(states[1][:, -1])
    assert held_out_error(model, states, bound=1.5 * farthest) == np.inf
    assert held_out_error(model, states, bound=10 * farthest) < 1e-8


def test_noise_calls_for_a_larger_ridge_than_exact_data():
    exact = trajectories()
    fields = np.stack([sequence.fields for sequence in exact])
    noise = 0.3 * np.random.default_rng(0).normal(size=fields.shape)
    noisy = Trajectories.from_arrays(fields + noise, COORDS, np.arange(float(NUM_TIMES)))
    ridge = OperatorInference(12).fit(noisy, seed=0, epochs=1).ridge_
    assert ridge > 100 * fitted().ridge_


@pytest.mark.parametrize(("dataset", "rank"), [("wave", 80), ("ns", 72), ("sw", 120)])
def test_the_state_is_as_long_as_that_of_smore_lrlq(dataset, rank):
    assert OperatorInference.for_dataset(dataset).rank == rank


def test_parameters_are_mean_modes_and_operators():
    operators = DIM * (1 + DIM + DIM * (DIM + 1) // 2)
    assert fitted().num_parameters == NUM_POINTS + NUM_POINTS * DIM + operators


def test_a_single_trajectory_is_refused():
    with pytest.raises(DataError, match="at least two"):
        OperatorInference(DIM).fit(trajectories(1), seed=0, epochs=1)


def test_a_missing_package_is_named(monkeypatch):
    def without_opinf(name, *rest, **named):
        if name == "opinf":
            raise ImportError
        return real_import(name, *rest, **named)

    real_import = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without_opinf)
    with pytest.raises(MissingExtraError, match=r"smore-rom\[paper\]"):
        fitted()
