"""SMORE-Koopman: linear latent dynamics."""

from __future__ import annotations

import torch
from torch import Tensor

from smore.dynamics.vector_field import LatentDynamics, uniform_parameter


class LinearDynamics(LatentDynamics):
    """dα/dt = W α   (paper, equation linear)."""

    def __init__(self, dim: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.dim = dim
        self.linear = uniform_parameter(dim, dim, fan_in=dim, generator=generator)

    def forward(self, latents: Tensor) -> Tensor:
        return latents @ self.linear.T

    def rescale(self, factor: float) -> None:
        """Nothing to do: linear dynamics know no scale."""
