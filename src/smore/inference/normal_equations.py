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
from smore.decoder import Decoder


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
    shape = (len(block.snapshots), block.num_channels)
    dim = decoder.latent_dim
    masked = block.observed is not None
    gram = torch.zeros(*(shape if masked else (1, 1)), dim, dim, dtype=torch.float64)
    moment = torch.zeros(*shape, dim, dtype=torch.float64)
    energy = torch.zeros(shape, dtype=torch.float64)
    count = torch.zeros(shape, dtype=torch.float64)
    for chunk in block.chunks(chunk_size):
        basis = decoder.basis(chunk.coords)
        modes = basis.modes.to("cpu", torch.float64)
        target = (chunk.values - basis.offset[:, None]).to("cpu", torch.float64)
        if chunk.observed is None:
            gram += modes.T @ modes
            count += chunk.num_points
        else:
            observed = chunk.observed.to("cpu", torch.float64)
            target *= observed
            for column, mask in enumerate(observed.T):  # a p x p matrix each, one at a time
                gram.view(-1, dim, dim)[column] += (modes * mask[:, None]).T @ modes
            count += observed.sum(0).view(shape)
        moment += (target.T @ modes).view(*shape, dim)
        energy += target.square().sum(0).view(shape)
    return NormalEquations(block.snapshots.cpu(), gram, moment, energy, count)
