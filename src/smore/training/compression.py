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

import torch
from torch import Tensor

from smore.data import Block

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
    """

    block: Block
    energies: Tensor
    left_out: float

    @property
    def rest(self) -> float:
        """Mean squared value per point that F leaves out."""
        return self.left_out / self.block.num_points

    def pod_limit(self, latent_dim: int) -> float:
        """Mean squared error of the best basis of that size about the mean."""
        return (float(self.energies[latent_dim:].sum()) + self.left_out) / self.block.num_points


class StreamedFactor:
    """Mean and low-rank factor of columns that come in pieces, in one pass.

    A new piece is merged by a singular value decomposition of [factor, piece], of which the leading
    directions are kept, so the columns themselves need never be held together. In float64: the
    squared singular values of a smooth field span more than the digits of float32.

    Args:
        num_points: length of a column.
        rank: most columns of the factor.
        centred: whether deviations from the mean are factored, or the columns as they are.
    """

    def __init__(self, num_points: int, rank: int, *, centred: bool) -> None:
        self.rank, self.centred = rank, centred
        self.count = 0
        self.left_out = 0.0
        self.mean = torch.zeros(num_points, dtype=torch.float64)
        self.factor = torch.zeros(num_points, 0, dtype=torch.float64)
        self.energies = torch.zeros(0, dtype=torch.float64)

    def add(self, columns: Tensor) -> None:
        """Merge columns (points, some)."""
        columns = columns.to("cpu", torch.float64)
        before, more = self.count, columns.shape[1]
        self.count += more
        parts = [self.factor, columns]
        if self.centred:
            mean = columns.mean(1)
            gap = mean - self.mean
            # Two samples with different means vary about the common one by this much more.
            between = math.sqrt(before * more / self.count) * gap
            parts = [self.factor, columns - mean[:, None], between[:, None]]
            self.mean = self.mean + gap * (more / self.count)
        merged = torch.cat(parts, dim=1)
        self._keep(merged)

    def _keep(self, merged: Tensor) -> None:
        tall = merged.shape[0] >= merged.shape[1]
        energies, vectors = torch.linalg.eigh(merged.T @ merged if tall else merged @ merged.T)
        energies, vectors = energies.flip(0).clamp(min=0), vectors.flip(1)
        self.left_out += float(energies[self.rank :].sum())
        self.energies, vectors = energies[: self.rank], vectors[:, : self.rank]
        self.factor = merged @ vectors if tall else vectors * self.energies.sqrt()


def compress(block: Block, latent_dim: int, *, centred: bool = True) -> Compressed:
    """Compress a block without missing values, for a decoder of `latent_dim` modes.

    Args:
        block: the snapshots.
        latent_dim: p; the factor leaves out a thousandth of what p modes must leave out.
        centred: covariance about the mean; False takes the second moment about zero, for decoders
            without an offset.
    """
    assert block.observed is None
    values = block.values
    streamed = StreamedFactor(block.num_points, _most_columns(latent_dim), centred=centred)
    for columns in values.split(COLUMNS_AT_ONCE, dim=1):
        streamed.add(columns)
    energies = streamed.energies / streamed.count
    left_out = streamed.left_out / streamed.count
    # Summed from the smallest: a difference of large sums would lose the tail.
    beyond = energies.flip(0).cumsum(0).flip(0) + left_out  # beyond[k]: what k columns leave
    kept = int((beyond > LEFT_OUT * beyond[min(latent_dim, len(beyond) - 1)]).sum())
    factor = streamed.factor[:, :kept] / math.sqrt(streamed.count)
    columns = torch.cat([factor, streamed.mean[:, None]], dim=1).to(values)
    loading = values.new_zeros(columns.shape[1])
    loading[-1] = 1
    compressed = replace(
        block,
        values=columns,
        snapshots=torch.arange(columns.shape[1], device=values.device),
        num_channels=1,
        loading=loading,
    )
    return Compressed(compressed, energies[:kept], left_out + float(energies[kept:].sum()))
