"""What a block says about its latent codes: the normal equations of decoding.

Fitting a code to a snapshot is linear least squares, min ‖J₀ z - (u - c₀)‖². Its Gram matrix and
right-hand side are all that any fit needs of the data, however many points there are, and they are
sums over points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from smore.data.blocks import Block
from smore.decoder import Basis, Decoder


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The least-squares problems of a block's snapshots, in float64 on the CPU.

    Args:
        snapshots: (n,) rows of the latent table.
        gram: J₀ᵀJ₀, (1, 1, p, p) when all snapshots share their points, else (n, channels, p, p).
        moment: J₀ᵀ(u - c₀), (n, channels, p).
        energy: ‖u - c₀‖², (n, channels).
        count: observed points, (n, channels).
    """

    snapshots: Tensor
    gram: Tensor
    moment: Tensor
    energy: Tensor
    count: Tensor

    def squared_residual(self, codes: Tensor) -> Tensor:
        """‖J₀ z + c₀ - u‖² for codes (n, channels, p): (n, channels), never below 0."""
        quadratic = (codes[..., None, :] @ self.gram @ codes[..., :, None])[..., 0, 0]
        return (quadratic - 2 * (codes * self.moment).sum(-1) + self.energy).clamp(min=0)


@torch.no_grad()
def normal_equations(
    decoder: Decoder, blocks: Sequence[Block], chunk_size: int | None = None
) -> list[NormalEquations]:
    """The normal equations of each block, summed over chunks of points."""
    return [_block_equations(decoder, block, chunk_size) for block in blocks]


def _block_equations(decoder: Decoder, block: Block, chunk_size: int | None) -> NormalEquations:
    equations = [
        chunk_equations(decoder.basis(chunk.coords), chunk) for chunk in block.chunks(chunk_size)
    ]
    total = equations[0]
    for each in equations[1:]:
        total.gram.add_(each.gram)
        total.moment.add_(each.moment)
        total.energy.add_(each.energy)
        total.count.add_(each.count)
    return total


@torch.no_grad()
def chunk_equations(basis: Basis, chunk: Block) -> NormalEquations:
    """The part of a block's normal equations that a chunk of its points contributes."""
    shape = (len(chunk.snapshots), chunk.num_channels)
    modes = basis.modes.to("cpu", torch.float64)
    dim = modes.shape[1]
    offset = torch.outer(basis.offset, chunk.offset_loading)
    target = (chunk.values - offset).to("cpu", torch.float64)
    if chunk.observed is None:
        gram = (modes.T @ modes)[None, None]
        count = torch.full(shape, float(chunk.num_points), dtype=torch.float64)
    else:
        observed = chunk.observed.to("cpu", torch.float64)
        target *= observed
        gram = torch.stack([(modes * mask[:, None]).T @ modes for mask in observed.T])
        gram = gram.view(*shape, dim, dim)
        count = observed.sum(0).view(shape)
    return NormalEquations(
        snapshots=chunk.snapshots.cpu(),
        gram=gram,
        moment=(target.T @ modes).view(*shape, dim),
        energy=target.square().sum(0).view(shape),
        count=count,
    )
