"""Energies ½ αᵀ H α that the quadratic term conserves, other than the plain one.

A system that conserves ½ ‖α‖² conserves ½ αᵀ T⁻ᵀ T⁻¹ α when it is seen as T α. The H of all
conserved energies are the null space of

    H -> sym(H Q),    sym(H Q)_ijk = Σ_l (H_il Q⁽ˡ⁾_jk + H_jl Q⁽ˡ⁾_ki + H_kl Q⁽ˡ⁾_ij) / 3,

a linear map of symmetric matrices. A positive definite one among them is a metric; of several, that
in which the linear part loses energy fastest. Whatever is found here is judged elsewhere, with the
defect that it leaves: nothing has to be exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, solve_triangular
from scipy.optimize import minimize

from smore.stability.lyapunov import Matrix, Metric, metrics

# The map has r (r + 1) / 2 columns, and its Gram matrix is decomposed.
LARGEST = 64
# Energies whose defect is below this share of the largest count as conserved: squared, it is still
# above the rounding of the Gram matrix.
NEGLIGIBLE = 1e-6
MOST_ENERGIES = 64
# The growth that is minimised is rounded off over this share of the spread of rates, and this share
# of it pays for keeping H well conditioned.
ROUNDING, CONDITIONING = 0.02, 1e-3
MAX_STEPS = 100

Matrices = NDArray[np.float64]
NAME = "an energy that the quadratic term conserves"


def conserved_metrics(linear: Matrix, slices: Matrices) -> Iterator[Metric]:
    """Metrics whose energies dα/dt = W α + Q(α, α) conserves but for W; the identity left out.

    Args:
        linear: W (r, r).
        slices: symmetric Q⁽ⁱ⁾_jk (r, r, r).
    """
    dim = len(linear)
    if dim > LARGEST:
        return
    if not slices.any():  # every energy is conserved
        yield from (metric for metric in metrics(linear) if not metric.is_identity)
        return
    energies = conserved_energies(slices)
    only_the_plain_one = len(energies) == 1 and np.allclose(
        energies[0], np.trace(energies[0]) / dim * np.eye(dim), atol=NEGLIGIBLE
    )
    if not len(energies) or only_the_plain_one:
        return
    starts = [np.eye(dim), *(metric.factor.T @ metric.factor for metric in metrics(linear))]
    for start in starts:
        weights = np.einsum("kij,ij->k", energies, start)
        metric = _metric(energies, _least_growth(linear, energies, weights))
        if metric is not None:
            yield metric


def conserved_energies(slices: Matrices) -> Matrices:
    """An orthonormal basis (k, r, r) of the symmetric H with sym(H Q) = 0, nearly."""
    dim = len(slices)
    rows, columns = np.triu_indices(dim)
    gram = _gram(slices)
    # Restricted to symmetric H, in the basis E_aa and (E_ab + E_ba)/√2.
    scale = np.where(rows == columns, 0.5, np.sqrt(0.5))
    gram = gram + gram.transpose(1, 0, 2, 3)
    gram = gram + gram.transpose(0, 1, 3, 2)
    small = gram[rows, columns][:, rows, columns] * scale[:, None] * scale
    most = min(MOST_ENERGIES, len(small)) - 1
    values, vectors = eigh(small, subset_by_index=[0, most])
    found = vectors[:, values <= NEGLIGIBLE**2 * np.linalg.norm(small)].T
    energies = np.zeros((len(found), dim, dim))
    energies[:, rows, columns] = found * np.where(rows == columns, 1.0, np.sqrt(0.5))
    energies[:, columns, rows] = energies[:, rows, columns]
    return energies


def _gram(slices: Matrices) -> Matrices:
    """<sym(H Q), sym(H' Q)> as a form of H_il and H'_jm: (i, l, j, m)."""
    dim = len(slices)
    rows = slices.reshape(dim, -1)
    alike = np.einsum("ij,lm->iljm", np.eye(dim), rows @ rows.T)
    flat = slices.reshape(dim * dim, dim)
    crossed = (flat @ flat.T).reshape((dim,) * 4)  # Σ_k Q⁽ˡ⁾_jk Q⁽ᵐ⁾_ik as (l, j, m, i)
    return (alike + 2 * crossed.transpose(3, 0, 1, 2)) / 3


def _metric(energies: Matrices, weights: NDArray[np.float64]) -> Metric | None:
    """V = ‖F α‖ with FᵀF = Σ w_k H_k, scaled to the trace of the identity; None unless positive."""
    energy = np.einsum("k,kij->ij", weights, energies)
    trace = np.trace(energy)
    if trace == 0:
        return None
    try:
        factor = np.linalg.cholesky(energy * (len(energy) / trace)).T
    except np.linalg.LinAlgError:
        return None
    return Metric(NAME, np.ascontiguousarray(factor))


def _least_growth(
    linear: Matrix, energies: Matrices, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weights of an energy in which W grows as slowly as may be, from weights that start it."""
    if len(energies) == 1 or not linear.any() or _metric(energies, weights) is None:
        return weights
    objective = _Growth(linear, energies)
    start = weights / np.linalg.norm(weights) * np.sign(objective.traces @ weights)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS})
    return np.asarray(found.x, dtype=np.float64)


class _Growth:
    """The rounded largest rate of W in the metric of Σ w_k H_k, with its gradient by w."""

    def __init__(self, linear: Matrix, energies: Matrices) -> None:
        self.linear = linear
        self.energies = energies
        products = energies @ linear
        self.powers = (products + products.transpose(0, 2, 1)) / 2  # sym(H_k W)
        self.traces = np.trace(energies, axis1=1, axis2=2)
        self.size = np.linalg.norm(linear)

    def __call__(self, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        energy = np.einsum("k,kij->ij", weights, self.energies)
        try:
            factor = np.linalg.cholesky(energy).T
        except np.linalg.LinAlgError:  # no metric: as bad as can be told
            return 1e6 * float(self.size), np.zeros_like(weights)
        back = solve_triangular(factor, np.eye(len(factor)))
        turned = factor @ self.linear @ back
        rates, vectors = np.linalg.eigh((turned + turned.T) / 2)
        width = ROUNDING * max(float(rates[-1] - rates[0]), 1e-12 * float(self.size))
        shares = np.exp((rates - rates[-1]) / width)
        growth = rates[-1] + width * np.log(shares.sum())
        shares /= shares.sum()
        ends = back @ vectors  # (r, r), of unit energy
        gradient = np.einsum("ie,kij,je,e->k", ends, self.powers, ends, shares, optimize=True)
        gradient -= np.einsum(
            "ie,kij,je,e->k", ends, self.energies, ends, shares * rates, optimize=True
        )
        return self._kept_apart(float(growth), gradient, weights, factor, back)

    def _kept_apart(
        self,
        growth: float,
        gradient: NDArray[np.float64],
        weights: NDArray[np.float64],
        factor: Matrix,
        back: Matrix,
    ) -> tuple[float, NDArray[np.float64]]:
        """With a price on a badly conditioned H: log of the mean over the geometric mean."""
        price, dim, trace = CONDITIONING * self.size, len(factor), float(self.traces @ weights)
        spread = np.log(trace / dim) - 2 * np.log(np.abs(np.diag(factor))).sum() / dim
        inverse = back @ back.T
        pull = self.traces / trace - np.einsum("kij,ij->k", self.energies, inverse) / dim
        return growth + float(price * spread), gradient + price * pull
