"""Integrators against exact solutions, their nominal order and each other."""

import itertools
import math

import numpy as np
import pytest
import torch

from smore.dynamics import (
    FullConservative,
    LatentDynamics,
    LinearDynamics,
    LowRankConservative,
    LowRankQuadratic,
    rollout,
    step_map,
)
from smore.dynamics.integrators import affine_flow, strang_step
from smore.errors import SettingsError


class Logistic(LatentDynamics):
    """dα/dt = α (1 - α), solved by 1 / (1 + (1/α₀ - 1) e^{-t})."""

    dim = 1

    def forward(self, latents):
        return latents * (1 - latents)

    def rescale(self, factor):
        raise AssertionError("not needed here")

    @staticmethod
    def solution(initial, time):
        return 1 / (1 + (1 / initial - 1) * math.exp(-time))


def rotation(frequency=2.0):
    dynamics = LinearDynamics(2).double()
    with torch.no_grad():
        dynamics.linear.copy_(torch.tensor([[0.0, -frequency], [frequency, 0.0]]))
    return dynamics


def steps(values, sequences=1):
    return torch.tensor([values], dtype=torch.float64).expand(sequences, -1)


@pytest.mark.parametrize("method", ["rk4", "rk4-38"])
@pytest.mark.parametrize("problem", ["logistic", "rotation"])
def test_observed_order_is_four(method, problem):
    sizes = 0.5 / 2.0 ** np.arange(4)
    errors = []
    for size in sizes:
        count = round(2 / size)
        if problem == "logistic":
            dynamics, initial = Logistic(), torch.tensor([[0.2]], dtype=torch.float64)
            exact = torch.tensor([Logistic.solution(0.2, 2.0)], dtype=torch.float64)
        else:
            dynamics, initial = rotation(), torch.tensor([[1.0, 0.0]], dtype=torch.float64)
            exact = torch.tensor([math.cos(4.0), math.sin(4.0)], dtype=torch.float64)
        advance = step_map(dynamics, steps([size] * count), method=method)
        errors.append((rollout(advance, initial, count)[0, -1] - exact).norm().item())
    order = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert order == pytest.approx(4, abs=0.35)


def test_exact_flow_is_exact_at_any_step():
    advance = step_map(rotation(), steps([0.3, 50.0]), method="exact")
    end = rollout(advance, torch.tensor([[1.0, 0.0]], dtype=torch.float64), 2)[0, -1]
    angle = 2.0 * 50.3
    expected = torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64)
    torch.testing.assert_close(end, expected, rtol=0, atol=1e-10)


def test_flow_of_a_sum_is_the_composition_of_flows():
    initial = torch.randn(3, 2, dtype=torch.float64)
    two = rollout(step_map(rotation(), steps([0.4, 0.7], 3), method="exact"), initial, 2)[:, -1]
    one = rollout(step_map(rotation(), steps([1.1], 3), method="exact"), initial, 1)[:, -1]
    torch.testing.assert_close(two, one)


@pytest.mark.parametrize("method", ["rk4", "rk4-38"])
@pytest.mark.parametrize("substeps", [1, 3])
def test_linear_steps_are_the_stability_polynomial(method, substeps):
    dynamics = LinearDynamics(4, torch.Generator().manual_seed(0)).double()
    h = 0.7 / substeps
    w = h * dynamics.linear.detach()
    identity = torch.eye(4, dtype=torch.float64)
    polynomial = identity + w + w @ w / 2 + w @ w @ w / 6 + w @ w @ w @ w / 24
    initial = torch.randn(5, 4, dtype=torch.float64)
    advance = step_map(dynamics, steps([0.7], 5), method=method, substeps=substeps)
    expected = initial @ torch.linalg.matrix_power(polynomial, substeps).T
    torch.testing.assert_close(advance(initial, 0), expected)


@pytest.mark.parametrize("method", ["rk4", "rk4-38", "exact"])
def test_every_sequence_keeps_its_own_steps(method):
    """Sequences with different steps in one batch move as they do alone."""
    dynamics = LinearDynamics(3, torch.Generator().manual_seed(2)).double()
    lengths = torch.tensor([[0.1, 0.4], [0.3, 0.4], [0.1, 0.0]], dtype=torch.float64)
    initial = torch.randn(3, 3, dtype=torch.float64)
    together = rollout(step_map(dynamics, lengths, method=method), initial, 2)
    for row in range(3):
        alone = step_map(dynamics, lengths[row : row + 1], method=method)
        torch.testing.assert_close(
            rollout(alone, initial[row : row + 1], 2)[0], together[row], rtol=1e-12, atol=1e-12
        )
    torch.testing.assert_close(together[2, 2], together[2, 1])  # a step of length 0 stays


