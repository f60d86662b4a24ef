"""From states of a surrogate to fields in the user's units, and their standard deviations."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import Mesh
from smore.inference import (
    channel_blocks,
    field_variance,
)
from smore.surrogate.surrogate import Surrogate


def decode(surrogate: Surrogate, latents: Tensor, mesh: Mesh) -> NDArray[np.float32]:
    """Fields (..., channels, points) in the data's units from latents (..., channels, p)."""
    surrogate.warn_outside([mesh])
    return decode_part(surrogate, latents, mesh, slice(0, mesh.num_points))


@torch.no_grad()
def decode_part(
    surrogate: Surrogate, latents: Tensor, mesh: Mesh, points: slice
) -> NDArray[np.float32]:
    """`decode` at some points of a mesh."""
    fields = np.empty((*latents.shape[:-1], points.stop - points.start), dtype=np.float32)
    for chunk, coords in surrogate.decoder_chunks(mesh, points):
        decoded = surrogate.decoder.basis(coords).decode(latents.to(coords)).cpu().numpy()
        fields[..., chunk] = surrogate.description.normalization.undo(decoded)
    return fields


@torch.no_grad()
def decode_departures(surrogate: Surrogate, departures: NDArray, mesh: Mesh) -> NDArray:
    """What departures (n, r) of the latents, real or complex, change: no offset, normalised.

    Returns:
        (n, channels, points).
    """
    surrogate.warn_outside([mesh])
    codes = departures.reshape(len(departures), -1, surrogate.decoder.latent_dim)
    fields = np.empty((*codes.shape[:2], mesh.num_points), dtype=codes.dtype)
    for chunk, coords in surrogate.decoder_chunks(mesh, slice(0, mesh.num_points)):
        modes = surrogate.decoder.basis(coords).modes.to("cpu", torch.float64)
        fields[..., chunk] = codes @ modes.numpy().T
    return fields


def deviation(
    surrogate: Surrogate, covariances: Tensor, mesh: Mesh, growth: Tensor | None
) -> NDArray[np.float32]:
    """Standard deviations (..., channels, points) of fields, in the data's units.

    Args:
        covariances: (..., channels, p, p) of the latents; what the decoder misses is added.
        mesh: where.
        growth: (channels,) how many times more the decoder misses than of the training data;
            by default as of trajectories that were left out.
    """
    return deviation_part(surrogate, covariances, mesh, slice(0, mesh.num_points), growth)


@torch.no_grad()
def deviation_part(
    surrogate: Surrogate, covariances: Tensor, mesh: Mesh, points: slice, growth: Tensor | None
) -> NDArray[np.float32]:
    """`deviation` at some points of a mesh."""
    if growth is None:
        growth = torch.tensor(surrogate.description.noise_growth, dtype=torch.float64)
    num_channels = covariances.shape[-3]
    prior = channel_blocks(surrogate.prior.covariance, num_channels)
    scale = surrogate.description.normalization.scale_array[:, None]
    fields = np.empty((*covariances.shape[:-2], points.stop - points.start), dtype=np.float32)
    for chunk, coords in surrogate.decoder_chunks(mesh, points):
        modes = surrogate.decoder.basis(coords).modes.to("cpu", torch.float64)
        missed = surrogate.error.residual_variance(field_variance(modes, prior)) * growth[:, None]
        variance = field_variance(modes, covariances) + missed
        fields[..., chunk] = variance.sqrt().numpy() * scale
    return fields
