"""Gradients of chunks, summed in double precision."""

import torch
from torch import nn

from smore.decoder.gradient_sum import GradientSum
from smore.runtime.distribution import ALONE


def test_small_gradients_are_not_lost_beside_a_large_one():
    network = nn.Linear(1, 1, bias=False)
    gradient = GradientSum(network)
    for scale in [2.0**24, *[1.0] * 100]:  # float32 has no number between 2**24 and 2**24 + 2
        (scale * network.weight).sum().backward()
        gradient.take()
        assert network.weight.grad is None
    gradient.give(ALONE)
    assert network.weight.grad.item() == 2**24 + 100
    assert network.weight.grad.dtype == torch.float32


def test_what_gets_no_gradient_gets_zero():
    network = nn.Linear(2, 1)
    gradient = GradientSum(network)
    network.weight.sum().backward()
    gradient.take()
    gradient.give(ALONE)
    assert network.weight.grad.tolist() == [[1, 1]]
    assert network.bias.grad.tolist() == [0]
