"""Weights start as those of a fresh linear layer."""

import math

import pytest
import torch

from smore.dynamics.vector_field import uniform_parameter


@pytest.mark.parametrize("fan_in", [4, 25])
def test_weights_start_uniform_between_plus_and_minus_one_over_the_root_of_their_inputs(fan_in):
    generator = torch.Generator().manual_seed(0)
    found = uniform_parameter(50, 40, fan_in=fan_in, generator=generator).detach()
    scaled = found.flatten().sort().values * math.sqrt(fan_in)
    # Sorted draws from U(-1, 1) lie on a line from -1 to 1.
    line = torch.linspace(-1, 1, len(scaled))
    assert float((scaled - line).abs().max()) < 0.08
    assert float(scaled.abs().max()) <= 1 + 1e-6


def test_a_generator_decides_the_weights():
    first, again = (
        uniform_parameter(3, 2, fan_in=2, generator=torch.Generator().manual_seed(7))
        for _ in range(2)
    )
    assert torch.equal(first, again)
