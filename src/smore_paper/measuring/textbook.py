"""Decoding as the paper prints it: every snapshot through every layer.

Slow on purpose: it shares only the parameters with the engine, none of its algebra.
"""

from __future__ import annotations

from torch import Tensor

from smore.decoder import FilterNetwork


def decode_snapshots(decoder: FilterNetwork, coords: Tensor, codes: Tensor) -> Tensor:
    """Every code through every layer: codes (snapshots, p) -> fields (snapshots, points)."""
    hidden = (codes @ decoder.modulations[0].T + decoder.biases[0])[:, None, :] * decoder.filter(
        0, coords
    )
    for layer, weight in enumerate(decoder.weights, start=1):
        shift = codes @ decoder.modulations[layer].T + decoder.biases[layer]
        hidden = (hidden @ weight.T + shift[:, None, :]) * decoder.filter(layer, coords)
    return hidden @ decoder.output_weight + decoder.output_bias
