"""Trajectories ask for quadratic dynamics if theirs are quadratic, and only then."""

import numpy as np
import pytest
import torch

from smore import Trajectories
from smore.settings import Settings
from smore.training._nonlinearity import asks_for_quadratic, errors_of_kinds
from smore.training.preparing import prepare

POINTS, TIMES = 30, 12
MODES = np.linalg.qr(np.random.default_rng(0).normal(size=(POINTS, 4)))[0].T
ROTATION = np.array([[0.9, 0.4, 0, 0], [-0.4, 0.9, 0, 0], [0, 0, 0.8, 0.1], [0, 0, -0.1, 0.8]])


def logistic(state):
    """Every coordinate goes its chaotic way."""
    return 3.7 * state * (1 - state)


def trajectories(step, count, *, noise=0.0, seed=1):
    random = np.random.default_rng(seed)
    sequences = []
    for _ in range(count):
        states = [random.uniform(0.1, 0.9, size=4)]
        for _ in range(TIMES - 1):
            states.append(step(states[-1]))
        fields = np.array(states) @ MODES
        sequences.append(fields + noise * random.normal(size=fields.shape))
    return np.array(sequences)


def asks(fields, times=None):
    count, length, _ = fields.shape
    data = Trajectories.from_arrays(
        list(fields[:, :, None]),
        np.linspace(0, 1, POINTS)[:, None],
        [np.arange(float(length)) if times is None else times] * count,
    )
    prepared = prepare(data, None, Settings(dynamics="linear"), torch.device("cpu"))
    return asks_for_quadratic(prepared.problem, prepared.trajectories.groups)


def test_a_quadratic_map_is_found():
    fields = trajectories(logistic, 40)
    linear, quadratic = errors_of_kinds(fields - fields.mean((0, 1)), np.arange(40))
    assert quadratic < 1e-4 * linear
    assert asks(fields)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_linear_map_stays_linear(noise):
    assert not asks(trajectories(lambda state: state @ ROTATION, 40, noise=noise))


def test_noise_asks_for_nothing():
    assert not asks(np.random.default_rng(3).normal(size=(20, TIMES, POINTS)))


def test_few_trajectories_or_unequal_steps_tell_nothing():
    assert not asks(trajectories(logistic, 3))
    assert not asks(trajectories(logistic, 40), times=np.cumsum(np.linspace(1, 2, TIMES)))


def test_the_default_takes_what_was_found():
    fields = trajectories(logistic, 40)
    data = Trajectories.from_arrays(
        list(fields[:, :, None]), np.linspace(0, 1, POINTS)[:, None], [np.arange(float(TIMES))] * 40
    )
    kinds = {
        asked: prepare(
            data, None, Settings(**asked_settings), torch.device("cpu")
        ).settings.dynamics
        for asked, asked_settings in {
            "open": {},
            "linear": {"dynamics": "linear"},
            "periods": {"periods": (3.0,)},
        }.items()
    }
    assert kinds == {"open": "lrlq", "linear": "linear", "periods": "linear"}
