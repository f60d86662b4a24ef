"""Certificates of linear-quadratic dynamics: Theorem 1, exact or with a cyclic defect.

About a centre m the energy ‖α - m‖² / 2 changes by at most ‖d‖ V - γ V² + η_Q V³. Without a defect
(η_Q = 0) claims hold everywhere; with one, up to γ / (2 η_Q), at half the margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from smore.dynamics import ConservativeDynamics, QuadraticDynamics
from smore.dynamics.integrators import METHODS
from smore.stability.certificate import Certificate, Claims, Condition
from smore.stability.lyapunov import EPSILON, SAFETY, Enclosed, Metric
from smore.stability.regularisers import conservation_penalty
from smore.stability.rk4_majorant import Majorant, substeps_needed
from smore.stability.shift import best_shift, improve_radius
from smore.stability.stepping import Array, Stepping, as_array

# Looking for the best centre takes the r³ numbers of the quadratic term several times over.
LARGEST_SEARCH = 128


@dataclass(frozen=True, eq=False)
class _Centre:
    """A shifted system that loses energy at `margin` within `radius` of its centre."""

    shift: Array
    forcing: float
    growth: Enclosed
    defect: float
    at_zero: bool

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
        return self.gamma > 0 and self.absorbing < self.radius


def certify_quadratic(
    dynamics: QuadraticDynamics, states: Array, stepping: Stepping
) -> Certificate:
    bias, linear = as_array(dynamics.bias), as_array(dynamics.linear)
    with torch.no_grad():
        slices = dynamics.slices(slice(None)).to("cpu", torch.float64)
    exact = isinstance(dynamics, ConservativeDynamics)
    defect = 0.0 if exact else cyclic_defect(dynamics, slices)
    centre = _best_centre(dynamics, bias, linear, slices, defect, states)
    distances = np.linalg.norm(states - centre.shift, axis=1)
    training_radius = float(distances.max())
    map_claim = _certify_map(centre, linear, slices, training_radius, stepping)
    inside = training_radius <= map_claim.radius
    proved = centre.dissipates and map_claim.holds and inside
    conditions = (
        Condition(
            name="the quadratic term makes no energy",
            holds=defect == 0,
            value=defect,
            detail="by construction" if exact else f"cyclic defect η_Q = {defect:.3g}",
        ),
        Condition(
            name="the linear part loses energy",
            holds=centre.gamma > 0,
            value=centre.gamma,
            detail=f"margin γ = {centre.gamma:.3g} about "
            + ("zero" if centre.at_zero else "the best centre found"),
        ),
        Condition(
            name="forcing is balanced inside the region",
            holds=centre.dissipates,
            value=centre.absorbing if math.isfinite(centre.absorbing) else None,
            detail=f"‖d‖ = {centre.forcing:.3g}: states end within {centre.absorbing:.3g}, "
            f"claims hold up to {centre.radius:.3g}"
            if centre.gamma > 0
            else f"‖d‖ = {centre.forcing:.3g}, and nothing that loses energy to balance it",
        ),
        Condition(
            name="the map keeps the bound of the ODE",
            holds=map_claim.holds,
            value=map_claim.factor,
            detail=map_claim.detail,
        ),
        Condition(
            name="training states lie inside",
            holds=inside and map_claim.holds,
            value=training_radius,
            detail=f"up to {training_radius:.3g} from the centre",
        ),
    )
    claims = Claims(
        certified=proved,
        reason=_quadratic_reason(centre, map_claim, proved, training_radius),
        remedy=None if proved else _quadratic_remedy(dynamics, centre, map_claim),
        dynamics="linear-quadratic dynamics",
        metric="the norm of the latents"
        + ("" if centre.at_zero else ", from a centre found for it"),
        margin=centre.margin if centre.dissipates else None,
        forcing=centre.forcing,
        defect=defect,
        radius=map_claim.radius if math.isfinite(map_claim.radius) else None,
        condition=1.0,
        map_factor=map_claim.factor if centre.dissipates else None,
        map_forcing=map_claim.forcing if centre.dissipates else None,
        substeps_needed=map_claim.substeps_needed,
        step=stepping.step,
        integrator=str(stepping),
        time_unit=stepping.time_unit,
        training_radius=training_radius,
        conditions=conditions,
    )
    return Certificate(claims, centre.shift, np.eye(len(bias)))


@torch.no_grad()
def cyclic_defect(dynamics: QuadraticDynamics, slices: Tensor) -> float:
    """η_Q = L_reg,cons^½ / 3, with the rounding of sums of its symmetric slices added."""
    rounding = SAFETY * EPSILON * float(slices.norm())
    return (math.sqrt(float(conservation_penalty(dynamics))) + rounding) / 3


def _best_centre(
    dynamics: QuadraticDynamics,
    bias: Array,
    linear: Array,
    slices: Tensor,
    defect: float,
    states: Array,
) -> _Centre:
    """Zero if it will do, else the best centre within the range of the training states."""
    plain = _about_zero(dynamics, bias, linear, defect)
    if plain.dissipates or len(bias) > LARGEST_SEARCH:
        return plain
    reach = float(np.linalg.norm(states, axis=1).max())
    operators = (torch.as_tensor(bias), torch.as_tensor(linear), slices)
    found = best_shift(*operators, reach)
    if found.growth < 0:
        found = improve_radius(*operators, found)
    shift = as_array(found.shift)
    # A(m) is formed and symmetrised in float64: r products and sums per entry.
    error = (
        SAFETY
        * len(bias)
        * EPSILON
        * (float(np.linalg.norm(linear)) + 2 * float(slices.norm()) * float(np.linalg.norm(shift)))
    )
    forcing = float(np.linalg.norm(as_array(found.forcing))) + error * (
        1 + float(np.linalg.norm(shift))
    )
    moved = _Centre(shift, forcing, Enclosed(float(found.growth), error), defect, at_zero=False)
    return moved if moved.dissipates or moved.gamma > plain.gamma else plain


def _about_zero(dynamics: QuadraticDynamics, bias: Array, linear: Array, defect: float) -> _Centre:
    forcing = float(np.linalg.norm(bias))
    if isinstance(dynamics, ConservativeDynamics) and dynamics.dissipative:
        # K - R Rᵀ - g I with K skew: the symmetric part is at most -g, whatever K and R are.
        growth = Enclosed(-float(dynamics.margin), 0.0)
    else:
        growth = Metric("", np.eye(len(bias))).logarithmic_norm(linear)
    return _Centre(np.zeros(len(bias)), forcing, growth, defect, at_zero=True)


@dataclass(frozen=True)
class _MapClaim:
    """V_{n+1} <= factor V_n + forcing for V <= radius, over one output interval."""

    factor: float | None
    forcing: float | None
    radius: float
    detail: str
    substeps_needed: int | None = None

    @property
    def holds(self) -> bool:
        return self.factor is not None


def _certify_map(
    centre: _Centre,
    linear: Array,
    slices: Tensor,
    training_radius: float,
    stepping: Stepping,
) -> _MapClaim:
    if not centre.dissipates:
        return _MapClaim(None, None, centre.radius, "nothing to inherit")
    strength = float(torch.linalg.matrix_norm(slices.flatten(1), 2))  # ‖Q(y, y)‖ <= strength ‖y‖²
    reach = 2 * max(training_radius, centre.absorbing)
    if stepping.method == "strang":
        if not centre.at_zero:
            return _MapClaim(None, None, centre.radius, "Strang steps are taken about zero")
        return _strang_claim(centre, len(linear), stepping)
    radius = min(centre.radius, reach)
    offset = 2 * strength * float(np.linalg.norm(centre.shift))
    majorant = Majorant(centre.forcing, float(np.linalg.norm(linear, 2)) + offset, strength)
    tableau = METHODS[stepping.method]
    assert tableau is not None
    needed = substeps_needed(majorant, centre.margin, radius, stepping.step, tableau)
    if needed is None or needed > stepping.substeps:
        more = "no number of substeps is known to" if needed is None else f"{needed} substeps would"
        return _MapClaim(
            None, None, radius, f"{stepping.substeps} per interval are too few; {more}", needed
        )
    step = stepping.step / stepping.substeps
    error = majorant.local_error(radius, step, tableau)
    factor, forcing = _compound(centre, step, stepping.substeps, error, 0.0)
    detail = f"the local error is below what the ODE loses per step ({needed} substeps suffice)"
    return _MapClaim(factor, forcing, radius, detail, needed)


def _strang_claim(centre: _Centre, dim: int, stepping: Stepping) -> _MapClaim:
    """Strang steps obey the bound exactly, and lose no more than rounding of products with it."""
    step = stepping.step / stepping.substeps
    factor, forcing = _compound(centre, step, stepping.substeps, 0.0, SAFETY * dim * EPSILON)
    if factor >= 1:
        return _MapClaim(None, None, centre.radius, "the margin is lost in rounding")
    detail = "Strang steps do, at every step size"
    return _MapClaim(factor, forcing, centre.radius, detail)


def _compound(
    centre: _Centre, step: float, substeps: int, error: float, rounding: float
) -> tuple[float, float]:
    """ρ and κ over `substeps` steps."""
    once = math.exp(-centre.margin * step) * (1 + rounding)
    gain = -math.expm1(-centre.margin * step) * centre.absorbing * (1 + rounding) + error
    factor = once**substeps
    forcing = gain * sum(once**k for k in range(substeps))
    return factor, forcing


def _quadratic_reason(
    centre: _Centre, map_claim: _MapClaim, proved: bool, training_radius: float
) -> str:
    if proved:
        assert map_claim.factor is not None
        assert map_claim.forcing is not None
        limit = map_claim.forcing / (1 - map_claim.factor)
        where = (
            "from any state"
            if math.isinf(map_claim.radius)
            else (f"from any state within {map_claim.radius:.3g} of the centre")
        )
        return f"{where} forecasts end within {limit:.3g} (training states: {training_radius:.3g})"
    if centre.gamma <= 0:
        return f"the linear part may make energy, at a rate up to {-centre.gamma:.3g}"
    if not centre.dissipates:
        return "the quadratic term makes more energy than the linear part is sure to lose"
    if not map_claim.holds:
        return f"the ODE is bounded, its map is not proved to be: {map_claim.detail}"
    return f"training states reach {training_radius:.3g}, claims only {map_claim.radius:.3g}"


def _quadratic_remedy(dynamics: QuadraticDynamics, centre: _Centre, map_claim: _MapClaim) -> str:
    if not isinstance(dynamics, ConservativeDynamics):
        return "dynamics 'conservative' with dissipative=True"
    if not dynamics.dissipative:
        return "dissipative=True"
    if not map_claim.holds and centre.dissipates:
        return "integrator 'strang'"
    return "a shorter horizon"
