"""Operator inference in integral form against systems that are known."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from smore.data import Trajectories
from smore.data.timeline import Timeline
from smore.dynamics import FullQuadratic, LowRankQuadratic
from smore.training.dynamics.quadratic import IntegralRegression, Operators, assign, features

DIM = 4


def system(seed=0):
    """A damped system with a conservative quadratic term, so that trajectories stay bounded."""
    generator = torch.Generator().manual_seed(seed)
    skew = torch.randn(DIM, DIM, DIM, generator=generator, dtype=torch.float64)
    skew = skew - skew.transpose(0, 1)
    slices = 0.5 * (skew + skew.mT) / 2
    turn = torch.randn(DIM, DIM, generator=generator, dtype=torch.float64)
    linear = 0.5 * (turn - turn.T) - 0.1 * torch.eye(DIM, dtype=torch.float64)
    bias = 0.2 * torch.randn(DIM, generator=generator, dtype=torch.float64)
    return Operators(bias, linear, slices)


def derivative(operators, state):
    b, w, q = (each.numpy() for each in (operators.bias, operators.linear, operators.slices))
    return b + w @ state + np.einsum("ijk,j,k->i", q, state, state)


def trajectories(operators, irregular=False, num_sequences=30):
    random = np.random.default_rng(0)
    latents, times = [], []
    for _ in range(num_sequences):
        steps = random.uniform(0.02, 0.08, 24) if irregular else np.full(24, 0.05)
        instants = np.concatenate([[0.0], np.cumsum(steps)])
        solved = solve_ivp(
            lambda _, state: derivative(operators, state),
            (0, instants[-1]),
            random.normal(size=DIM),
            t_eval=instants,
            rtol=1e-11,
            atol=1e-12,
        )
        latents.append(solved.y.T)
        times.append(instants)
    data = Trajectories.from_arrays(
        [each[:, None, :] for each in latents], np.arange(2.0 * DIM).reshape(DIM, 2), times
    )
    return torch.as_tensor(np.stack(latents)), Timeline.of(data)


@pytest.mark.parametrize("irregular", [False, True])
def test_known_operators_are_recovered(irregular):
    operators = system()
    found = IntegralRegression(*trajectories(operators, irregular)).solve(1e-12)
    torch.testing.assert_close(found.linear, operators.linear, rtol=0, atol=2e-3)
    torch.testing.assert_close(found.bias, operators.bias, rtol=0, atol=2e-3)
    torch.testing.assert_close(found.slices, operators.slices, rtol=0, atol=2e-3)


def test_slices_come_back_symmetric():
    found = IntegralRegression(*trajectories(system())).solve(1e-6)
    torch.testing.assert_close(found.slices, found.slices.mT, rtol=0, atol=0)


def test_features_are_one_the_state_and_its_products():
    state = torch.tensor([2.0, 3.0])
    assert features(state).tolist() == [1, 2, 3, 4, 6, 9]


def test_a_full_tensor_takes_the_operators_as_they_are():
    operators = system()
    dynamics = FullQuadratic(DIM).double()
    assign(operators, dynamics, torch.eye(DIM, dtype=torch.float64))
    state = torch.randn(DIM, dtype=torch.float64)
    expected = torch.as_tensor(derivative(operators, state.numpy()))
    torch.testing.assert_close(dynamics(state), expected)


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (2.0, -0.5)])
def test_a_product_holds_one_direction_of_each_sign(signs):
    """Slices with one positive and one negative eigenvalue need rank one; others need more."""
    generator = torch.Generator().manual_seed(3)
    vectors = torch.randn(2, DIM, DIM, generator=generator, dtype=torch.float64)
    slices = sum(
        sign * each[:, :, None] * each[:, None, :]
        for sign, each in zip(signs, vectors, strict=True)
    )
    mixed = torch.randn(DIM, DIM, generator=generator, dtype=torch.float64)
    covariance = mixed @ mixed.T + 0.1 * torch.eye(DIM, dtype=torch.float64)
    operators = Operators(torch.zeros(DIM).double(), torch.zeros(DIM, DIM).double(), slices)
    rank = 1 if signs[0] * signs[1] < 0 else 2
    dynamics = LowRankQuadratic(DIM, rank).double()
    assign(operators, dynamics, covariance)
    torch.testing.assert_close(dynamics.slices(slice(None)), slices, rtol=1e-9, atol=1e-9)


def test_what_is_cut_off_matters_least_on_the_data():
    """Latents hardly move along the last axis: a slice may lose its large entry there."""
    covariance = torch.diag(torch.tensor([1.0, 1.0, 1.0, 1e-4], dtype=torch.float64))
    slices = torch.zeros(DIM, DIM, DIM, dtype=torch.float64)
    slices[:, 0, 0] = 1.0
    slices[:, 3, 3] = 50.0
    operators = Operators(torch.zeros(DIM).double(), torch.zeros(DIM, DIM).double(), slices)
    dynamics = LowRankQuadratic(DIM, 1).double()
    assign(operators, dynamics, covariance)
    kept = dynamics.slices(slice(None))
    torch.testing.assert_close(kept[:, 0, 0], torch.ones(DIM).double(), rtol=0, atol=1e-6)
    assert kept[:, 3, 3].abs().max() < 1e-6
