"""DINo's latent dynamics: a multilayer perceptron without any structure."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, softplus

from smore.dynamics.vector_field import LatentDynamics, uniform_parameter

NUM_LAYERS = 4


class MLPDynamics(LatentDynamics):
    """dα/dt = MLP(α), layers r-h-h-h-r with a trainable Swish x σ(softplus(β) x) / 1.1 between."""

    def __init__(self, dim: int, hidden_dim: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.dim = dim
        widths = [dim] + [hidden_dim] * (NUM_LAYERS - 1) + [dim]
        self.weights = nn.ParameterList(
            uniform_parameter(after, before, fan_in=before, generator=generator)
            for before, after in pairwise(widths)
        )
        self.biases = nn.ParameterList(
            uniform_parameter(after, fan_in=before, generator=generator)
            for before, after in pairwise(widths)
        )
        self.swish = nn.Parameter(torch.full((NUM_LAYERS - 1,), 0.5))

    def forward(self, latents: Tensor) -> Tensor:
        hidden = latents
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if layer:
                beta = softplus(self.swish[layer - 1])
                hidden = hidden * torch.sigmoid(beta * hidden) / 1.1
            hidden = linear(hidden, weight, bias)
        return hidden

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        self.weights[0].div_(factor)
        self.weights[-1].mul_(factor)
        self.biases[-1].mul_(factor)
