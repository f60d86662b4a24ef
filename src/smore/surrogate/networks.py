"""From settings to networks with fresh weights."""

from __future__ import annotations

import torch
from torch import nn

from smore.decoder import FilterNetwork
from smore.dynamics import (
    FullConservative,
    FullQuadratic,
    LatentDynamics,
    LinearDynamics,
    LowRankConservative,
    LowRankQuadratic,
    MLPDynamics,
)
from smore.settings import Settings


def build_decoder(
    settings: Settings,
    coordinate_dim: int,
    generator: torch.Generator | None = None,
    *,
    num_channels: int = 1,
) -> FilterNetwork:
    """The decoder that `settings` describe, with weights drawn from `generator`."""
    assert settings.latent_dim is not None
    assert settings.hidden_dim is not None
    return FilterNetwork(
        coordinate_dim,
        settings.latent_dim,
        settings.hidden_dim,
        settings.num_hidden,
        settings.frequency_scale,
        generator,
        num_outputs=num_channels if settings.latents == "joint" else 1,
    )


def build_dynamics(
    settings: Settings, num_channels: int, generator: torch.Generator | None = None
) -> LatentDynamics:
    """The latent dynamics on r = codes · p that `settings` describe."""
    assert settings.latent_dim is not None
    dim = settings.num_codes(num_channels) * settings.latent_dim
    if settings.dynamics == "koopman":
        return LinearDynamics(dim, generator)
    if settings.dynamics == "lrlq":
        assert settings.rank is not None
        return LowRankQuadratic(dim, settings.rank, generator)
    if settings.dynamics == "conservative":
        if settings.rank is None:
            return FullConservative(dim, settings.dissipative, generator)
        return LowRankConservative(dim, settings.rank, settings.dissipative, generator)
    if settings.dynamics == "quadratic":
        return FullQuadratic(dim, generator)
    assert settings.dynamics_hidden_dim is not None
    return MLPDynamics(dim, settings.dynamics_hidden_dim, generator)


def count_parameters(*networks: nn.Module) -> int:
    """Trainable numbers in `networks`."""
    return sum(parameter.numel() for network in networks for parameter in network.parameters())
