"""Operator inference among quadratic terms that conserve energy.

The regression of `quadratic_fit`, with the cyclic condition Q⁽ⁱ⁾_jk + Q⁽ʲ⁾_ki + Q⁽ᵏ⁾_ij = 0 as a
constraint. In the coefficients of the monomials a_j a_k (j <= k) it says that those which belong to
one set of indices {i, j, k} sum to zero. The sets do not overlap, so that projecting on the
constraint, in any diagonal metric, is a handful of sums, and conjugate gradients preconditioned by
the diagonal of the Gram matrix stay inside it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from smore.training.dynamics.quadratic import IntegralRegression, Operators

# Iterations of conjugate gradients and the residual that ends them early. What they have not
# resolved by then is what the data hardly determine.
ITERATIONS = 300
TOLERANCE = 1e-6


class ConservativeRegression:
    """Solves one regression for several ridges.

    Args:
        regression: the sums over the data.
    """

    def __init__(self, regression: IntegralRegression) -> None:
        self.regression = regression
        dim = regression.dim
        first, second = torch.triu_indices(dim, dim)
        outputs = torch.arange(dim).expand(len(first), dim)
        triples = torch.stack(
            [first[:, None] + 0 * outputs, second[:, None] + 0 * outputs, outputs]
        )
        low, middle, high = triples.sort(0).values
        keys = ((low * dim + middle) * dim + high).flatten()
        # Which set of indices each coefficient (monomial, output) belongs to.
        self.sets = torch.unique(keys, return_inverse=True)[1]
        self.num_sets = int(self.sets.max()) + 1

    def solve(
        self, ridge: float, start: Operators | None = None, linear: Tensor | None = None
    ) -> Operators:
        """The operators of smallest penalised misfit that conserve energy.

        Args:
            ridge: as in `IntegralRegression.solve`.
            start: where to start from, say the solution for another ridge.
            linear: (r, r) the linear part, if it is not to be solved for.
        """
        regression = self.regression
        penalty = regression.penalty(ridge)[:, None]
        inverse = 1 / (regression.gram.diagonal()[:, None] + penalty)
        solution = torch.zeros_like(regression.cross) if start is None else regression.pack(start)
        given = slice(1, 1 + regression.dim)
        if linear is not None:
            solution[given] = linear.T

        def apply(coefficients: Tensor) -> Tensor:
            return regression.gram @ coefficients + penalty * coefficients

        def precondition(residual: Tensor) -> Tensor:
            direction = self._project(inverse * residual, inverse)
            if linear is not None:
                direction[given] = 0
            return direction

        _conjugate_gradients(apply, precondition, regression.cross, solution)
        return regression.unpack(solution)

    def _project(self, coefficients: Tensor, inverse: Tensor) -> Tensor:
        """The nearest coefficients, in the metric 1 / `inverse`, that conserve energy."""
        monomials = slice(1 + self.regression.dim, None)
        shares = inverse[monomials].expand_as(coefficients[monomials])
        excess = self._sum(coefficients[monomials]) / self._sum(shares)
        coefficients[monomials] -= shares * excess[self.sets].view_as(shares)
        return coefficients

    def _sum(self, coefficients: Tensor) -> Tensor:
        """Sums over each set of indices."""
        totals = coefficients.new_zeros(self.num_sets)
        return totals.index_add_(0, self.sets, coefficients.flatten())


def _conjugate_gradients(
    apply: Callable[[Tensor], Tensor],
    precondition: Callable[[Tensor], Tensor],
    target: Tensor,
    solution: Tensor,
) -> None:
    """Solve apply(x) = target in the range of `precondition`, in place, from `solution`."""
    residual = target - apply(solution)
    direction = precondition(residual)
    step = direction.clone()
    size = first = float((residual * direction).sum())
    for _ in range(ITERATIONS):
        if size <= TOLERANCE**2 * first:
            break
        image = apply(step)
        length = size / float((step * image).sum())
        solution += length * step
        residual -= length * image
        direction = precondition(residual)
        previous, size = size, float((residual * direction).sum())
        step = direction + size / previous * step
