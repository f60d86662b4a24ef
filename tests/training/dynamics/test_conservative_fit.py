"""Energy-conserving operator inference against dense constrained least squares."""

import itertools

import numpy as np
import pytest
import torch
from test_quadratic_fit import DIM, derivative, system, trajectories

from smore.dynamics import FullConservative
from smore.stability import conservation_penalty
from smore.training.dynamics._conservative import ConservativeRegression
from smore.training.dynamics.quadratic import IntegralRegression


def noisy_regression():
    latents, timeline = trajectories(system(), num_sequences=12)
    random = np.random.default_rng(1)
    return IntegralRegression(
        latents + 0.05 * torch.as_tensor(random.normal(size=latents.shape)), timeline
    )


def dense_solution(regression, ridge, linear=None):
    """The same problem with Lagrange multipliers, one for every set of three indices."""
    size, dim = regression.cross.shape
    matrix = regression.gram + torch.diag(regression.penalty(ridge))
    places = {
        pair: 1 + dim + n
        for n, pair in enumerate((j, k) for j in range(dim) for k in range(j, dim))
    }
    constraints, targets = [], []
    for triple in itertools.combinations_with_replacement(range(dim), 3):
        row = torch.zeros(size, dim, dtype=torch.float64)
        for i in set(triple):
            rest = list(triple)
            rest.remove(i)
            row[places[tuple(rest)], i] = 1
        constraints.append(row.flatten())
        targets.append(0.0)
    if linear is not None:
        for j, i in itertools.product(range(dim), range(dim)):
            row = torch.zeros(size, dim, dtype=torch.float64)
            row[1 + j, i] = 1
            constraints.append(row.flatten())
            targets.append(float(linear[i, j]))
    rows = torch.stack(constraints)
    hessian = torch.kron(matrix, torch.eye(dim, dtype=torch.float64))
    zeros = torch.zeros(len(rows), len(rows), dtype=torch.float64)
    system = torch.cat([torch.cat([hessian, rows.T], 1), torch.cat([rows, zeros], 1)])
    right = torch.cat([regression.cross.flatten(), torch.tensor(targets, dtype=torch.float64)])
    solved = torch.linalg.solve(system, right)[: size * dim].view(size, dim)
    return regression.unpack(solved)


@pytest.mark.parametrize("ridge", [1e-6, 1e-3])
@pytest.mark.parametrize("given", [False, True])
def test_it_is_the_constrained_least_squares_solution(ridge, given):
    regression = noisy_regression()
    linear = -0.2 * torch.eye(DIM, dtype=torch.float64) if given else None
    expected = dense_solution(regression, ridge, linear)
    found = ConservativeRegression(regression).solve(ridge, linear=linear)
    for name in ("bias", "linear", "slices"):
        torch.testing.assert_close(
            getattr(found, name), getattr(expected, name), rtol=1e-4, atol=1e-4
        )


def test_a_conservative_system_is_recovered_and_conserves():
    operators = system()
    regression = IntegralRegression(*trajectories(operators))
    found = ConservativeRegression(regression).solve(1e-10)
    dynamics = FullConservative(DIM).double()
    dynamics.set_linear(found.linear)
    dynamics.set_slices(found.slices)
    with torch.no_grad():
        dynamics.bias.copy_(found.bias)
    state = torch.randn(DIM, dtype=torch.float64)
    expected = torch.as_tensor(derivative(operators, state.numpy()))
    torch.testing.assert_close(dynamics(state), expected, rtol=0, atol=5e-3)
    assert conservation_penalty(dynamics).item() < 1e-25
    torch.testing.assert_close(dynamics.slices(slice(None)), found.slices)


def test_a_start_only_saves_iterations():
    regression = noisy_regression()
    solver = ConservativeRegression(regression)
    cold = solver.solve(1e-4)
    warm = solver.solve(1e-4, start=solver.solve(1e-2))
    torch.testing.assert_close(warm.slices, cold.slices, rtol=1e-4, atol=1e-5)


def test_packing_is_undone_by_unpacking():
    regression = noisy_regression()
    operators = regression.solve(1e-3)
    again = regression.unpack(regression.pack(operators))
    for name in ("bias", "linear", "slices"):
        torch.testing.assert_close(getattr(again, name), getattr(operators, name))
