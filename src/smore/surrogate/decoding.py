"""From states of a surrogate to fields in the user's units, and their standard deviations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import Mesh
from smore.decoder import Basis, per_channel
from smore.inference import (
    code_blocks,
    field_variance,
)
from smore.surrogate.surrogate import Surrogate


def decode(surrogate: Surrogate, latents: Tensor, mesh: Mesh) -> NDArray[np.float32]:
    """Fields (..., channels, points) in the data's units from latents (..., codes, p)."""
    surrogate.warn_outside([mesh])
    return decode_part(surrogate, latents, mesh, slice(0, mesh.num_points))


@torch.no_grad()
def decode_part(
    surrogate: Surrogate, latents: Tensor, mesh: Mesh, points: slice
) -> NDArray[np.float32]:
    """`decode` at some points of a mesh."""
    channels = surrogate.num_channels
    codes = per_channel(latents, channels)
    fields = np.empty((*codes.shape[:-1], points.stop - points.start), dtype=np.float32)
    for chunk, coords in surrogate.decoder_chunks(mesh, points):
        bases = surrogate.decoder.channel_bases(coords, channels)
        decoded = decode_channels(bases, codes.to(coords)).cpu().numpy()
        fields[..., chunk] = surrogate.description.normalization.undo(decoded)
    return fields


def decode_channels(bases: Sequence[Basis], codes: Tensor) -> Tensor:
    """Fields (..., channels, points) from the code of every channel (..., channels, p)."""
    each = [basis.decode(codes[..., number, :]) for number, basis in enumerate(bases)]
    return torch.stack(each, dim=-2)


@torch.no_grad()
def decode_departures(surrogate: Surrogate, departures: NDArray, mesh: Mesh) -> NDArray:
    """What departures (n, r) of the latents, real or complex, change: no offset, normalised.

    Returns:
        (n, channels, points).
    """
    surrogate.warn_outside([mesh])
    channels = surrogate.num_channels
    shape = (surrogate.decoder.num_codes(channels), surrogate.decoder.latent_dim)
    codes = departures.reshape(len(departures), *shape)
    codes = np.broadcast_to(codes, (len(codes), channels, codes.shape[-1]))
    fields = np.empty((*codes.shape[:2], mesh.num_points), dtype=codes.dtype)
    for chunk, coords in surrogate.decoder_chunks(mesh, slice(0, mesh.num_points)):
        for number, basis in enumerate(surrogate.decoder.channel_bases(coords, channels)):
            modes = basis.modes.to("cpu", torch.float64)
            fields[:, number, chunk] = codes[:, number] @ modes.numpy().T
    return fields


def deviation(
    surrogate: Surrogate, covariances: Tensor, mesh: Mesh, growth: Tensor | None
) -> NDArray[np.float32]:
    """Standard deviations (..., channels, points) of fields, in the data's units.

    Args:
        covariances: (..., codes, p, p) of the latents; what the decoder misses is added.
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
    channels = surrogate.num_channels
    prior = code_blocks(surrogate.prior.covariance, covariances.shape[-3])
    scale = surrogate.description.normalization.scale_array[:, None]
    shape = (*covariances.shape[:-3], channels, points.stop - points.start)
    fields = np.empty(shape, dtype=np.float32)
    for chunk, coords in surrogate.decoder_chunks(mesh, points):
        bases = surrogate.decoder.channel_bases(coords, channels)
        missed = surrogate.error.residual_variance(field_variance(bases, prior)) * growth[:, None]
        variance = field_variance(bases, covariances) + missed
        fields[..., chunk] = variance.sqrt().numpy() * scale
    return fields
