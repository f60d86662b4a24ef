"""Where in space, and how much, a decoder misses of the fields it was fitted to."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from smore.data import AnyBlock, Block
from smore.decoder import Basis, Decoder, scaled_residual
from smore.inference import field_variance
from smore.runtime import common_team


@torch.no_grad()
def fit_residual_model(
    decoder: Decoder,
    blocks: Sequence[AnyBlock],
    latents: Tensor,
    covariance: Tensor,
    chunk_size: int | None,
) -> tuple[Tensor, Tensor]:
    """floor and share (channels,) of what the decoder misses, see `ModelError`.

    A least-squares fit to the mean squared residual at every point, in which errors count
    relative to how much the field varies there.

    Args:
        decoder: fitted.
        blocks: the training data.
        latents: (snapshots, codes, p) their latents.
        covariance: (codes, p, p) of the latents of each code.
        chunk_size: points decoded at once.
    """
    num_channels = blocks[0].num_channels
    square = torch.zeros(num_channels, 2, 2, dtype=torch.float64)
    cross = torch.zeros(num_channels, 2, dtype=torch.float64)
    typical = covariance.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None] / decoder.num_outputs
    for block in blocks:
        for chunk in block.chunks(chunk_size):
            parts = [
                (basis, _pointwise_errors(basis, part, part.codes(latents)))
                for basis, part in decoder.parts(chunk)
            ]
            squared, count = (torch.cat(each) for each in zip(*(e for _, e in parts), strict=True))
            bases = [basis for basis, _ in parts] * (num_channels // len(parts))
            varies = field_variance(bases, covariance)
            weight = 1 / (varies + typical).square().clamp(min=1e-300)
            terms = torch.stack([torch.ones_like(varies), varies], dim=-1)
            square += torch.einsum("kx,kxi,kxj->kij", weight * count, terms, terms)
            cross += torch.einsum("kx,kxi,kx->ki", weight, terms, squared)
    common_team(blocks).add_up(square, cross)
    return _non_negative(square, cross)


def _pointwise_errors(basis: Basis, chunk: Block, codes: Tensor) -> tuple[Tensor, Tensor]:
    """Squared residuals summed over snapshots, and their number: (channels, points)."""
    ones = torch.ones(len(codes), dtype=codes.dtype, device=codes.device)
    residual = scaled_residual(basis, chunk, codes, ones)
    squared = residual.square_().unflatten(1, (-1, chunk.num_channels)).sum(1).T
    if chunk.observed is None:
        count = torch.full_like(squared, len(chunk.snapshots))
    else:
        count = chunk.observed.unflatten(1, (-1, chunk.num_channels)).sum(1).T
    return squared.to("cpu", torch.float64), count.to("cpu", torch.float64)


def _non_negative(square: Tensor, cross: Tensor) -> tuple[Tensor, Tensor]:
    """floor, share >= 0 of smallest misfit, for each channel."""
    solution = torch.linalg.lstsq(square, cross[..., None], driver="gelsd").solution[..., 0]
    alone = cross / square.diagonal(dim1=-2, dim2=-1).clamp(min=1e-300)  # if the other is zero
    floor = torch.where(solution[:, 1] < 0, alone[:, 0], solution[:, 0])
    share = torch.where(solution[:, 0] < 0, alone[:, 1], solution[:, 1])
    return floor.clamp(min=0), share.clamp(min=0)
