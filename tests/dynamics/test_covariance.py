"""Covariances along a path, against ensembles and against sums written out."""

import pytest
import torch

from smore.dynamics import (
    FullConservative,
    LinearDynamics,
    LowRankQuadratic,
    MLPDynamics,
    StepError,
    StepPlan,
    forecast_covariances,
    forecast_path,
    step_map,
)
from smore.dynamics.covariance import step_jacobians

DIM, STEP = 3, 0.2


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def dynamics_of(kind):
    generator = torch.Generator().manual_seed(0)
    made = {
        "linear": lambda: LinearDynamics(DIM, generator),
        "quadratic": lambda: LowRankQuadratic(DIM, 2, generator),
        "conservative": lambda: FullConservative(DIM, generator=generator),
        "mlp": lambda: MLPDynamics(DIM, 5, generator),
    }[kind]().double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(0.5 * random(*parameter.shape, seed=3))
    return made


METHODS = [
    ("linear", "exact"),
    ("linear", "rk4"),
    ("quadratic", "rk4-38"),
    ("conservative", "strang"),
    ("mlp", "rk4"),
]


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_jacobians_are_those_of_finite_differences(kind, method):
    dynamics, states = dynamics_of(kind), random(4, DIM, seed=1)
    steps = torch.tensor([[0.1], [0.1], [0.25], [0.0]], dtype=torch.float64)
    advance = step_map(dynamics, steps, method=method)
    found = step_jacobians(advance, states, 0)
    for direction in range(DIM):
        nudge = torch.zeros(DIM, dtype=torch.float64)
        nudge[direction] = 1e-6
        with torch.no_grad():
            change = (advance(states + nudge, 0) - advance(states - nudge, 0)) / 2e-6
        torch.testing.assert_close(found[:, :, direction], change, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(found[3], torch.eye(DIM, dtype=torch.float64))


def propagate(dynamics, initial, covariance, error, intervals, method, substeps=1):
    plan = StepPlan.of(torch.tensor(intervals, dtype=torch.float64), STEP)
    with torch.no_grad():
        path = forecast_path(dynamics, initial, plan, method=method, substeps=substeps)
    return forecast_covariances(
        dynamics, path, plan, covariance, error, method=method, substeps=substeps
    )


def test_linear_covariances_are_those_of_all_errors_summed_up():
    """e_n = Aⁿ e_0 + Σ_k A^(n-1-k) η_k with E η_j η_kᵀ = φ^(k-j) Q (A^(k-j))ᵀ for j <= k."""
    dynamics = dynamics_of("linear")
    factor, first = 0.1 * random(DIM, DIM, seed=5), random(DIM, DIM, seed=6)
    # A rotation keeps Q = q I stationary, which the closed form assumes.
    with torch.no_grad():
        skew = random(DIM, DIM, seed=7)
        dynamics.linear.copy_(skew - skew.T)
    factor = 0.1 * torch.eye(DIM, dtype=torch.float64)
    error = StepError(factor, 0.7, STEP)
    initial = (first @ first.T)[None]
    found = propagate(dynamics, random(2, DIM), initial, error, [[STEP] * 5] * 2, "exact")
    assert found.shape == (1, 6, DIM, DIM)  # all sequences share it
    step = torch.linalg.matrix_exp(STEP * dynamics.linear.detach())
    power = [torch.linalg.matrix_power(step, n) for n in range(6)]
    for n in range(6):
        expected = power[n] @ initial[0] @ power[n].T
        for j in range(n):
            for k in range(n):
                low, high = min(j, k), max(j, k)
                shared = 0.7 ** (high - low) * 0.01 * power[high - low]  # E η_high η_lowᵀ
                if j > k:
                    shared = shared.T
                # E η_j η_kᵀ carried to time n
                expected = expected + power[n - 1 - j] @ shared.T @ power[n - 1 - k].T
        torch.testing.assert_close(found[0, n], expected, rtol=1e-10, atol=1e-12)


def test_steps_of_any_length_carry_state_and_error_as_one_linear_system():
    """(e, η) -> (A e + ℓ η, φ^ℓ A η) plus noise (1 - φ^2ℓ) Q of η, ℓ in steps of the error."""
    dynamics, zero = dynamics_of("linear"), torch.zeros(DIM, DIM, dtype=torch.float64)
    error, first = StepError(random(DIM, DIM, seed=5), 0.6, STEP), random(DIM, DIM, seed=6)
    lengths = [1.0, 0.5, 0.3, 0.9]
    found = propagate(
        dynamics,
        random(1, DIM),
        (first @ first.T)[None],
        error,
        [[STEP * length for length in lengths]],
        "exact",
    )
    both = torch.block_diag(first @ first.T, error.covariance)
    for output, length in enumerate(lengths, start=1):
        step = torch.linalg.matrix_exp(length * STEP * dynamics.linear.detach())
        memory = 0.6**length
        identity = torch.eye(DIM, dtype=torch.float64)
        moving = torch.cat(
            [torch.cat([step, length * identity], 1), torch.cat([zero, memory * step], 1)]
        )
        both = moving @ both @ moving.T
        both = both + torch.block_diag(zero, (1 - memory**2) * error.covariance)
        torch.testing.assert_close(found[0, output], both[:DIM, :DIM])


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_small_errors_are_propagated_as_an_ensemble_shows(kind, method):
    dynamics, start = dynamics_of(kind), random(2, DIM, seed=8)
    root = 1e-3 * random(DIM, DIM, seed=9)
    error = StepError(1e-3 * random(DIM, DIM, seed=10), 0.6, STEP)
    intervals = [[STEP, 3 * STEP, 0.5 * STEP], [STEP, 3 * STEP, 0.5 * STEP]]
    found = propagate(dynamics, start, (root @ root.T)[None], error, intervals, method)
    found = found.expand(2, -1, -1, -1)
    for sequence in range(2):
        expected = ensemble(dynamics, start[sequence], root, error, intervals[0], method)
        for output in range(4):
            torch.testing.assert_close(
                found[sequence, output],
                expected[output],
                rtol=0.05,
                atol=0.05 * float(expected[output].diagonal().max()),
            )


def ensemble(dynamics, start, root, error, intervals, method, members=20_000):
    """Sample covariances of states that carry their own errors along."""
    states = start + random(members, DIM, seed=11) @ root.T
    centre = start[None]
    made = random(members, DIM, seed=12) @ error.factor.T
    plan = StepPlan.of(torch.tensor([intervals], dtype=torch.float64), STEP)
    found = [torch.cov(states.T)]
    for index, length in enumerate(plan.steps[0].tolist()):
        many = torch.full((members, 1), length, dtype=torch.float64)
        advance = step_map(dynamics, many, method=method)
        single = step_map(dynamics, many[:1], method=method)
        moving = step_jacobians(single, centre, 0)[0]
        share, memory = length / STEP, error.correlation ** (length / STEP)
        with torch.no_grad():
            states = advance(states, 0) + share * made
            centre = single(centre, 0)
        fresh = random(members, DIM, seed=20 + index) @ error.factor.T
        made = memory * made @ moving.T + (1 - memory**2) ** 0.5 * fresh
        if index + 1 in plan.outputs.tolist():
            found.append(torch.cov(states.T))
    return found


def test_padding_adds_no_uncertainty():
    """A sequence that needs fewer steps than another one waits, and knows as much as before."""
    dynamics = dynamics_of("quadratic")
    error = StepError(0.1 * torch.eye(DIM, dtype=torch.float64), 0.5, STEP)
    initial = 0.01 * torch.eye(DIM, dtype=torch.float64)[None]
    start = random(1, DIM)
    together = propagate(
        dynamics, start.expand(2, -1), initial, error, [[STEP], [3 * STEP]], "rk4-38"
    )
    alone = propagate(dynamics, start, initial, error, [[STEP]], "rk4-38")
    torch.testing.assert_close(together[0], alone[0])


@pytest.mark.parametrize(("rows", "passes"), [(1, 3), (2, 2), (3, 1), (4, 1)])
def test_a_jacobian_holds_no_more_numbers_at_once_than_it_may(monkeypatch, rows, passes):
    """A backward pass gives some rows of all Jacobians, at states · r² numbers each."""
    dynamics, states = dynamics_of("quadratic"), random(4, DIM, seed=1)
    advance = step_map(dynamics, torch.full((4, 1), STEP, dtype=torch.float64))
    whole = step_jacobians(advance, states, 0)
    asked, grad = [], torch.autograd.grad
    monkeypatch.setattr("smore.dynamics.covariance.MOST_NUMBERS", rows * 4 * DIM**2)
    monkeypatch.setattr(
        torch.autograd, "grad", lambda *given, **told: asked.append(1) or grad(*given, **told)
    )
    torch.testing.assert_close(step_jacobians(advance, states, 0), whole)
    assert len(asked) == passes
