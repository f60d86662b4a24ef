"""When a Runge-Kutta step of order four inherits the bound of its ODE.

For dy/dt = d + A y + Q(y, y) both the exact flow over a step h and the Runge-Kutta step are power
series in h whose terms up to h⁴ agree. The terms beyond are bounded by those of a scalar equation
with non-negative coefficients, dx/dt = ‖d‖ + ‖A‖ x + ‖Q‖ x² (Cauchy's majorants): start it at
x = R, and the two tails bound the local error for every ‖y‖ <= R. If that error is less than what
the ODE loses at the boundary of the ball, no step leaves the ball.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.dynamics import Tableau

ORDER = 4
# Relative error of a few scalar operations, with plenty to spare.
ROUNDING = 1e-12
MOST_SUBSTEPS = 2**20

Series = NDArray[np.float64]


@dataclass(frozen=True)
class Majorant:
    """Norms that dominate the shifted system: ‖d‖, ‖A‖, ‖Q‖; and the rounding of one step."""

    forcing: float
    linear: float
    quadratic: float
    rounding: float = 0.0

    def local_error(self, radius: float, step: float, tableau: Tableau) -> float:
        """A bound of the error of one step from any state of that norm."""
        flow = self._flow_tail(radius, step)
        stages = self._runge_kutta_tail(radius, step, tableau)
        return flow + stages + self.rounding

    def _flow_tail(self, radius: float, step: float) -> float:
        """Terms beyond h⁴ of the exact solution started at `radius`; inf when it may not exist."""
        end = self._flow(radius, step)
        if not math.isfinite(end):
            return math.inf
        terms = [radius]
        for order in range(ORDER):
            square = sum(terms[k] * terms[order - k] for k in range(order + 1))
            slope = self.linear * terms[order] + self.quadratic * square
            terms.append((slope + (self.forcing if order == 0 else 0.0)) / (order + 1))
        leading = sum(term * step**order for order, term in enumerate(terms))
        return max(end - leading, 0.0) + ROUNDING * end

    def _flow(self, radius: float, step: float) -> float:
        """The solution of the scalar Riccati equation after `step`; inf when it has blown up."""
        discriminant = self.linear**2 - 4 * self.forcing * self.quadratic
        root = math.sqrt(abs(discriminant)) / 2
        if root * step < 1e-8:
            angle = step
        elif discriminant > 0:
            angle = math.tanh(root * step) / root
        elif root * step < math.pi / 2:
            angle = math.tan(root * step) / root
        else:
            return math.inf
        denominator = 1 - (self.quadratic * radius + self.linear / 2) * angle
        if denominator <= ROUNDING:
            return math.inf
        return (radius + (self.forcing + self.linear * radius / 2) * angle) / denominator

    def _runge_kutta_tail(self, radius: float, step: float, tableau: Tableau) -> float:
        """Terms beyond h⁴ of the step, as polynomials in h with non-negative coefficients."""
        slopes: list[Series] = []
        for row in tableau.stages:
            state = np.array([radius])
            for weight, slope in zip(row, slopes, strict=True):
                state = _add(state, abs(weight) * _shifted(slope))
            slopes.append(self._field(state))
        total = np.array([radius])
        for weight, slope in zip(tableau.weights, slopes, strict=True):
            total = _add(total, abs(weight) * _shifted(slope))
        return float(sum(c * step**k for k, c in enumerate(total) if k > ORDER))

    def _field(self, state: Series) -> Series:
        value = _add(self.linear * state, self.quadratic * np.convolve(state, state))
        value[0] += self.forcing
        return value


def substeps_needed(
    majorant: Majorant, margin: float, radius: float, interval: float, tableau: Tableau
) -> int | None:
    """The fewest equal substeps of `interval` that keep the ball of that radius, if any do."""

    def stays(substeps: int) -> bool:
        step = interval / substeps
        loss = -math.expm1(-margin * step) * (radius - majorant.forcing / margin)
        return majorant.local_error(radius, step, tableau) <= loss

    if margin <= 0 or radius <= majorant.forcing / margin:
        return None
    enough = 1
    while not stays(enough):
        enough *= 2
        if enough > MOST_SUBSTEPS:
            return None
    low, high = enough // 2, enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if stays(middle) else (middle, high)
    return high


def _shifted(series: Series) -> Series:
    """h times a power series."""
    return np.concatenate([[0.0], series])


def _add(one: Series, other: Series) -> Series:
    if len(one) < len(other):
        one, other = other, one
    total = one.copy()
    total[: len(other)] += other
    return total
