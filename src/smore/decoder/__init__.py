"""The decoder: any coordinates -> (offset, modes)."""

from smore.decoder.basis import Basis
from smore.decoder.decoder import Decoder, per_channel
from smore.decoder.factored_residual import FactoredBlock, accumulate_factored, factored
from smore.decoder.gauge import mode_gram, orthonormal_gauge
from smore.decoder.gradient_sum import GradientSum
from smore.decoder.gridded import GriddedBasis
from smore.decoder.interpolation import Interpolation, interpolation_of
from smore.decoder.network import FilterNetwork
from smore.decoder.residual import (
    accumulate_reconstruction,
    backpropagate_residual,
    scaled_residual,
    squared_errors,
)

__all__ = [
    "Basis",
    "Decoder",
    "FactoredBlock",
    "FilterNetwork",
    "GradientSum",
    "GriddedBasis",
    "Interpolation",
    "accumulate_factored",
    "accumulate_reconstruction",
    "backpropagate_residual",
    "factored",
    "interpolation_of",
    "mode_gram",
    "orthonormal_gauge",
    "per_channel",
    "scaled_residual",
    "squared_errors",
]
