"""The vector fields against their equations, written with loops."""

import pytest
import torch

from smore.dynamics import (
    FullConservative,
    FullQuadratic,
    LinearDynamics,
    LowRankConservative,
    LowRankQuadratic,
    MLPDynamics,
)
from smore.stability import conservation_penalty, eigenvalue_penalty

DIM = 5


def generator():
    return torch.Generator().manual_seed(1)


def low_rank():
    return LowRankQuadratic(DIM, 3, generator()).double()


def full():
    return FullQuadratic(DIM, generator()).double()


def conservative():
    return LowRankConservative(DIM, 6, generator=generator()).double()


def full_conservative():
    dynamics = FullConservative(DIM, generator=generator()).double()
    with torch.no_grad():
        dynamics.upper.normal_(generator=generator())
    return dynamics


def dissipative():
    dynamics = LowRankConservative(DIM, 6, dissipative=True, generator=generator()).double()
    with torch.no_grad():
        dynamics.rotation.normal_(generator=generator())
        dynamics.dissipation.normal_(generator=generator())
    return dynamics


@pytest.mark.parametrize("make", [low_rank, full, conservative, full_conservative, dissipative])
def test_quadratic_dynamics_follow_their_equation(make):
    dynamics = make()
    slices = dynamics.slices(slice(None))
    state = torch.randn(DIM, dtype=torch.float64)
    for i in range(DIM):
        expected = dynamics.bias[i] + dynamics.linear[i] @ state + state @ slices[i] @ state
        torch.testing.assert_close(dynamics(state)[i], expected)


@pytest.mark.parametrize("make", [low_rank, full, conservative, full_conservative])
def test_slices_are_symmetric_and_both_views_agree(make):
    dynamics = make()
    slices = dynamics.slices(slice(None))
    torch.testing.assert_close(slices, slices.mT)
    rows = slice(1, 4)
    torch.testing.assert_close(dynamics.slice_rows(rows), slices[:, rows])
    torch.testing.assert_close(dynamics.slices(rows), slices[rows])


def test_low_rank_slices_are_products_of_their_factors():
    dynamics = low_rank()
    for i in range(DIM):
        a, b = dynamics.left[:, i, :], dynamics.right[:, i, :].T
        product = a @ b
        torch.testing.assert_close(dynamics.slices(slice(i, i + 1))[0], (product + product.T) / 2)


def test_lrlq_without_quadratic_term_and_bias_is_koopman():
    lrlq, koopman = low_rank(), LinearDynamics(DIM).double()
    with torch.no_grad():
        lrlq.left.zero_()
        lrlq.bias.zero_()
        koopman.linear.copy_(lrlq.linear)
    states = torch.randn(4, DIM, dtype=torch.float64)
    torch.testing.assert_close(lrlq(states), koopman(states))


def test_mlp_has_swish_between_its_four_layers():
    dynamics = MLPDynamics(DIM, 8, generator()).double()
    state = torch.randn(3, DIM, dtype=torch.float64)
    hidden = state
    for layer in range(4):
        hidden = hidden @ dynamics.weights[layer].T + dynamics.biases[layer]
        if layer < 3:
            beta = torch.log1p(torch.exp(dynamics.swish[layer]))
            hidden = hidden / (1 + torch.exp(-beta * hidden)) / 1.1
    torch.testing.assert_close(dynamics(state), hidden)


@pytest.mark.parametrize("make", [conservative, full_conservative])
def test_a_conservative_term_makes_no_energy_whatever_its_size(make):
    dynamics = make()
    dynamics.rescale(1e-4)
    states = torch.randn(500, DIM, dtype=torch.float64, generator=generator())
    pull = dynamics.quadratic(states)
    energy = (states * pull).sum(-1)
    assert (energy.abs() <= 1e-12 * states.norm(dim=-1) * pull.norm(dim=-1)).all()
    assert (
        conservation_penalty(dynamics).item() < 1e-20 * dynamics.slices(slice(None)).square().sum()
    )


@pytest.mark.parametrize("make", [conservative, full_conservative])
def test_the_skew_matrix_is_skew_and_acts_as_the_quadratic_term(make):
    dynamics = make()
    states = torch.randn(7, DIM, dtype=torch.float64, generator=generator())
    skew = dynamics.skew(states)
    torch.testing.assert_close(skew, -skew.mT)
    acted = (skew @ states[..., None])[..., 0]
    torch.testing.assert_close(acted, dynamics.quadratic(states))


def test_slices_without_cyclic_defect_are_taken_over_as_they_are():
    dynamics, other = full_conservative(), FullConservative(DIM).double()
    other.set_slices(dynamics.slices(slice(None)))
    torch.testing.assert_close(other.slices(slice(None)), dynamics.slices(slice(None)))


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_a_linear_part_is_cut_where_it_would_lose_less_than_the_margin(margin):
    dynamics = FullConservative(DIM, dissipative=True).double()
    wanted = torch.randn(DIM, DIM, dtype=torch.float64, generator=generator())
    dynamics.set_linear(wanted, margin)
    found = dynamics.linear.detach()
    torch.testing.assert_close(found - found.T, wanted - wanted.T)
    rates = torch.linalg.eigvalsh((wanted + wanted.T) / 2)
    cut = torch.linalg.eigvalsh((found + found.T) / 2)
    torch.testing.assert_close(cut, rates.clamp(max=-margin))


def test_a_dissipative_linear_part_has_no_growing_direction():
    symmetric = (dissipative().linear + dissipative().linear.T).detach() / 2
    assert torch.linalg.eigvalsh(symmetric).max() <= 1e-12
    assert eigenvalue_penalty(dissipative()).item() <= 1e-12


def linear():
    return LinearDynamics(DIM, generator()).double()


def mlp():
    return MLPDynamics(DIM, 8, generator()).double()


@pytest.mark.parametrize(
    "make", [linear, low_rank, full, conservative, full_conservative, dissipative, mlp]
)
def test_rescaled_dynamics_move_larger_latents_alike(make):
    dynamics, larger = make(), make()
    larger.rescale(7.0)
    states = torch.randn(4, DIM, dtype=torch.float64)
    torch.testing.assert_close(larger(7.0 * states), 7.0 * dynamics(states))
