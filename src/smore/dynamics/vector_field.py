"""What every latent dynamics promises."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class LatentDynamics(nn.Module, ABC):
    """An autonomous vector field dα/dt = f(α) on the reduced state α in R^r."""

    dim: int

    @abstractmethod
    def forward(self, latents: Tensor) -> Tensor:
        """f(α): (..., r) -> (..., r)."""

    @abstractmethod
    def rescale(self, factor: float) -> None:
        """Become the dynamics of latents `factor` times as large: f(α) -> c f(α / c)."""


def uniform_parameter(
    *shape: int, fan_in: int, generator: torch.Generator | None = None
) -> nn.Parameter:
    """A weight as a fresh linear layer has it, U(±1/√fan_in)."""
    bound = 1 / math.sqrt(fan_in)
    return nn.Parameter((2 * torch.rand(*shape, generator=generator) - 1) * bound)