@pytest.mark.parametrize("kind", ["linear", "quadratic"])
def test_adjoint_agrees_with_direct_differentiation(kind):
    """Both converge to the same gradient, at fourth order in the substep."""
    pytest.importorskip("torchdiffeq")
    generator = torch.Generator().manual_seed(3)
    dynamics = (
        LinearDynamics(4, generator) if kind == "linear" else LowRankQuadratic(4, 2, generator)
    )
    dynamics = dynamics.double()
    lengths = torch.tensor([[0.5, 0.2], [0.3, 0.6]], dtype=torch.float64)
    initial = torch.randn(2, 4, dtype=torch.float64, generator=generator)

    def gradients(gradient, substeps):
        advance = step_map(dynamics, lengths, substeps=substeps, gradient=gradient)
        loss = rollout(advance, initial, 2)[:, 1:].square().sum()
        return loss.detach(), torch.autograd.grad(loss, list(dynamics.parameters()))

    differences = []
    for substeps in (1, 4):
        loss, direct = gradients("direct", substeps)
        adjoint_loss, adjoint = gradients("adjoint", substeps)
        torch.testing.assert_close(adjoint_loss, loss, rtol=1e-12, atol=1e-12)
        differences.append(
            sum(float((a - d).norm()) for a, d in zip(adjoint, direct, strict=True))
            / sum(float(d.norm()) for d in direct)
        )
    assert differences[0] < 1e-2
    assert differences[1] < differences[0] / 4**3


def test_unknown_and_unfit_methods_are_refused():
    with pytest.raises(SettingsError, match="rk4, rk4-38, exact"):
        step_map(rotation(), steps([1.0]), method="euler")
    with pytest.raises(SettingsError, match="linear dynamics only"):
        step_map(Logistic(), steps([1.0]), method="exact")
    with pytest.raises(SettingsError, match="rk4-38"):
        step_map(rotation(), steps([1.0]), method="rk4", gradient="adjoint")


def conservative(kind="full", size=1.0, margin=0.1):
    """Dissipative dynamics with a quadratic term of any size and a constant one."""
    generator = torch.Generator().manual_seed(0)
    if kind == "full":
        dynamics = FullConservative(6, dissipative=True).double()
        with torch.no_grad():
            dynamics.upper.normal_(generator=generator).mul_(size)
    else:
        dynamics = LowRankConservative(6, 9, dissipative=True, generator=generator).double()
        dynamics.rescale(0.05 / size)
    linear = torch.randn(6, 6, dtype=torch.float64, generator=generator)
    dynamics.set_linear(linear, margin)
    with torch.no_grad():
        dynamics.bias.normal_(generator=generator)
    return dynamics


@pytest.mark.parametrize("kind", ["full", "low rank"])
def test_a_strang_step_is_of_second_order(kind):
    dynamics = conservative(kind)
    start = torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def strang(substeps):
        return step_map(dynamics, steps([0.5], 3), method="strang", substeps=substeps)

    with torch.no_grad():
        fine = step_map(dynamics, steps([0.5], 3), method="rk4", substeps=2000)(start, 0)
        errors = [
            (
                step_map(dynamics, steps([0.5], 3), method="strang", substeps=n)(start, 0) - fine
            ).norm()
            for n in (16, 32, 64)
        ]
    for coarse, finer in itertools.pairwise(errors):
        assert 3.5 < coarse / finer < 4.5


@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("step", [0.01, 1.0, 100.0])
def test_a_strang_step_obeys_the_bound_of_the_ode_at_every_step_size(size, step):
    """||a(t)|| <= e^{-gt} ||a(0)|| + ||b|| (1 - e^{-gt}) / g."""
    dynamics = conservative(size=size)
    states = 50 * torch.randn(
        40, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2)
    )
    advance = step_map(dynamics, steps([step], 40), method="strang")
    decay, forcing = math.exp(-0.1 * step), float(dynamics.bias.detach().norm()) / 0.1
    with torch.no_grad():
        for _ in range(200):
            bound = decay * states.norm(dim=1) + forcing * (1 - decay)
            states = advance(states, 0)
            assert (states.norm(dim=1) <= bound * (1 + 1e-12)).all()


