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

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smore.data import AnyBlock, Block
from smore.decoder import FilterNetwork

# Added to the Gram matrix of features of mean square 1. Less would gain nothing that coefficients
# in float32 can hold; features whose directions the points hardly tell apart share theirs.
RIDGE = 1e-10
# Where a feature has fewer points than this, points that are left out choose a larger one.
ENOUGH_POINTS = 8
LARGER = (1e-8, 1e-6, 1e-4, 1e-2)
LEFT_OUT_POINTS = 0.2
# A constant is part of the features' span when it has less than this share of its square beyond it.
LEAST_CONSTANT = 1e-8
# Numbers in the features of the points that are looked at together.
NUMBERS_AT_ONCE = 2**24


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """What a regression on features needs of the data, summed over points, in float64.

    Args:
        gram: YᵀY (outputs, features, features) over the points of each output.
        cross: Yᵀ[F, μ, 1] (outputs, features, columns + 1).
        mean: 1ᵀμ (outputs,).
        count: (outputs,) number of points.
        energy: ‖F‖², all outputs together.
    """

    gram: Tensor
    cross: Tensor
    mean: Tensor
    count: Tensor
    energy: float

    @classmethod
    @torch.no_grad()
    def of(cls, decoder: FilterNetwork, block: AnyBlock) -> FeatureSums:
        """The sums over a compressed block, stacked if the decoder is joint."""
        size, outputs = decoder.num_features, decoder.num_outputs
        gram = torch.zeros(outputs, size, size, dtype=torch.float64)
        cross = torch.zeros(outputs, size, block.num_columns + 1, dtype=torch.float64)
        mean, count = (torch.zeros(outputs, dtype=torch.float64) for _ in range(2))
        energy = torch.zeros(1, dtype=torch.float64)
        for chunk in block.chunks(max(NUMBERS_AT_ONCE // size, 64)):
            known = torch.empty(0)
            for output, (coords, values) in enumerate(_by_output(decoder, chunk)):
                if not torch.equal(coords, known):  # outputs mostly have the same points
                    known, features = coords, decoder.features(coords).to("cpu", torch.float64)
                    square = features.T @ features
                columns = values.to("cpu", torch.float64)
                ones = torch.ones(len(columns), 1, dtype=torch.float64)
                gram[output] += square
                cross[output].addmm_(features.T, torch.cat([columns, ones], dim=1))
                mean[output] += columns[:, -1].sum()
                count[output] += len(columns)
                energy += columns[:, :-1].square().sum()
        block.team.add_up(gram, cross, mean, count, energy)
        return cls(gram, cross, mean, count, float(energy))

    def solve(self, latent_dim: int, ridge: float = RIDGE) -> Solution:
        """The best modes and offset, with coefficients kept small by a ridge."""
        points = self.count.max()  # modes have mean square 1 over these
        size = (self.gram.diagonal(dim1=1, dim2=2) / points).sqrt().clamp(min=1e-300)
        gram = self.gram / points / size[:, :, None] / size[:, None]
        cross = self.cross / points / size[:, :, None]
        root = _root(gram, ridge)
        inside = torch.linalg.solve_triangular(root, cross, upper=False)
        modes = _leading(inside[..., :-2].flatten(0, 1), latent_dim).unflatten(0, inside.shape[:2])
        matrix = torch.linalg.solve_triangular(root.mT, modes, upper=True)
        # The modes as they are, which a ridge leaves a little short of orthonormal.
        moments = (matrix.mT @ cross[..., :-2]).sum(0)
        own = (matrix.mT @ gram @ matrix).sum(0)
        codes = torch.linalg.solve(own, moments)
        caught = points * (codes * moments).sum()
        mean, ones = inside[..., -2:-1], inside[..., -1:]
        # What a constant adds to the span of the features, and its product with the mean.
        beyond = self.count / points - ones.square().sum((1, 2))
        missing = self.mean / points - (ones * mean).sum((1, 2))
        constant = torch.where(beyond > LEAST_CONSTANT, missing / beyond, 0.0)
        rest = mean - constant[:, None, None] * ones
        offset = torch.linalg.solve_triangular(root.mT, rest, upper=True)
        return Solution(
            matrix / size[:, :, None],
            offset[..., 0] / size,
            constant,
            codes,
            float(matrix.abs().max()),
            max(self.energy - float(caught), 0.0),
        )

    def rounding(self, solution: Solution) -> float:
        """What coefficients in float32 leave of ‖F‖² at least: large terms of a mode cancel.

        Each is off by up to half a unit in its last place, evenly: of variance eps² / 12.
        """
        return self.energy * (solution.largest * torch.finfo(torch.float32).eps) ** 2 / 12

    def in_single(self, solution: Solution) -> float:
        """What a solution leaves of ‖F‖² when its coefficients are in float32."""
        return solution.left_out + self.rounding(solution)

    def error(self, solution: Solution) -> float:
        """‖F - Y M Z‖² of these points, for modes and latents that come from others."""
        matrix, codes = solution.matrix, solution.codes
        moments = (matrix.mT @ self.cross[..., :-2]).sum(0)
        own = (matrix.mT @ self.gram @ matrix).sum(0)
        return self.energy + float((codes * (own @ codes - 2 * moments)).sum())


@dataclass(frozen=True, eq=False)
class Solution:
    """FiLM matrices and biases of all layers together.

    Args:
        matrix: M (outputs, features, p); modes have mean square 1 over the points, outputs summed.
        offset: b (outputs, features).
        constant: b_out (outputs,).
        codes: Z (p, columns) of the factor.
        largest: largest |M_jk| rms(y_j), beside modes of rms 1.
        left_out: energy ‖F‖² that the modes leave out, summed over points.
    """

    matrix: Tensor
    offset: Tensor
    constant: Tensor
    codes: Tensor
    largest: float
    left_out: float


def _by_output(decoder: FilterNetwork, chunk: Block) -> Iterator[tuple[Tensor, Tensor]]:
    """Coordinates (points, d) and values of each output's rows."""
    if not decoder.joint:
        yield chunk.coords, chunk.values
        return
    number = chunk.coords[:, -1].round()
    for output in range(decoder.num_outputs):
        rows = number == output
        yield chunk.coords[rows, :-1], chunk.values[rows]


def _root(gram: Tensor, ridge: float) -> Tensor:
    """Cholesky factors of gram + ridge · 1; rounding may ask for more than the ridge given."""
    identity = torch.eye(gram.shape[-1], dtype=gram.dtype)
    while True:
        root, failed = torch.linalg.cholesky_ex(gram + ridge * identity)
        if not bool(failed.any()):
            return root
        ridge *= 10


def _leading(columns: Tensor, count: int) -> Tensor:
    """Leading left singular vectors of (features, columns), by the smaller Gram matrix."""
    if count <= columns.shape[1] < columns.shape[0]:
        energies, vectors = torch.linalg.eigh(columns.T @ columns)
        kept = energies[-count:].clamp(min=1e-300).sqrt()
        leading = (columns @ vectors[:, -count:] / kept).flip(1)
        # Squaring loses the weakest ones' last digits.
        return torch.linalg.qr(leading).Q
    return torch.linalg.eigh(columns @ columns.T)[1][:, -count:].flip(1)


@torch.no_grad()
def choose_ridge(decoder: FilterNetwork, block: AnyBlock) -> float:
    """The ridge with which points that are left out are decoded best.

    With many features for the points the best modes on these may be anything in between.
    """
    points = block.total_points // decoder.num_outputs
    if points >= ENOUGH_POINTS * decoder.num_features:
        return RIDGE
    generator = torch.Generator().manual_seed(0)
    out = torch.rand(block.num_points, generator=generator) < LEFT_OUT_POINTS
    if block.team.any(not bool(out.any()) or bool(out.all())):
        return RIDGE
    training, judging = (
        FeatureSums.of(decoder, replace(block.at(rows.nonzero()[:, 0]), team=block.team))
        for rows in (~out, out)
    )
    ridges = (RIDGE, *LARGER)
    errors = [judging.error(training.solve(decoder.latent_dim, ridge)) for ridge in ridges]
    return ridges[errors.index(min(errors))]


@torch.no_grad()
def solve_decoder(
    decoder: FilterNetwork,
    block: AnyBlock,
    *,
    with_offset: bool = True,
    ridge: float | None = None,
) -> float:
    """Give `decoder` the best FiLM matrices and biases for a compressed block, in place.

    Args:
        decoder: its filters and hidden weights stay as they are.
        block: stacked if the decoder is joint.
        with_offset: whether c₀ is solved for; if not it is zero.
        ridge: the least one; by default points that are left out choose it, if they are few.

    Returns:
        The energy of the factor that they leave out, summed over points; NaN where features are not
        finite, and nothing is solved for.
    """
    sums = FeatureSums.of(decoder, block)
    if not bool(sums.gram.isfinite().all()):
        return math.nan  # weights have diverged, which whoever looks at the decoder will see
    least = ridge or choose_ridge(decoder, block)
    found = sums.solve(decoder.latent_dim, least)
    for larger in LARGER:
        if larger <= least:
            continue
        other = sums.solve(decoder.latent_dim, larger)
        if other.left_out >= sums.in_single(found):  # as it is with still larger ones
            break
        found = min(found, other, key=sums.in_single)
    kept = float(with_offset)
    decoder.set_matrices(found.matrix, kept * found.offset, kept * found.constant)
    return found.left_out
