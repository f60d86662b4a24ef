"""The perceptron's sizes and what it starts with, as DINo has them."""

import math

import torch

from smore.dynamics import MLPDynamics

DIM, HIDDEN = 5, 40


def test_four_layers_start_as_fresh_linear_ones_with_three_equal_swishes_between():
    dynamics = MLPDynamics(DIM, HIDDEN, torch.Generator().manual_seed(0))
    inputs = [DIM, HIDDEN, HIDDEN, HIDDEN]
    assert [tuple(weight.shape) for weight in dynamics.weights] == [
        (HIDDEN, DIM),
        (HIDDEN, HIDDEN),
        (HIDDEN, HIDDEN),
        (DIM, HIDDEN),
    ]
    for weight, bias, fan_in in zip(dynamics.weights, dynamics.biases, inputs, strict=True):
        bound = 1 / math.sqrt(fan_in)
        assert len(bias) == len(weight)
        for parameter in (weight.detach(), bias.detach()):
            assert 0.7 * bound < float(parameter.abs().max()) <= bound * (1 + 1e-6)
    assert dynamics.swish.tolist() == [0.5, 0.5, 0.5]