@pytest.mark.usefixtures("two_threads")
def test_strang_steps_of_many_large_states_are_those_of_each_with_two_threads():
    """Where LU of several matrices at once fails, or is wrong (pytorch issue 142815)."""
    generator = torch.Generator().manual_seed(7)
    dynamics = LowRankConservative(200, 3, generator=generator).double()
    states = torch.randn(16, 200, dtype=torch.float64, generator=generator)
    with torch.no_grad():
        ahead = step_map(dynamics, steps([0.1], 16), method="strang")(states, 0)
        each = step_map(dynamics, steps([0.1]), method="strang")
        alone = torch.cat([each(state[None], 0) for state in states])
    torch.testing.assert_close(ahead, alone)


def test_without_a_quadratic_term_a_strang_step_is_exact():
    dynamics = conservative()
    with torch.no_grad():
        dynamics.upper.zero_()
        start = torch.randn(2, 6, dtype=torch.float64)
        found = step_map(dynamics, steps([3.0], 2), method="strang")(start, 0)
        fine = step_map(dynamics, steps([3.0], 2), method="rk4", substeps=3000)(start, 0)
    torch.testing.assert_close(found, fine)


def test_sequences_may_take_strang_steps_of_different_lengths():
    dynamics = conservative()
    start = torch.randn(3, 6, dtype=torch.float64)
    lengths = torch.tensor([[0.1], [0.7], [0.1]], dtype=torch.float64)
    together = step_map(dynamics, lengths, method="strang", substeps=3)(start, 0)
    for number in range(3):
        row = slice(number, number + 1)
        alone = step_map(dynamics, lengths[row], method="strang", substeps=3)(start[row], 0)
        torch.testing.assert_close(together[row], alone)


def test_gradients_pass_through_strang_steps():
    dynamics = conservative()
    parameters = list(dynamics.parameters())

    def loss():
        start = torch.ones(2, 6, dtype=torch.float64)
        return (
            step_map(dynamics, steps([0.3], 2), method="strang", substeps=2)(start, 0)
            .square()
            .sum()
        )

    gradients = torch.autograd.grad(loss(), parameters)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        direction = torch.randn_like(parameter)
        with torch.no_grad():
            parameter.add_(direction, alpha=1e-6)
            above = loss()
            parameter.sub_(direction, alpha=2e-6)
            below = loss()
            parameter.add_(direction, alpha=1e-6)
        torch.testing.assert_close(
            (gradient * direction).sum(), (above - below) / 2e-6, rtol=1e-4, atol=1e-6
        )


def test_strang_steps_need_conservative_dynamics():
    with pytest.raises(SettingsError, match="needs dynamics 'conservative'"):
        step_map(rotation(), steps([0.1]), method="strang")


def quadratic_only(size):
    """No linear part and no constant: all that a step does is to rotate."""
    dynamics = conservative(size=size)
    with torch.no_grad():
        for parameter in (dynamics.rotation, dynamics.dissipation, dynamics.bias, dynamics.margin):
            parameter.zero_()
    return dynamics


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_rotation_keeps_the_norm_to_the_last_digit(size):
    start = torch.randn(40, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        end = step_map(quadratic_only(size), steps([1.0], 40), method="strang")(start, 0)
    assert float((end - start).abs().max()) > 0.1
    torch.testing.assert_close(end.norm(dim=1), start.norm(dim=1), rtol=5e-16, atol=0)


def test_a_state_at_rest_stays_there():
    start = torch.zeros(2, 6, dtype=torch.float64)
    with torch.no_grad():
        end = step_map(quadratic_only(1.0), steps([1.0], 2), method="strang")(start, 0)
    assert torch.equal(end, start)


def test_a_strang_step_takes_states_in_any_arrangement():
    dynamics = conservative()
    states = torch.randn(2, 3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        flow = affine_flow(dynamics, 0.2)
        together = strang_step(dynamics, states, 0.4, *flow)
        for row, column in itertools.product(range(2), range(3)):
            alone = strang_step(dynamics, states[row, column], 0.4, *flow)
            torch.testing.assert_close(together[row, column], alone)


def test_the_flow_of_an_affine_system_has_its_derivative():
    """d/dt (F a + s) = L (F a + s) + b, and F = I, s = 0 at time 0."""
    dynamics = conservative()
    state = torch.randn(6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    linear, bias = dynamics.linear.detach(), dynamics.bias.detach()

    def at(time):
        flow, shift = affine_flow(dynamics, time)
        return (flow @ state + shift).detach()

    torch.testing.assert_close(at(0.0), state)
    change = (at(0.7 + 1e-5) - at(0.7 - 1e-5)) / 2e-5
    torch.testing.assert_close(change, linear @ at(0.7) + bias, rtol=1e-7, atol=1e-7)
