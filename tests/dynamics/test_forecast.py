"""Forecasts at any times take the steps that the dynamics were trained on."""

import math

import pytest
import torch

from smore.dynamics import (
    LinearDynamics,
    LowRankQuadratic,
    MLPDynamics,
    StepPlan,
    forecast_latents,
    rollout,
    step_map,
)

DIM, LONGEST = 3, 0.4


def dynamics_of(kind):
    generator = torch.Generator().manual_seed(0)
    if kind == "linear":
        return LinearDynamics(DIM, generator).double()
    if kind == "quadratic":
        return LowRankQuadratic(DIM, 2, generator).double()
    return MLPDynamics(DIM, 5, generator).double()


def initial_states(num=3):
    return torch.randn(num, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def forecast(dynamics, initial, intervals, method="rk4-38", substeps=1):
    with torch.no_grad():
        return forecast_latents(
            dynamics,
            initial,
            torch.tensor(intervals, dtype=torch.float64),
            longest_step=LONGEST,
            method=method,
            substeps=substeps,
        )


CASES = [
    ("linear", "exact"),
    ("linear", "rk4"),
    ("linear", "rk4-38"),
    ("quadratic", "rk4"),
    ("quadratic", "rk4-38"),
    ("mlp", "rk4-38"),
]


@pytest.mark.parametrize(("kind", "method"), CASES)
@pytest.mark.parametrize("substeps", [1, 2])
def test_a_long_interval_is_that_many_training_steps(kind, method, substeps):
    dynamics, initial = dynamics_of(kind), initial_states()
    long = forecast(dynamics, initial, [[3 * LONGEST, 2 * LONGEST]] * 3, method, substeps)
    steps = forecast(dynamics, initial, [[LONGEST] * 5] * 3, method, substeps)
    torch.testing.assert_close(long, steps[:, [0, 3, 5]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("kind", "method"), CASES)
def test_training_steps_are_the_training_rollout(kind, method):
    """Also when the last digits of the steps are ragged: 0.30000000000000004 is one step of 0.3."""
    dynamics, initial = dynamics_of(kind), initial_states()
    ragged = [LONGEST, LONGEST * (1 + 1e-9), LONGEST * (1 - 1e-9)]
    steps = torch.tensor([[LONGEST] * 3] * 3, dtype=torch.float64)
    expected = rollout(step_map(dynamics, steps, method=method), initial, 3).detach()
    found = forecast(dynamics, initial, [ragged] * 3, method)
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("kind", "method"), CASES)
def test_intervals_in_between_are_whole_steps_and_a_rest(kind, method):
    dynamics, initial = dynamics_of(kind), initial_states()
    found = forecast(dynamics, initial, [[0.1, 0.9]] * 3, method)
    steps = torch.tensor([[0.1, 0.4, 0.4, 0.1]] * 3, dtype=torch.float64)
    expected = rollout(step_map(dynamics, steps, method=method), initial, 4).detach()
    torch.testing.assert_close(found, expected[:, [0, 1, 4]], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("kind", "method"), CASES)
def test_no_time_is_no_change(kind, method):
    initial = initial_states()
    found = forecast(dynamics_of(kind), initial, [[0.0, 0.3], [0.0, 0.3], [0.0, 0.0]], method)
    torch.testing.assert_close(found[:, 1], initial, rtol=0, atol=1e-15)
    torch.testing.assert_close(found[2, 2], initial[2], rtol=0, atol=1e-15)


@pytest.mark.parametrize(("kind", "method"), CASES)
def test_a_sequence_moves_as_it_does_alone(kind, method):
    """Whatever the intervals of the others: a forecast does not depend on its company."""
    dynamics, initial = dynamics_of(kind), initial_states()
    intervals = [[0.4, 0.9, 0.2], [0.1, 2.0, 0.4], [1.3, 0.4, 0.0]]
    together = forecast(dynamics, initial, intervals, method)
    for row in range(3):
        alone = forecast(dynamics, initial[row : row + 1], intervals[row : row + 1], method)
        torch.testing.assert_close(together[row], alone[0], rtol=1e-10, atol=1e-10)


def test_exact_forecasts_form_a_flow():
    """t then s is t + s, in whichever pieces."""
    dynamics, initial = dynamics_of("linear"), initial_states()
    once = forecast(dynamics, initial, [[1.7]] * 3, "exact")[:, -1]
    pieces = forecast(dynamics, initial, [[0.05, 0.9, 0.75]] * 3, "exact")[:, -1]
    torch.testing.assert_close(once, pieces, rtol=1e-9, atol=1e-10)
    expected = initial @ torch.linalg.matrix_exp(1.7 * dynamics.linear.detach()).T
    torch.testing.assert_close(once, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.float64, 1e-9)])
@pytest.mark.parametrize("angle", [1e-3, 0.01, 0.04, 0.2, 0.3, 0.5, 0.57, 1.0, 3.0])
def test_the_exact_flow_is_exact_to_the_precision_of_its_numbers(dtype, tolerance, angle):
    """A rotation by any angle; see pytorch issue 196592 for the angles that are hard."""
    dynamics = LinearDynamics(2).to(dtype)
    with torch.no_grad():
        dynamics.linear.copy_(torch.tensor([[0.0, -angle], [angle, 0.0]], dtype=torch.float64))
    turned = dynamics.linear[1, 0].item()
    found = forecast_latents(
        dynamics,
        torch.tensor([[1.0, 0.0]], dtype=dtype),
        torch.ones(1, 1, dtype=torch.float64),
        longest_step=1.0,
        method="exact",
        substeps=1,
    )[0, 1]
    expected = [math.cos(turned), math.sin(turned)]
    assert found.tolist() == pytest.approx(expected, rel=0, abs=tolerance)


def test_a_step_may_be_a_millionth_too_long_and_no_longer():
    """Ragged last digits take no second step; what is truly longer than trained on does."""
    for excess, pieces in ((0.9e-6, 1), (1.1e-6, 2)):
        interval = torch.tensor([[LONGEST * (1 + excess)]], dtype=torch.float64)
        assert StepPlan.of(interval, LONGEST).steps.shape == (1, pieces)
