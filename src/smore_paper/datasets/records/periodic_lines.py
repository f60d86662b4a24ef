"""Partial differential equations on a periodic line, u_t = L u + N(u), by ETDRK4.

Kassam and Trefethen (2005): the linear part is solved exactly, its functions are contour means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Spectrum = NDArray[np.complex128]

# Points of the contour around each eigenvalue.
CONTOUR = 32


@dataclass(frozen=True)
class Line:
    """A periodic line.

    Args:
        length: of a period.
        num_points: on it.
    """

    length: float
    num_points: int

    @property
    def places(self) -> Array:
        return np.arange(self.num_points) * self.length / self.num_points

    @property
    def wavenumbers(self) -> Array:
        turns = np.fft.rfftfreq(self.num_points, self.length / self.num_points)
        return np.asarray(2 * np.pi * turns, float)

    def derivative(self, spectrum: Spectrum) -> Array:
        return np.asarray(np.fft.irfft(1j * self.wavenumbers * spectrum, self.num_points), float)

    def smooth(self, random: np.random.Generator, num_waves: int) -> Array:
        """A random field of a few long waves, of variance about 1."""
        phases = 2 * np.pi * np.outer(np.arange(1, num_waves + 1), self.places / self.length)
        first, second = random.normal(size=(2, num_waves)) / np.sqrt(num_waves)
        return np.asarray(first @ np.cos(phases) + second @ np.sin(phases), float)


def solve(
    line: Line,
    linear: NDArray[Any],
    nonlinear: Callable[[Array], Array],
    start: Array,
    *,
    step: float,
    steps_per_snapshot: int,
    num_snapshots: int,
) -> Array:
    """(snapshots, points); the first one is `start`.

    Args:
        line: where.
        linear: eigenvalues of L at the line's wavenumbers.
        nonlinear: N of a field.
        start: the first field.
        step: of time.
        steps_per_snapshot: steps between snapshots.
        num_snapshots: how many.
    """
    aliased = line.wavenumbers > 2 / 3 * line.wavenumbers.max()

    def n(spectrum: Spectrum) -> Spectrum:
        found = np.fft.rfft(nonlinear(np.fft.irfft(spectrum, line.num_points)))
        found[aliased] = 0
        return found

    whole, half = np.exp(step * linear), np.exp(step * linear / 2)
    q, f1, f2, f3 = _weights(step * linear, step)
    spectrum, found = np.fft.rfft(start), [start]
    for _ in range(num_snapshots - 1):
        for _ in range(steps_per_snapshot):
            now = n(spectrum)
            a = half * spectrum + q * now
            at_a = n(a)
            at_b = n(half * spectrum + q * at_a)
            at_c = n(half * a + q * (2 * at_b - now))
            spectrum = whole * spectrum + f1 * now + 2 * f2 * (at_a + at_b) + f3 * at_c
        found.append(np.fft.irfft(spectrum, line.num_points))
    return np.array(found)


def _weights(z: NDArray[Any], step: float) -> tuple[Spectrum, ...]:
    """Q, f₁, f₂, f₃ at hL, means over circles where the formulas would cancel."""
    turns = np.exp(2j * np.pi * (np.arange(CONTOUR) + 0.5) / CONTOUR)
    w = z[:, None] + turns
    q = step * ((np.exp(w / 2) - 1) / w).mean(1)
    f1 = step * ((-4 - w + np.exp(w) * (4 - 3 * w + w**2)) / w**3).mean(1)
    f2 = step * ((2 + w + np.exp(w) * (w - 2)) / w**3).mean(1)
    f3 = step * ((-4 - 3 * w - w**2 + np.exp(w) * (4 - w)) / w**3).mean(1)
    return q, f1, f2, f3
