"""All snapshots on a mesh, through their mean and a low-rank factor of their covariance.

Latents eliminated, the loss of a decoder is how much of each snapshot lies outside its modes.
Summed over snapshots that depends on their mean μ and covariance C ≈ F Fᵀ alone,

    Σ ‖(I - P)(u - c₀)‖² / n = ‖(I - P)(μ - c₀)‖² + ‖(I - P) F‖² + rest,

so thousands of columns become the few hundred of [F, μ], in one pass over them. The same singular
values say how well any linear basis of a given size could do (Eckart-Young): the POD limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from smore.data import AnyBlock, Block, StoredBlock
from smore.training.decoder._streamed_factor import StoredFactor, StreamedFactor

# Share of the POD limit's residual that the factor may leave out.
LEFT_OUT = 1e-3
# Columns that are merged into the factor at a time, and how many it may keep on the way.
COLUMNS_AT_ONCE = 2048


def _most_columns(latent_dim: int) -> int:
    return 4 * latent_dim + 128


@dataclass(frozen=True, eq=False)
class Compressed:
    """A block whose columns are [F, μ].

    Args:
        block: [F, μ] as columns; only μ carries the decoder's offset.
        energies: (rank,) variance along each column of F, summed over points, falling.
        left_out: variance that F leaves out, summed over points.
        total_points: how many points that are, in all processes.
    """

    block: AnyBlock
    energies: Tensor
    left_out: float
    total_points: int

    @property
    def rest(self) -> float:
        """Mean squared value per point that F leaves out."""
        return self.left_out / self.total_points

    def pod_limit(self, latent_dim: int) -> float:
        """Mean squared error of the best basis of that size about the mean."""
        return (float(self.energies[latent_dim:].sum()) + self.left_out) / self.total_points


def compress(block: AnyBlock, latent_dim: int, *, centred: bool = True) -> Compressed:
    """Compress a block without missing values, for a decoder of `latent_dim` modes.

    Args:
        block: the snapshots.
        latent_dim: p; the factor leaves out a thousandth of what p modes must leave out.
        centred: covariance about the mean; False takes the second moment about zero, for decoders
            without an offset.
    """
    assert block.observed is None
    rank = _most_columns(latent_dim)
    streamed: StreamedFactor | StoredFactor
    if isinstance(block, StoredBlock):
        streamed = StoredFactor(block, rank, centred=centred)
        for start in range(0, block.num_columns, COLUMNS_AT_ONCE):
            streamed.add(slice(start, min(start + COLUMNS_AT_ONCE, block.num_columns)))
    else:
        streamed = StreamedFactor(block.num_points, rank, centred=centred, team=block.team)
        for columns in block.values.split(COLUMNS_AT_ONCE, dim=1):
            streamed.add(columns)
    energies = streamed.energies / streamed.count
    left_out = streamed.left_out / streamed.count
    # Summed from the smallest: a difference of large sums would lose the tail.
    beyond = energies.flip(0).cumsum(0).flip(0) + left_out  # beyond[k]: what k columns leave
    kept = int((beyond > LEFT_OUT * beyond[min(latent_dim, len(beyond) - 1)]).sum())
    compressed = _factor_block(block, streamed, kept)
    beyond_kept = left_out + float(energies[kept:].sum())
    return Compressed(compressed, energies[:kept], beyond_kept, block.total_points)


def _factor_block(block: AnyBlock, streamed: StreamedFactor | StoredFactor, kept: int) -> AnyBlock:
    """[F, μ] as a block on the same points."""
    size = math.sqrt(streamed.count)
    loading = torch.zeros(kept + 1, dtype=block.dtype, device=block.device)
    loading[-1] = 1
    if isinstance(streamed, StoredFactor):
        assert streamed.block is not None
        both = streamed.block.select(np.array([*range(kept), streamed.block.num_columns - 1]))
        scale = np.array([size] * kept + [1.0], dtype=np.float32)
        return replace(both, scale=scale, loading=loading)
    assert isinstance(block, Block)
    factor = streamed.factor[:, :kept] / size
    values = torch.cat([factor, streamed.mean[:, None]], dim=1).to(block.values)
    snapshots = torch.arange(kept + 1, device=block.device)
    return replace(block, values=values, snapshots=snapshots, num_channels=1, loading=loading)
