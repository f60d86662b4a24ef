"""Quadratic Lyapunov functions of linear systems, and what rounding leaves of them.

V(a) = ‖F a‖ proves da/dt = W a stable when the logarithmic norm of F W F⁻¹ is not positive, and
the map a -> M a when the norm of F M F⁻¹ is at most 1. Candidates for F come from eigenvectors,
from the Lyapunov equation, or are the identity; where they come from is not trusted. What is
trusted is the evaluation of the two norms, each with a bound of its own rounding error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_lyapunov, solve_triangular

Matrix = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)
# A bound on the constants in front of r ε in the error analysis of triangular solves, products and
# symmetric eigenvalues.
SAFETY = 4.0
# Shares of the slowest decay that a solution of the Lyapunov equation is asked to keep.
KEPT_DECAY = (0.5, 0.9)
# A rate or an excess over 1 below this, relative, and explained by rounding, counts as zero; where
# rounding could hide more, nothing is claimed.
MARGINAL = 1e-11


@dataclass(frozen=True)
class Enclosed:
    """A computed number and how far it may be from the true one."""

    value: float
    error: float

    @property
    def upper(self) -> float:
        return self.value + self.error


@dataclass(frozen=True, eq=False)
class Metric:
    """V(a) = ‖F a‖.

    Args:
        name: where it comes from, in words.
        factor: F, (r, r) upper triangular and invertible.
    """

    name: str
    factor: Matrix

    @property
    def is_identity(self) -> bool:
        return np.array_equal(self.factor, np.eye(len(self.factor)))

    @property
    def condition(self) -> float:
        """‖F‖ ‖F⁻¹‖: how much larger than its start a state may become in between."""
        return float(np.linalg.cond(self.factor))

    def transform(self, matrix: Matrix) -> tuple[Matrix, float]:
        """F A F⁻¹ and a bound of its rounding error in the Frobenius norm."""
        product = self.factor @ matrix
        turned = solve_triangular(self.factor.T, product.T, lower=True).T
        size = np.linalg.norm(matrix) + np.linalg.norm(turned)
        return turned, float(SAFETY * len(matrix) * EPSILON * self.condition * size)

    def size(self, vector: NDArray[np.float64]) -> float:
        """An upper bound of V, rounding included."""
        lost = SAFETY * len(vector) * EPSILON * np.linalg.norm(self.factor) * np.linalg.norm(vector)
        return float(np.linalg.norm(self.factor @ vector) + lost)

    def logarithmic_norm(self, matrix: Matrix) -> Enclosed:
        """Largest growth rate of V along da/dt = matrix a."""
        turned, error = self.transform(matrix)
        symmetric = (turned + turned.T) / 2
        rates = np.linalg.eigvalsh(symmetric)
        error += SAFETY * len(matrix) * EPSILON * float(np.abs(rates).max(initial=0.0))
        return Enclosed(float(rates[-1]), error)

    def norm(self, matrix: Matrix) -> Enclosed:
        """Largest factor of V over the step a -> matrix a, rounding of the step itself included."""
        turned, error = self.transform(matrix)
        value = float(np.linalg.norm(turned, 2))
        return Enclosed(value, error + SAFETY * len(matrix) * EPSILON * value)


def metrics(generator: Matrix) -> Iterator[Metric]:
    """Candidates for a Lyapunov function of da/dt = generator a, simplest first."""
    yield Metric("the norm of the latents", np.eye(len(generator)))
    values, vectors = np.linalg.eig(generator)
    eigenvector_metric = _from_eigenvectors(values, vectors)
    if eigenvector_metric is not None:
        yield eigenvector_metric
    slowest = float(values.real.max())
    if slowest >= -MARGINAL * np.linalg.norm(generator):  # no equation that could be solved
        return
    identity = np.eye(len(generator))
    for kept in KEPT_DECAY:
        solution = solve_continuous_lyapunov((generator - kept * slowest * identity).T, -identity)
        try:
            lower = np.linalg.cholesky((solution + solution.T) / 2)
        except np.linalg.LinAlgError:  # too ill-conditioned to be of use
            continue
        yield Metric("a solution of the Lyapunov equation", lower.T.astype(np.float64))


def _from_eigenvectors(
    values: NDArray[np.complex128], vectors: NDArray[np.complex128]
) -> Metric | None:
    """‖V⁻¹ a‖, which every eigenmode changes at its own rate; None when V is singular."""
    try:
        rows = np.linalg.inv(vectors)
    except np.linalg.LinAlgError:
        return None
    pairs = values.imag > 0
    real = np.concatenate(
        [
            rows[values.imag == 0].real,
            np.sqrt(2) * rows[pairs].real,
            np.sqrt(2) * rows[pairs].imag,
        ]
    )
    if real.shape[0] != real.shape[1] or not np.isfinite(real).all():
        return None
    factor: Matrix = np.linalg.qr(real)[1].astype(np.float64)
    return Metric("the energies of the eigenmodes", factor) if np.diag(factor).all() else None


def project_spectrum(generator: Matrix, decay: float) -> Matrix:
    """The generator with the real parts of its eigenvalues moved to at most -decay."""
    values, vectors = np.linalg.eig(generator)
    moved = np.minimum(values.real, -decay) + 1j * values.imag
    projected = np.linalg.solve(vectors.T, (vectors * moved).T).T
    return np.ascontiguousarray(projected.real)
