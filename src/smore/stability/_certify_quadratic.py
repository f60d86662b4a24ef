"""Certificates of linear-quadratic dynamics: Theorem 1, exact or with a cyclic defect.

Zero as the centre and the plain norm as the metric come first. Where they do not cover the training
states, other centres are tried, and then other energies that the quadratic term conserves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from smore.dynamics import ConservativeDynamics, QuadraticDynamics
from smore.stability._centre import Centre
from smore.stability._conserved_energy import conserved_metrics
from smore.stability._quadratic_map import MapClaim, certify_map
from smore.stability._quadratic_system import QuadraticSystem
from smore.stability._shift import best_shift, improve_radius
from smore.stability.certificate import SHOWN_STEPS, Certificate, Claims, Condition, Verdict
from smore.stability.stepping import Array, Stepping, as_array

# Looking for the best centre takes the r³ numbers of the quadratic term several times over.
LARGEST_SEARCH = 256
RANKS: dict[Verdict, int] = {"certified": 0, "bounded": 1, "refused": 2}


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What one centre in one metric proves."""

    dynamics: QuadraticDynamics
    system: QuadraticSystem
    centre: Centre
    map_claim: MapClaim
    training_radius: float

    @property
    def inside(self) -> bool:
        """Whether the training states are covered."""
        return self.training_radius <= self.map_claim.radius

    @property
    def verdict(self) -> Verdict:
        if self.centre.dissipates and self.map_claim.contracts and self.inside:
            return "certified"
        if self.centre.makes_no_energy and self.map_claim.keeps and self.inside:
            return "bounded"
        return "refused"

    @property
    def escape_time(self) -> float:
        return self.centre.escape_time(self.training_radius)

    @property
    def rank(self) -> tuple[int, bool, float, float]:
        """Small for a good certificate."""
        known = self.map_claim.factor is not None
        return (RANKS[self.verdict], not known, -self.escape_time, self.centre.growth.upper)


@torch.no_grad()
def certify_quadratic(
    dynamics: QuadraticDynamics, states: Array, stepping: Stepping
) -> Certificate:
    best: _Attempt | None = None
    for attempt in _attempts(dynamics, states, stepping):
        if best is None or attempt.rank < best.rank:
            best = attempt
        if best.verdict == "certified":
            break
    assert best is not None
    return Certificate(_claims(best, stepping), best.centre.shift, best.system.metric.factor)


def _attempts(dynamics: QuadraticDynamics, states: Array, stepping: Stepping) -> Iterator[_Attempt]:
    """From the simplest on; whoever is content stops asking."""
    plain = QuadraticSystem.of(dynamics)
    zero = np.zeros(dynamics.dim)

    def attempt(system: QuadraticSystem, shift: Array) -> _Attempt:
        centre = system.about(shift)
        offsets = (states - shift) @ system.metric.factor.T
        reach = float(np.linalg.norm(offsets, axis=1).max())
        claim = certify_map(dynamics, system, centre, reach, stepping)
        return _Attempt(dynamics, system, centre, claim, reach)

    first = attempt(plain, zero)
    yield first
    if stepping.method == "strang" and (first.centre.dissipates or first.centre.makes_no_energy):
        return  # these steps are taken about zero: nothing else can be said of them
    yield from (attempt(plain, shift) for shift in _shifts(plain, states))
    for metric in conserved_metrics(plain.linear, plain.slices.numpy()):
        system = plain.in_metric(metric)
        yield attempt(system, zero)
        yield from (attempt(system, shift) for shift in _shifts(system, states))


def _shifts(system: QuadraticSystem, states: Array) -> Iterator[Array]:
    """Centres within the range of the training states: of the least growth, and near it."""
    if len(system.bias) > LARGEST_SEARCH:
        return
    factor = system.metric.factor
    reach = float(np.linalg.norm(states @ factor.T, axis=1).max())
    operators = (torch.as_tensor(system.bias), torch.as_tensor(system.linear), system.slices)
    least = best_shift(*operators, reach)
    back = np.linalg.inv(factor)
    yield back @ as_array(least.shift)
    if least.growth < 0:
        yield back @ as_array(improve_radius(*operators, least).shift)


