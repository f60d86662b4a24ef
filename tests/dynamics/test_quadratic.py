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
