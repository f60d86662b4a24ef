"""The filter network's filters and its initial weights, as the paper has them."""

import math

import pytest
import torch

from smore.decoder import FilterNetwork

DIM, LATENT, HIDDEN, LAYERS = 3, 20, 64, 2


def network(**options):
    generator = torch.Generator().manual_seed(0)
    return FilterNetwork(DIM, LATENT, HIDDEN, LAYERS, generator=generator, **options).double()


def test_filters_are_sines_and_then_cosines_of_scaled_frequencies():
    """g(x) = [sin(w x), cos(w x)], w = w_s / √(num_hidden + 1) times what is learned."""
    decoder = network(frequency_scale=5.0)
    points = torch.rand(4, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for layer in range(LAYERS + 1):
        together = decoder.filter(layer, points)
        frequencies = 5.0 / math.sqrt(3) * decoder.frequencies[layer].detach()
        for point, found in zip(points, together, strict=True):
            phases = [float(w @ point) for w in frequencies]
            expected = [math.sin(phase) for phase in phases] + [math.cos(phase) for phase in phases]
            assert found.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)
            torch.testing.assert_close(decoder.filter(layer, point), found)  # a single point


def test_the_frequency_scale_is_that_of_the_paper_unless_told():
    """w_s = 64: one hidden layer, two filters, 64 / √2 each."""
    assert FilterNetwork(2, 3, 8, 1).filter_scale == pytest.approx(45.2548, rel=1e-5)


def initial_weights():
    """Every parameter by name, with the fan-in that bounds it."""
    decoder = network()
    for layer in range(LAYERS + 1):
        yield f"frequencies {layer}", decoder.frequencies[layer], DIM
        yield f"modulations {layer}", decoder.modulations[layer], LATENT
        # The first linear layer has W₀ = 0 and d inputs.
        yield f"biases {layer}", decoder.biases[layer], HIDDEN if layer else DIM
    for layer in range(LAYERS):
        yield f"weights {layer}", decoder.weights[layer], HIDDEN
    yield "output weight", decoder.output_weight, HIDDEN
    yield "output bias", decoder.output_bias, HIDDEN


def test_weights_start_uniform_between_plus_and_minus_one_over_the_root_of_their_inputs():
    found = list(initial_weights())
    assert len(found) == len(list(network().parameters()))
    for name, parameter, fan_in in found:
        scaled = parameter.detach() * math.sqrt(fan_in)  # U(-1, 1)
        num = scaled.numel()
        assert scaled.abs().max() <= 1 + 1e-6, name
        if num > 1:
            assert scaled.min() < -0.85, name
            assert scaled.max() > 0.85, name
            assert abs(float(scaled.mean())) < 4 / math.sqrt(3 * num), name
            assert float(scaled.square().mean()) == pytest.approx(1 / 3, abs=2 / math.sqrt(num))
