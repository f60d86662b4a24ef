"""What the map of linear-quadratic dynamics keeps of the bound of its ODE.

A Strang step is two halves of an affine flow about a rotation, so the norm of the matrix that is
really applied decides, however it was computed. A Runge-Kutta step misses the flow by its local
error and its rounding; what it may add has to be less than what the ODE loses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from smore.dynamics import METHODS, ConservativeDynamics, QuadraticDynamics, Tableau, affine_flow
from smore.stability._centre import Centre
from smore.stability._quadratic_system import QuadraticSystem
from smore.stability._rk4_majorant import Majorant, substeps_needed
from smore.stability.lyapunov import EPSILON, MARGINAL, SAFETY, Metric
from smore.stability.stepping import Stepping, as_array

# Norms are sums of r squares, a rotation takes two of them: no fewer roundings than this are meant.
FEWEST_ROUNDINGS = 8


@dataclass(frozen=True)
class MapClaim:
    """V_{n+1} <= factor V_n + forcing for V <= radius, over one output interval.

    Args:
        factor: ρ, None if nothing is claimed.
        forcing: κ.
        radius: R.
        keeps: whether no state leaves V <= R, so that the claim may be used again and again.
        detail: how it was found, in words.
        substeps_needed: with which Runge-Kutta steps keep the ball, if known.
    """

    factor: float | None
    forcing: float | None
    radius: float
    keeps: bool
    detail: str
    substeps_needed: int | None = None

    @property
    def contracts(self) -> bool:
        """Whether states end up somewhere."""
        return self.keeps and self.factor is not None and self.factor < 1


def certify_map(
    dynamics: QuadraticDynamics,
    system: QuadraticSystem,
    centre: Centre,
    reach: float,
    stepping: Stepping,
) -> MapClaim:
    """What can be said about one output interval.

    Args:
        dynamics: what is iterated.
        system: the same in the coordinates of a metric, and
        centre: from a centre.
        reach: V of the states that should be covered.
        stepping: how it is iterated.
    """
    if not (centre.dissipates or centre.makes_no_energy):
        return MapClaim(None, None, 0.0, False, "nothing to inherit")
    if stepping.method == "strang":
        assert isinstance(dynamics, ConservativeDynamics)
        if not centre.at_zero or not system.metric.is_identity:
            return MapClaim(None, None, 0.0, False, "Strang steps are taken about zero")
        return _strang(dynamics, stepping)
    return _runge_kutta(dynamics, system, centre, reach, stepping)


def _strang(dynamics: ConservativeDynamics, stepping: Stepping) -> MapClaim:
    """Of the matrix and the shift that are applied, whatever they ought to be."""
    step = stepping.step / stepping.substeps
    with torch.no_grad():
        flow, shift = (as_array(each) for each in affine_flow(dynamics, step / 2))
    if not (np.isfinite(flow).all() and np.isfinite(shift).all()):
        return MapClaim(None, None, math.inf, False, "the affine flow overflows")
    half = Metric("", np.eye(len(flow))).norm(flow)
    if half.upper >= 1 and not half.value - 1 <= half.error <= MARGINAL:
        detail = f"as computed, half of the affine flow may stretch by 1 {half.upper - 1:+.2g}"
        return MapClaim(None, None, math.inf, False, detail)
    rounding = 1 + SAFETY * (len(flow) + FEWEST_ROUNDINGS) * EPSILON
    push = float(np.linalg.norm(shift)) * rounding
    factor, forcing = compound(
        half.upper**2 * rounding, push * (half.upper * rounding + 1), stepping.substeps
    )
    detail = f"Strang steps do, at every step size: V changes by a factor 1 {factor - 1:+.3g}"
    return MapClaim(factor, forcing, math.inf, True, detail)


def _runge_kutta(
    dynamics: QuadraticDynamics,
    system: QuadraticSystem,
    centre: Centre,
    reach: float,
    stepping: Stepping,
) -> MapClaim:
    wanted = 2 * max(reach, centre.absorbing if centre.dissipates else 0.0)
    radius = min(centre.radius, wanted) if centre.dissipates else wanted
    tableau = METHODS[stepping.method]
    assert tableau is not None
    majorant = _majorant(dynamics, system, centre, radius, stepping)
    step = stepping.step / stepping.substeps
    if not centre.dissipates:
        return _for_a_while(majorant, centre, radius, step, stepping.substeps, tableau)
    needed = substeps_needed(majorant, centre.margin, radius, stepping.step, tableau)
    if needed is None or needed > stepping.substeps:
        more = "no number of substeps is known to" if needed is None else f"{needed} substeps would"
        detail = f"{stepping.substeps} per interval are too few; {more}"
        return MapClaim(None, None, radius, False, detail, needed)
    once = math.exp(-centre.margin * step)
    gain = -math.expm1(-centre.margin * step) * centre.absorbing
    gain += majorant.local_error(radius, step, tableau)
    factor, forcing = compound(once, gain, stepping.substeps)
    detail = f"the local error is below what the ODE loses per step ({needed} substeps suffice)"
    return MapClaim(factor, forcing, radius, True, detail, needed)


def _for_a_while(
    majorant: Majorant,
    centre: Centre,
    radius: float,
    step: float,
    substeps: int,
    tableau: Tableau,
) -> MapClaim:
    """The ODE loses nothing that could pay for local errors: they add up while V <= radius."""
    error = majorant.local_error(radius, step, tableau)
    if not math.isfinite(error):
        return MapClaim(None, None, radius, False, "its local error has no bound")
    rate = max(centre.growth.upper, 0.0)
    duration = math.expm1(rate * step) / rate if rate else step
    factor, forcing = compound(math.exp(rate * step), centre.forcing * duration + error, substeps)
    detail = f"local errors of {error:.2g} per step add up, with nothing lost to pay for them"
    return MapClaim(factor, forcing, radius, False, detail)


def _majorant(
    dynamics: QuadraticDynamics,
    system: QuadraticSystem,
    centre: Centre,
    radius: float,
    stepping: Stepping,
) -> Majorant:
    """Norms that dominate the system about the centre, and the rounding of a step inside it."""
    strength = float(torch.linalg.matrix_norm(system.slices.flatten(1), 2)) + system.slices_error
    forth = system.metric.factor
    back = float(np.linalg.norm(np.linalg.inv(forth), 2))
    place = float(np.linalg.norm(forth @ centre.shift))
    linear = float(np.linalg.norm(system.linear, 2)) + system.linear_error
    # Steps are taken in the model's own coordinates, and so is their rounding.
    dim, far = len(forth), float(np.linalg.norm(centre.shift)) + back * radius
    slope = float(np.linalg.norm(as_array(dynamics.bias)))
    slope += dim * float(np.linalg.norm(as_array(dynamics.linear))) * far
    slope += dim**2 * float(dynamics.magnitude) * far**2
    rounding = SAFETY * EPSILON * (dim * far + stepping.step * slope)
    rounding *= float(np.linalg.norm(forth, 2))
    return Majorant(centre.forcing, linear + 2 * strength * place, strength, rounding)


def compound(once: float, gain: float, substeps: int) -> tuple[float, float]:
    """ρ and κ over `substeps` steps V -> once V + gain."""
    factor, forcing = once**substeps, gain * sum(once**power for power in range(substeps))
    return factor * (1 + EPSILON * substeps), forcing * (1 + EPSILON * substeps)
