"""Linear-quadratic dynamics in closed form: operator inference on the integrated equation.

    a(t₁) - a(t₀) = ∫ Θ φ(a(t)) dt,      φ(a) = [1, a, a_j a_k (j <= k)]

is linear in the operators Θ = [b, W, Q]. With a(t) a spline through the latents the integrals are
known to high order, whatever the step, and Θ is a ridge regression: seconds instead of thousands of
rollouts. The ridge is chosen by how rollouts follow trajectories that were left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from torch import Tensor

from smore.data import Timeline
from smore.dynamics import FullQuadratic, LowRankQuadratic

# Beyond this many features their Gram matrix takes too much memory: r = 120 has 7,381.
MOST_FEATURES = 8000
RIDGES = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1)
# The linear part is better determined than the quadratic one and needs less.
LINEAR_SHARE = 1e-2
QUADRATURE_NODES = 4
ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Operators:
    """b (r,), W (r, r) and symmetric slices Q (r, r, r) of linear-quadratic dynamics, float64."""

    bias: Tensor
    linear: Tensor
    slices: Tensor


def num_features(dim: int) -> int:
    """Length of φ(a) for a in R^dim."""
    return 1 + dim + dim * (dim + 1) // 2


class IntegralRegression:
    """The sums of the regression over a set of trajectories.

    Args:
        latents: (sequences, longest, r) padded trajectories, of order one.
        timeline: their lengths and steps, which may differ.
    """

    def __init__(self, latents: Tensor, timeline: Timeline) -> None:
        self.dim = latents.shape[-1]
        size = num_features(self.dim)
        self.gram = torch.zeros(size, size, dtype=torch.float64)
        self.cross = torch.zeros(size, self.dim, dtype=torch.float64)
        # Many intervals at once: each update passes over the whole Gram matrix.
        at_once = max(1, ROWS_AT_ONCE // max(latents.shape[1] - 1, 1))
        for start in range(0, len(latents), at_once):
            some = slice(start, start + at_once)
            rows, changes = _intervals(latents[some], timeline.valid[some], timeline.steps[some])
            self.gram.addmm_(rows.T, rows)
            self.cross.addmm_(rows.T, changes)

    def solve(self, ridge: float) -> Operators:
        """The operators of smallest penalised misfit."""
        root = torch.linalg.cholesky(self.gram + torch.diag(self.penalty(ridge)))
        return self.unpack(torch.cholesky_solve(self.cross, root))

    def penalty(self, ridge: float) -> Tensor:
        """(features,) what is added to the diagonal of the Gram matrix."""
        penalty = torch.full((len(self.gram),), ridge, dtype=torch.float64)
        penalty *= self.gram.diagonal()[1 + self.dim :].mean()
        penalty[: 1 + self.dim] *= LINEAR_SHARE
        return penalty

    def unpack(self, coefficients: Tensor) -> Operators:
        """Operators from the coefficients (features, r) of φ."""
        first, second = torch.triu_indices(self.dim, self.dim)
        slices = torch.zeros(self.dim, self.dim, self.dim, dtype=torch.float64)
        slices[:, first, second] = coefficients[1 + self.dim :].T / 2
        linear = coefficients[1 : 1 + self.dim].T
        return Operators(coefficients[0], linear, slices + slices.mT)

    def pack(self, operators: Operators) -> Tensor:
        """The inverse of `unpack`."""
        first, second = torch.triu_indices(self.dim, self.dim)
        monomials = operators.slices[:, first, second].T
        monomials = torch.where((first == second)[:, None], monomials, 2 * monomials)
        return torch.cat([operators.bias[None], operators.linear.T, monomials])


def _intervals(latents: Tensor, valid: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    """∫ φ(a(t)) dt and a(t₁) - a(t₀) of every interval of some sequences."""
    rows, changes = [], []
    values = latents.to("cpu", torch.float64).numpy()
    for sequence, known, own in zip(values, valid.numpy(), steps.numpy(), strict=True):
        length = int(known.sum())
        rows.append(interval_integrals(sequence[:length], own[: length - 1], features))
        changes.append(torch.as_tensor(np.diff(sequence[:length], axis=0)))
    return torch.cat(rows), torch.cat(changes)


def interval_integrals(
    states: NDArray[np.float64], steps: NDArray[np.float64], function: Callable[[Tensor], Tensor]
) -> Tensor:
    """∫ function(a(t)) dt over every interval, a(t) a spline through `states` (times, r)."""
    times = np.concatenate([[0.0], np.cumsum(steps)])
    path = CubicSpline(times, states, axis=0)
    nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
    terms = [
        torch.as_tensor(steps * weight / 2)[:, None]
        * function(torch.as_tensor(path(times[:-1] + steps * (node + 1) / 2)))
        for node, weight in zip(nodes, weights, strict=True)
    ]
    return torch.stack(terms).sum(0)


def features(states: Tensor) -> Tensor:
    """φ(a): (..., r) -> (..., 1 + r + r (r + 1) / 2)."""
    rows, columns = torch.triu_indices(states.shape[-1], states.shape[-1])
    products = states[..., rows] * states[..., columns]
    return torch.cat([torch.ones_like(states[..., :1]), states, products], dim=-1)


@torch.no_grad()
def assign(
    operators: Operators, dynamics: FullQuadratic | LowRankQuadratic, covariance: Tensor
) -> None:
    """Give `dynamics` these operators, as nearly as their rank allows.

    Args:
        operators: what to assign.
        dynamics: changed in place.
        covariance: (r, r) second moment of the latents: a slice is cut off where it matters least
            on states like these, not where its entries are smallest.
    """
    dynamics.linear.copy_(operators.linear)
    dynamics.bias.copy_(operators.bias)
    if isinstance(dynamics, FullQuadratic):
        dynamics.tensor.copy_(operators.slices)
        return
    rank = dynamics.left.shape[-1]
    floor = 1e-9 * covariance.diagonal().mean()
    root = torch.linalg.cholesky(covariance + floor * torch.eye(len(covariance)).double())
    values, vectors = torch.linalg.eigh(root.T @ operators.slices @ root)
    # λ₁ v v' - λ₂ w w' is the symmetric part of one product: a rank covers a pair of signs.
    falling, rising = values[:, :rank].clamp(max=0), values[:, -rank:].flip(1).clamp(min=0)
    minus = vectors[:, :, :rank] * falling.neg().sqrt()[:, None, :]
    plus = vectors[:, :, -rank:].flip(2) * rising.sqrt()[:, None, :]
    for factor, product in ((dynamics.left, plus + minus), (dynamics.right, plus - minus)):
        unwhitened = torch.linalg.solve_triangular(root.T, product, upper=True)
        factor.copy_(unwhitened.permute(1, 0, 2))
