"""The reconstruction loss of snapshots that fill few directions, from their factors.

Snapshots on one mesh are a matrix U (points, columns) of low numerical rank, U = V S but for what
rounding leaves of single precision anyway. With B = [J₀ c₀], its part B_V = Vᵀ B inside the span of
V and what is left outside, B - V B_V, the residual of codes z̃ = (z, 1) falls apart into two that
are orthogonal to each other,

    J₀ z + c₀ - u  =  V (B_V z̃ - s)  +  (B - V B_V) z̃,

so that no product is of all points with all columns. Algorithm 1 needs this product thousands of
times for the same U.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from smore.data import AnyBlock, Block
from smore.decoder.decoder import Decoder

# Energy of U that may be left out: entries are rounded to 6e-8 of their size, and a product in
# single precision adds a few times that.
LEFT_OUT = 1e-13
# The factorisation is in double precision and grows with the third power of the smaller number;
# an epoch keeps the features of all points.
MOST_VALUES = 2**27
MOST_DIRECTIONS = 5120
MOST_POINTS = 16384
# What is worked on at once stays in the processor's cache.
POINTS_AT_ONCE = 1024
COLUMNS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class FactoredBlock:
    """Snapshots on common points, without gaps, as a product of two thin matrices.

    Args:
        coords: (points, d) decoder coordinates.
        directions: V, (points, rank), orthonormal columns.
        coefficients: Sᵀ, (snapshots · channels, rank).
        left_out: (snapshots · channels,) squared norm of what V S lacks of each column.
        num_channels: channels per snapshot; snapshots come in the order of the latent table.
    """

    coords: Tensor
    directions: Tensor
    coefficients: Tensor
    left_out: Tensor
    num_channels: int


@torch.no_grad()
def factored(blocks: Sequence[AnyBlock]) -> FactoredBlock | None:
    """The data by their factors; None where these do not exist or would not save half the work."""
    block = blocks[0]
    if len(blocks) > 1 or not isinstance(block, Block) or not _is_plain(block):
        return None
    values = block.values.double()
    points, columns = values.shape
    gram = values.T @ values if columns < points else values @ values.T
    energies, vectors = torch.linalg.eigh(gram)
    tail = energies.clamp(min=0).cumsum(0)
    rank = int((tail > LEFT_OUT * tail[-1]).sum())
    if 2 * rank * (points + columns) > points * columns:
        return None
    leading = vectors[:, -rank:]
    # Small energies of a Gram matrix are inexact, and so are directions over their roots.
    directions = torch.linalg.qr(values @ leading)[0] if columns < points else leading
    coefficients = values.T @ directions
    left_out = (values - directions @ coefficients.T).square().sum(0)
    return FactoredBlock(
        block.coords,
        directions.to(block.values).contiguous(),
        coefficients.to(block.values).contiguous(),
        left_out.to(block.values),
        block.num_channels,
    )


def _is_plain(block: Block) -> bool:
    small = block.num_points <= MOST_POINTS and block.values.numel() <= MOST_VALUES
    small = small and min(block.values.shape) <= MOST_DIRECTIONS
    whole = block.observed is None and block.loading is None and block.team.size == 1
    ordered = torch.equal(block.snapshots.cpu(), torch.arange(len(block.snapshots)))
    return small and whole and ordered


def accumulate_factored(
    decoder: Decoder, block: FactoredBlock, latents: Tensor, weights: Tensor
) -> tuple[float, Tensor]:
    """See `accumulate_reconstruction`, whose result this is but for rounding."""
    bases = [decoder.basis(part) for part in block.coords.split(POINTS_AT_ONCE)]
    modes = torch.cat([basis.modes for basis in bases])
    offset = torch.cat([basis.offset for basis in bases])
    with torch.no_grad():
        loss, gradient, code_gradient = _gradients(
            block,
            torch.cat([modes, offset[:, None]], dim=1),
            pad(latents.detach().flatten(0, 1), (0, 1), value=1.0),
            weights.repeat_interleave(block.num_channels)[:, None],
        )
    torch.autograd.backward((modes, offset), (gradient[:, :-1].contiguous(), gradient[:, -1]))
    return loss, code_gradient[:, :-1].reshape(latents.shape)


def _gradients(
    block: FactoredBlock, basis: Tensor, codes: Tensor, weights: Tensor
) -> tuple[float, Tensor, Tensor]:
    """The loss and its gradients with respect to B and z̃.

    Args:
        block: the data.
        basis: B, (points, p + 1).
        codes: z̃, (columns, p + 1).
        weights: (columns, 1).
    """
    inside = block.directions.T @ basis
    outside = basis - block.directions @ inside
    gram = outside.T @ outside
    loss = torch.zeros((), dtype=torch.float64)
    moments, within = torch.zeros_like(gram), torch.zeros_like(inside)
    code_gradient = torch.empty_like(codes)
    for start in range(0, len(codes), COLUMNS_AT_ONCE):
        columns = slice(start, start + COLUMNS_AT_ONCE)
        some, weighted = codes[columns], codes[columns] * weights[columns]
        residual = (some @ inside.T).sub_(block.coefficients[columns])
        code_gradient[columns] = 2 * weights[columns] * (residual @ inside + some @ gram)
        within += residual.T @ weighted
        moments += some.T @ weighted
        squared = residual.square_().sum(1).add_(block.left_out[columns])
        loss += (squared @ weights[columns, 0]).cpu()
    loss += (gram * moments).sum().cpu()
    return float(loss), 2 * (block.directions @ within + outside @ moments), code_gradient
