"""From settings to networks with fresh weights."""

from __future__ import annotations

import torch
from torch import nn

from smore.decoder import Decoder, FilterNetwork, GriddedBasis, Interpolation
from smore.dynamics import (
    ForcedLinear,
    FullConservative,
    FullQuadratic,
    LatentDynamics,
    LinearDynamics,
    LowRankConservative,
    LowRankQuadratic,
    MLPDynamics,
)
from smore.settings import PAPERS_SCALE, Settings


def build_network(
    settings: Settings,
    coordinate_dim: int,
    generator: torch.Generator | None = None,
    *,
    num_channels: int = 1,
) -> FilterNetwork:
    """The filter network that `settings` describe, with weights drawn from `generator`."""
    assert settings.latent_dim is not None
    assert settings.hidden_dim is not None
    return FilterNetwork(
        coordinate_dim,
        settings.latent_dim,
        settings.hidden_dim,
        settings.num_hidden,
        settings.frequency_scale or PAPERS_SCALE,
        generator,
        num_outputs=settings.num_outputs(num_channels),
    )


def build_decoder(
    settings: Settings,
    coordinate_dim: int,
    num_channels: int,
    interpolation: Interpolation | None,
) -> Decoder:
    """The decoder that `settings` describe, to be filled; gridded ones need an interpolation."""
    if interpolation is None:
        return build_network(settings, coordinate_dim, num_channels=num_channels)
    assert settings.latent_dim is not None
    outputs = settings.num_outputs(num_channels)
    return GriddedBasis(interpolation, coordinate_dim, settings.latent_dim, outputs)


def build_dynamics(
    settings: Settings, num_channels: int, generator: torch.Generator | None = None
) -> LatentDynamics:
    """The latent dynamics on r = codes · p that `settings` describe."""
    assert settings.latent_dim is not None
    dim = settings.num_codes(num_channels) * settings.latent_dim
    if settings.dynamics == "linear":
        return ForcedLinear(dim, len(settings.periods or ()))
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
        return FullQuadratic(dim, generator, settings.quadratic_start)
    assert settings.dynamics_hidden_dim is not None
    return MLPDynamics(dim, settings.dynamics_hidden_dim, generator)


def count_parameters(*networks: nn.Module) -> int:
    """Trainable numbers in `networks`."""
    return sum(parameter.numel() for network in networks for parameter in network.parameters())
