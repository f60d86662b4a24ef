"""The exact filter of a linear system with Gaussian noise, on roots of covariances.

    x' = F x + c + G w,      y = H x + d + σ v,      w, v ~ N(0, I).

A state is N(mean, root rootᵀ). Only roots are ever computed: a covariance that is a product of a
matrix with its transpose stays positive however long a run is, and keeps twice the digits. Noise of
observations is white; what is correlated in time or between sensors belongs into the state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Whitened readings beyond so many deviations count less than their square.
WILD = 3.0


@dataclass(frozen=True, eq=False)
class Gaussian:
    """N(mean, root rootᵀ): mean (n,), root (n, any)."""

    mean: Array
    root: Array

    @property
    def covariance(self) -> Array:
        """(n, n)."""
        return self.root @ self.root.T

    def seen(self, matrix: Array) -> Gaussian:
        """The distribution of matrix @ x."""
        return Gaussian(matrix @ self.mean, matrix @ self.root)


@dataclass(frozen=True, eq=False)
class Transition:
    """x' = matrix x + shift + noise w, w ~ N(0, I).

    Args:
        matrix: F (n', n).
        shift: c (n',).
        noise: G (n', any).
    """

    matrix: Array
    shift: Array
    noise: Array


@dataclass(frozen=True, eq=False)
class Readings:
    """y = matrix x + offset + deviation v, v ~ N(0, I): what sensors read at one time.

    Args:
        matrix: H (m, n).
        values: y - offset (m,).
        deviation: σ (m,), all > 0.
    """

    matrix: Array
    values: Array
    deviation: Array

    def __len__(self) -> int:
        return len(self.values)

    def select(self, which: NDArray) -> Readings:
        """Some of the readings."""
        return Readings(self.matrix[which], self.values[which], self.deviation[which])


@dataclass(frozen=True, eq=False)
class Innovation:
    """What readings said that was not known before them.

    Args:
        values: (m,) readings less what was expected.
        root: (m, m) lower triangle of their covariance.
    """

    values: Array
    root: Array

    @property
    def whitened(self) -> Array:
        """(m,) independent with variance 1, if the model is right."""
        return _solved(self.root, self.values)

    @property
    def log_likelihood(self) -> float:
        """Log density of the readings given all before."""
        squared = float(self.whitened @ self.whitened)
        volume = float(np.log(np.abs(np.diagonal(self.root))).sum())
        return -0.5 * (squared + len(self.values) * math.log(2 * math.pi)) - volume

    @property
    def calm_log_likelihood(self) -> float:
        """The same, up to a constant, with heavy tails: a few wild readings do not decide."""
        squared = np.square(self.whitened)
        excess = np.maximum(squared / WILD**2, 1.0)
        calm = np.minimum(squared, WILD**2) + WILD**2 * np.log(excess)  # as Student's t has it
        return float(-0.5 * calm.sum() - np.log(np.abs(np.diagonal(self.root))).sum())

    @property
    def left_out(self) -> Array:
        """(m,) each reading against what all others and the past predict; N(0, 1) each."""
        inverse = _solved(self.root, np.eye(len(self.values)))
        return (inverse.T @ self.whitened) / np.sqrt(np.square(inverse).sum(0))


def predict(state: Gaussian, transition: Transition) -> Gaussian:
    """The state after a transition."""
    mean = transition.matrix @ state.mean + transition.shift
    return Gaussian(mean, compressed(transition.matrix @ state.root, transition.noise))


def expected(state: Gaussian, readings: Readings) -> Innovation:
    """Readings against what a state expects of them."""
    if not len(readings):
        return Innovation(readings.values, np.zeros((0, 0)))
    seen = state.seen(readings.matrix)
    root = compressed(seen.root, np.diag(readings.deviation))
    return Innovation(readings.values - seen.mean, root)


def update(state: Gaussian, readings: Readings) -> Gaussian:
    """The state once `readings` are known.

    With Z = σ⁻¹ H S the covariance shrinks to S (I + ZᵀZ)⁻¹ Sᵀ. The inner matrix is factored by an
    orthogonal transformation, never formed: readings far finer than the prior cost no digits.
    """
    if not len(readings):
        return state
    seen = (readings.matrix @ state.root) / readings.deviation[:, None]
    missed = (readings.values - readings.matrix @ state.mean) / readings.deviation
    if len(readings) >= seen.shape[1]:
        triangle = _triangle(np.concatenate([seen, np.eye(seen.shape[1])]))  # RᵀR = I + ZᵀZ
        root = _solved(triangle.T, state.root.T).T
        return Gaussian(state.mean + root @ _solved(triangle.T, seen.T @ missed), root)
    lower = _triangle(np.concatenate([seen.T, np.eye(len(seen))])).T  # L Lᵀ = I + ZZᵀ
    lower = lower * np.where(np.diagonal(lower) < 0, -1.0, 1.0)
    crossed = state.root @ seen.T
    half = _solved(lower, crossed.T)  # L⁻¹ Z Sᵀ
    mean = state.mean + half.T @ _solved(lower, missed)
    weights = _solved(lower + np.eye(len(lower)), seen)
    return Gaussian(mean, state.root - half.T @ weights)


def gain(state: Gaussian, readings: Readings) -> Array:
    """K (n, m): what one unit of innovation moves."""
    seen = (readings.matrix @ state.root) / readings.deviation[:, None]
    lower = _triangle(np.concatenate([seen.T, np.eye(len(seen))])).T
    half = _solved(lower, seen @ state.root.T)
    return scipy.linalg.solve_triangular(lower, half, lower=True, trans="T").T / readings.deviation


def compressed(*roots: Array) -> Array:
    """A square root (n, n), lower triangle, of the sum of covariances given by roots (n, any)."""
    return _triangle(np.concatenate([root.T for root in roots])).T


def _triangle(matrix: Array) -> Array:
    """R (n, n) of a QR factorisation of a matrix (any, n), with rows of zeros where it is short."""
    found = scipy.linalg.qr(matrix, mode="r", overwrite_a=True, check_finite=False)[0]
    triangle = np.asarray(found, dtype=np.float64)
    size = matrix.shape[1]
    if len(triangle) < size:
        return np.concatenate([triangle, np.zeros((size - len(triangle), size))])
    return triangle[:size]


def _solved(lower: Array, right: Array) -> Array:
    return scipy.linalg.solve_triangular(lower, right, lower=True, check_finite=False)
