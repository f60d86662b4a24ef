"""The two sides of the benchmark solve the same problem."""

import pytest
import torch

from smore.inference import adam, normal_equations
from smore_paper.benches.inference import adam_through_network, bench_inference
from waves import planted, trajectories


@pytest.fixture(scope="module")
def model():
    return planted(trajectories())


def test_adam_through_the_network_is_adam_on_the_normal_equations(model):
    surrogate = model.surrogate_
    (block,) = surrogate.blocks(surrogate.aligned(trajectories(num_sequences=1)).leading(1))
    codes = adam_through_network(surrogate.decoder, block, 40, 1e-2)
    (equations,) = normal_equations(surrogate.decoder, [block])
    torch.testing.assert_close(codes.double(), adam(equations, 40, 1e-2), rtol=1e-3, atol=1e-4)


def test_least_squares_leaves_no_larger_residual(model):
    result = bench_inference(
        model, trajectories(num_sequences=4), visible=0.5, num_sequences=3, num_steps=200
    )
    assert (result.sequences, result.points) == (3, 20)
    assert result.least_squares_residual <= result.adam_residual
    assert result.speedup == pytest.approx(result.adam_seconds / result.posterior_seconds)
