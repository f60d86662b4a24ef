"""Quadratic dynamics start nearly linear: how small the entries of Q are."""

import math

import pytest
import torch

from smore.dynamics import FullQuadratic, LowRankQuadratic

DIM = 20


def generator():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("rank", [1, 9])
def test_products_of_factors_start_near_two_percent_squared_times_the_root_of_the_rank(rank):
    dynamics = LowRankQuadratic(DIM, rank, generator())
    for factor in (dynamics.left, dynamics.right):
        assert float(factor.detach().std()) == pytest.approx(0.02, rel=0.1)
    entries = torch.einsum("jic,kic->ijk", dynamics.left, dynamics.right).detach()
    assert float(entries.std()) == pytest.approx(0.02**2 * math.sqrt(rank), rel=0.1)


def test_a_full_tensor_starts_with_entries_near_a_thousandth():
    entries = FullQuadratic(DIM, generator()).tensor.detach()
    assert float(entries.std()) == pytest.approx(1e-3, rel=0.1)


def test_the_linear_part_starts_as_a_linear_layer_with_its_bias():
    bound = 1 / math.sqrt(DIM)
    for dynamics in (LowRankQuadratic(DIM, 4, generator()), FullQuadratic(DIM, generator())):
        for parameter in (dynamics.linear, dynamics.bias):
            assert 0.8 * bound < float(parameter.detach().abs().max()) <= bound * (1 + 1e-6)


def size_of_terms(dynamics, state):
    """Norm over outputs of Σ |terms that add up to Q(α)|."""
    if isinstance(dynamics, FullQuadratic):
        sizes = dynamics.tensor.abs()
    else:
        sizes = torch.einsum("jic,kic->ijk", dynamics.left.abs(), dynamics.right.abs())
    return float(torch.einsum("ijk,j,k->i", sizes, state.abs(), state.abs()).detach().norm())


@pytest.mark.parametrize(("dim", "rank"), [(1, 1), (4, 3)])
def test_the_magnitude_bounds_the_terms_of_any_state_and_could_not_be_smaller(dim, rank):
    for dynamics in (LowRankQuadratic(dim, rank, generator()), FullQuadratic(dim, generator())):
        for seed in range(5):
            state = torch.randn(dim, generator=torch.Generator().manual_seed(seed))
            bound = float(dynamics.magnitude.detach() * state.square().sum())
            assert size_of_terms(dynamics, state) <= bound * (1 + 1e-6)
            if dim == 1:  # a single term
                assert size_of_terms(dynamics, state) == pytest.approx(bound, rel=1e-5)
