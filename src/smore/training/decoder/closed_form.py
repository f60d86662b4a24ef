"""The decoder's FiLM matrices and biases in closed form, for given filters and hidden weights.

Modes and offset are linear in them, J₀(x) = Y(x) M and c₀(x) = Y(x) b + b_out, with the features
y_l(x) of the reverse sweep side by side in Y. The best M and all latents together are therefore one
problem, min ‖F - Y M Z‖² over M (features, p) and Z: reduced-rank regression. With an orthonormal
basis Y A of the features' span its solution is M = A V, V the leading left singular vectors of
(Y A)ᵀ F; A is the inverse of a Cholesky factor. The offset is a regression of the mean on the
features and a constant, which modes do not have.

Everything the solution needs is a sum over points: the Gram matrix YᵀY and the products Yᵀ[F, μ].
In float64: eigenvalues of the Gram matrix fall over more orders of magnitude than float32 has.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smore.data import AnyBlock
from smore.decoder import FilterNetwork

# Added to the Gram matrix of features of mean square 1. Less would gain nothing that coefficients
# in float32 can hold; features whose directions the points hardly tell apart share theirs.
RIDGE = 1e-10
# A constant is part of the features' span when it has less than this share of its square beyond it.
LEAST_CONSTANT = 1e-8
# Numbers in the features of the points that are looked at together.
NUMBERS_AT_ONCE = 2**24


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """What a regression on features needs of the data, summed over points, in float64.

    Args:
        gram: YᵀY (features, features).
        cross: Yᵀ[F, μ] (features, columns).
        constant: Yᵀ1 (features,).
        mean: 1ᵀμ.
        energy: ‖F‖².
        count: number of points.
    """

    gram: Tensor
    cross: Tensor
    constant: Tensor
    mean: float
    energy: float
    count: float

    @classmethod
    @torch.no_grad()
    def of(cls, decoder: FilterNetwork, block: AnyBlock) -> FeatureSums:
        """The sums over a compressed block."""
        size = decoder.num_features
        gram = torch.zeros(size, size, dtype=torch.float64)
        cross = torch.zeros(size, block.num_columns, dtype=torch.float64)
        constant = torch.zeros(size, dtype=torch.float64)
        others = torch.zeros(3, dtype=torch.float64)
        for chunk in block.chunks(max(NUMBERS_AT_ONCE // size, 64)):
            features = decoder.features(chunk.coords).to("cpu", torch.float64)
            columns = chunk.values.to("cpu", torch.float64)
            gram.addmm_(features.T, features)
            cross.addmm_(features.T, columns)
            constant += features.sum(0)
            energy = columns[:, :-1].square().sum()
            others += torch.stack([columns[:, -1].sum(), energy, energy.new_tensor(len(columns))])
        block.team.add_up(gram, cross, constant, others)
        return cls(gram, cross, constant, *others.tolist())

    def solve(self, latent_dim: int, ridge: float = RIDGE) -> Solution:
        """The best modes and offset, with coefficients kept small by a ridge."""
        size = (self.gram.diagonal() / self.count).sqrt().clamp(min=1e-300)
        gram = self.gram / self.count / size / size[:, None]
        root = torch.linalg.cholesky(gram + ridge * torch.eye(len(gram), dtype=gram.dtype))
        cross = torch.column_stack([self.cross, self.constant]) / self.count / size[:, None]
        inside = torch.linalg.solve_triangular(root, cross, upper=False)
        modes = _leading(inside[:, :-2], latent_dim)
        matrix = torch.linalg.solve_triangular(root.T, modes, upper=True)
        # The modes as they are, which a ridge leaves a little short of orthonormal.
        moments = matrix.T @ cross[:, :-2]
        caught = (torch.linalg.solve(matrix.T @ gram @ matrix, moments) * moments).sum()
        mean, ones = inside[:, -2], inside[:, -1]
        # What a constant adds to the span of the features, and its product with the mean.
        beyond = 1 - float(ones @ ones)
        missing = self.mean / self.count - float(ones @ mean)
        constant = missing / beyond if beyond > LEAST_CONSTANT else 0.0
        inner = (mean - constant * ones)[:, None]
        offset = torch.linalg.solve_triangular(root.T, inner, upper=True)
        return Solution(
            matrix / size[:, None],
            offset[:, 0] / size,
            constant,
            max(self.energy - self.count * float(caught), 0.0),
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """FiLM matrices and biases of all layers together.

    Args:
        matrix: M (features, p); modes have mean square 1 over the points.
        offset: b (features,).
        constant: b_out.
        left_out: energy ‖F‖² that the modes leave out, summed over points.
    """

    matrix: Tensor
    offset: Tensor
    constant: float
    left_out: float


def _leading(columns: Tensor, count: int) -> Tensor:
    """Leading left singular vectors of (features, columns), by the smaller Gram matrix."""
    if columns.shape[1] < columns.shape[0] and columns.shape[1] > count:
        energies, vectors = torch.linalg.eigh(columns.T @ columns)
        kept = energies[-count:].clamp(min=1e-300).sqrt()
        leading = (columns @ vectors[:, -count:] / kept).flip(1)
        # Squaring loses the weakest ones' last digits.
        return torch.linalg.qr(leading).Q
    return torch.linalg.eigh(columns @ columns.T)[1][:, -count:].flip(1)


@torch.no_grad()
def solve_decoder(decoder: FilterNetwork, block: AnyBlock, *, with_offset: bool = True) -> float:
    """Give `decoder` the best FiLM matrices and biases for a compressed block, in place.

    Returns:
        The energy of the factor that they leave out, summed over points.
    """
    found = FeatureSums.of(decoder, block).solve(decoder.latent_dim)
    offset, constant = found.offset, found.constant
    if not with_offset:
        offset, constant = torch.zeros_like(offset), 0.0
    decoder.set_matrices(found.matrix, offset, constant)
    return found.left_out
