"""What is proved about the ODE of a linear-quadratic system from one centre (Theorem 1).

About a centre m the distance V changes by at most

    dV/dt <= ‖d‖ - γ V + η_Q V².

Without a defect (η_Q = 0) that holds everywhere, with one it is of use up to γ / (2 η_Q), at half
the margin. Where neither helps, the right side still needs time to grow: until then V is finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from smore.stability.lyapunov import MARGINAL, Enclosed
from smore.stability.stepping import Array


@dataclass(frozen=True, eq=False)
class Centre:
    """A linear-quadratic system seen from a centre.

    Args:
        shift: m (r,), in the model's own coordinates.
        forcing: a bound of ‖d‖.
        growth: -γ, the largest eigenvalue of the symmetric linear part, enclosed.
        defect: η_Q.
        size: of the linear part, to judge by what zero is.
    """

    shift: Array
    forcing: float
    growth: Enclosed
    defect: float
    size: float

    @property
    def at_zero(self) -> bool:
        return not self.shift.any()

    @property
    def gamma(self) -> float:
        """γ of Theorem 1, rounding taken off."""
        return -self.growth.upper

    @property
    def radius(self) -> float:
        """Up to where claims hold: everywhere, or γ / (2 η_Q)."""
        if self.defect == 0:
            return math.inf
        return self.gamma / (2 * self.defect)

    @property
    def margin(self) -> float:
        """What is left of γ when half of it pays for the defect."""
        return self.gamma if self.defect == 0 else self.gamma / 2

    @property
    def absorbing(self) -> float:
        """‖d‖ / γ, or 2 ‖d‖ / γ."""
        return self.forcing / self.margin if self.margin > 0 else math.inf

    @property
    def dissipates(self) -> bool:
        """States end within `absorbing`, whatever covered state they start from."""
        return self.gamma > 0 and self.absorbing < self.radius

    @property
    def makes_no_energy(self) -> bool:
        """γ = 0 as far as rounding can tell, and it can tell very far; and no defect.

        Then V grows by ‖d‖ per unit of time at most (equation hard_linear_growth).
        """
        is_zero = self.growth.value <= self.growth.error <= MARGINAL * self.size
        return self.defect == 0 and (is_zero or self.gamma >= 0)

    def escape_time(self, start: float) -> float:
        """When the solution of v' = ‖d‖ - γ v + η_Q v² from `start` ceases to exist, if ever."""
        return escape_time(self.forcing, self.growth.upper, self.defect, start)


def escape_time(forcing: float, growth: float, defect: float, start: float) -> float:
    """∫ dv / (c + λ v + η v²) from `start` to infinity; inf if v' vanishes on the way.

    Args:
        forcing: c >= 0.
        growth: λ.
        defect: η >= 0.
        start: where v starts, >= 0.
    """
    slope = 2 * defect * start + growth  # of v' at the start
    discriminant = growth**2 - 4 * forcing * defect
    if defect == 0 or (discriminant >= 0 and slope <= math.sqrt(discriminant)):
        return math.inf
    root = math.sqrt(abs(discriminant))
    if discriminant < 0:
        return 2 / root * math.atan2(root, slope)
    if root <= 1e-8 * slope:  # equal roots, where the logarithm below loses its digits
        return 2 / slope
    return math.log1p(2 * root / (slope - root)) / root
