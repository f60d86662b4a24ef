"""The decoder: any coordinates -> (offset, modes)."""

from smore.decoder.basis import Basis
from smore.decoder.gauge import change_gauge, mode_gram, orthonormal_gauge
from smore.decoder.gradient_sum import GradientSum
from smore.decoder.network import Decoder, FilterNetwork
from smore.decoder.residual import (
    accumulate_reconstruction,
    backpropagate_residual,
    scaled_residual,
    squared_errors,
)

__all__ = [
    "Basis",
    "Decoder",
    "FilterNetwork",
    "GradientSum",
    "accumulate_reconstruction",
    "backpropagate_residual",
    "change_gauge",
    "mode_gram",
    "orthonormal_gauge",
    "scaled_residual",
    "squared_errors",
]