def _claims(best: _Attempt, stepping: Stepping) -> Claims:
    centre, claim, verdict = best.centre, best.map_claim, best.verdict
    proved = verdict != "refused"
    escape = best.escape_time
    return Claims(
        verdict=verdict,
        reason=_reason(best, stepping),
        remedy=None if proved else _remedy(best),
        dynamics="linear-quadratic dynamics",
        metric=best.system.metric.name + ("" if centre.at_zero else ", from a centre found for it"),
        margin=centre.margin if centre.dissipates or proved else None,
        forcing=centre.forcing,
        defect=centre.defect,
        radius=claim.radius if math.isfinite(claim.radius) else None,
        condition=best.system.metric.condition,
        map_factor=claim.factor,
        map_forcing=claim.forcing,
        substeps_needed=claim.substeps_needed,
        step=stepping.step,
        integrator=str(stepping),
        time_unit=stepping.time_unit,
        training_radius=best.training_radius,
        escape_time=escape if math.isfinite(escape) else None,
        conditions=_conditions(best),
    )


def _conditions(best: _Attempt) -> tuple[Condition, ...]:
    centre, claim = best.centre, best.map_claim
    by_construction = isinstance(best.dynamics, ConservativeDynamics) and centre.defect == 0
    return (
        Condition(
            name="the quadratic term makes no energy",
            holds=centre.defect == 0,
            value=centre.defect,
            detail="by construction"
            if by_construction
            else f"cyclic defect η_Q = {centre.defect:.3g}",
        ),
        Condition(
            name="the linear part loses energy",
            holds=centre.gamma > 0,
            value=centre.gamma,
            detail=f"margin γ = {-centre.growth.value:.3g} ± {centre.growth.error:.1g} about "
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
            holds=claim.keeps,
            value=claim.factor,
            detail=claim.detail,
        ),
        Condition(
            name="training states lie inside",
            holds=best.inside and claim.factor is not None,
            value=best.training_radius,
            detail=f"up to {best.training_radius:.3g} from the centre",
        ),
    )


def _reason(best: _Attempt, stepping: Stepping) -> str:
    centre, claim, reach = best.centre, best.map_claim, best.training_radius
    if best.verdict == "certified":
        assert claim.factor is not None
        assert claim.forcing is not None
        limit = claim.forcing / (1 - claim.factor)
        where = (
            "from any state"
            if math.isinf(claim.radius)
            else f"from any state within {claim.radius:.3g} of the centre"
        )
        return f"{where} forecasts end within {limit:.3g} (training states: {reach:.3g})"
    if best.verdict == "bounded":
        return _bounded_reason(best)
    if centre.dissipates and claim.factor is None:
        return f"the ODE is bounded, its map is not proved to be: {claim.detail}"
    if centre.dissipates:
        return f"training states reach {reach:.3g}, claims only {claim.radius:.3g}"
    if centre.makes_no_energy:
        return (
            f"the ODE is bounded over any finite horizon, growing by {centre.forcing:.3g} per unit "
            f"of time at most; its map is not covered for long: {claim.detail}"
        )
    blame = (
        "the quadratic term makes more energy than the linear part is sure to lose"
        if centre.gamma > 0
        else f"the linear part may make energy, at a rate up to {-centre.gamma:.3g}"
    )
    if math.isinf(best.escape_time):
        return blame
    steps = best.escape_time / stepping.step
    return (
        f"{blame}; from training states the ODE is proved finite up to t = {best.escape_time:.3g} "
        f"({steps:.3g} steps) and no longer"
    )


def _bounded_reason(best: _Attempt) -> str:
    factor, forcing = best.map_claim.factor, best.map_claim.forcing
    assert factor is not None
    assert forcing is not None
    rounding = f"rounding may add {max(factor - 1, 0.0):.1g} per step"
    if best.centre.forcing == 0:
        return f"no state ever grows, and none has to decay; {rounding}"
    return (
        f"the distance from the centre grows by at most {forcing:.3g} per step, "
        f"{forcing * SHOWN_STEPS:.3g} in {SHOWN_STEPS:,} steps (training states: "
        f"{best.training_radius:.3g}); {rounding}"
    )


def _remedy(best: _Attempt) -> str:
    dynamics = best.dynamics
    if not isinstance(dynamics, ConservativeDynamics):
        return "dynamics 'conservative' with dissipative=True"
    if not dynamics.dissipative:
        return "dissipative=True"
    if best.centre.dissipates and best.map_claim.factor is None:
        return "integrator 'strang'"
    return "a shorter horizon"
