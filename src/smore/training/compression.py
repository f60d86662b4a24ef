"""All snapshots on a mesh, through their mean and a low-rank factor of their covariance.

Latents eliminated, the loss of a decoder is how much of each snapshot lies outside its modes.
Summed over snapshots that depends on their mean μ and covariance C ≈ F Fᵀ alone,

    Σ ‖(I - P)(u - c₀)‖² / n = ‖(I - P)(μ - c₀)‖² + ‖(I - P) F‖² + rest,

so thousands of columns become the few hundred of [F, μ], once. The same singular values say how
well any linear basis of a given size could do (Eckart-Young): the POD limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smore.data import Block

# Share of the POD limit's residual that the factor may leave out.
LEFT_OUT = 1e-3
# Up to this many snapshots or points the spectrum is computed exactly.
EXACT_SIZE = 2048
POWER_ITERATIONS = 2


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


def compress(
    block: Block, latent_dim: int, generator: torch.Generator, *, centred: bool = True
) -> Compressed:
    """Compress a block without missing values, for a decoder of `latent_dim` modes.

    Args:
        block: the snapshots.
        latent_dim: p; the factor leaves out a thousandth of what p modes must leave out.
        generator: draws the sketch when the block is large.
        centred: covariance about the mean; False takes the second moment about zero, for decoders
            without an offset.
    """
    assert block.observed is None
    values = block.values
    mean = values.mean(1) if centred else torch.zeros_like(values[:, 0])
    anomalies = (values - mean[:, None]) / math.sqrt(values.shape[1])
    factor, energies, left_out = _factor(anomalies, latent_dim, generator)
    columns = torch.cat([factor, mean[:, None]], dim=1)
    loading = torch.zeros(columns.shape[1], dtype=values.dtype, device=values.device)
    loading[-1] = 1
    compressed = replace(
        block,
        values=columns,
        snapshots=torch.arange(columns.shape[1], device=values.device),
        num_channels=1,
        loading=loading,
    )
    return Compressed(compressed, energies, left_out)


def _factor(
    anomalies: Tensor, latent_dim: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, float]:
    """F (points, rank), the energies of its columns, and the energy it leaves out."""
    smaller = min(anomalies.shape)
    rank = 2 * latent_dim + 64
    while True:
        exact = smaller <= max(EXACT_SIZE, rank)
        factor, energies, left_out = (
            _exact(anomalies) if exact else _sketch(anomalies, rank, generator)
        )
        # Summed from the smallest: a difference of large sums would lose the tail.
        beyond = energies.flip(0).cumsum(0).flip(0) + left_out  # beyond[k]: what k columns leave
        kept = int((beyond > LEFT_OUT * beyond[min(latent_dim, len(beyond) - 1)]).sum())
        if exact or kept < rank:
            return factor[:, :kept], energies[:kept], left_out + float(energies[kept:].sum())
        rank *= 2


def _exact(anomalies: Tensor) -> tuple[Tensor, Tensor, float]:
    """The spectrum from the Gram matrix of the shorter side, in float64."""
    values = anomalies.to("cpu", torch.float64)
    tall = values.shape[0] >= values.shape[1]
    energies, vectors = torch.linalg.eigh(values.T @ values if tall else values @ values.T)
    energies, vectors = energies.flip(0).clamp(min=0), vectors.flip(1)
    factor = values @ vectors if tall else vectors * energies.sqrt()
    return factor.to(anomalies), energies, 0.0


def _sketch(
    anomalies: Tensor, rank: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, float]:
    """The leading `rank` directions by subspace iteration (Halko, Martinsson, Tropp, 2011)."""
    start = torch.randn(anomalies.shape[1], rank, generator=generator).to(anomalies)
    basis = torch.linalg.qr(anomalies @ start)[0]
    for _ in range(POWER_ITERATIONS):
        basis = torch.linalg.qr(anomalies.T @ basis)[0]
        basis = torch.linalg.qr(anomalies @ basis)[0]
    seen = basis.T @ anomalies
    left_out = float(torch.linalg.vector_norm(anomalies - basis @ seen)) ** 2
    coefficients = seen.to("cpu", torch.float64)
    energies, vectors = torch.linalg.eigh(coefficients @ coefficients.T)
    energies, vectors = energies.flip(0).clamp(min=0), vectors.flip(1)
    return basis @ (vectors * energies.sqrt()).to(basis), energies, left_out
