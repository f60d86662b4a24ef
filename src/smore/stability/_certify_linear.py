"""Certificates of linear dynamics: the best Lyapunov function at hand, judged with its rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from smore.dynamics import ForcedLinear, LinearDynamics, step_map
from smore.stability.certificate import Certificate, Claims, Condition
from smore.stability.lyapunov import MARGINAL, Enclosed, Metric, metrics
from smore.stability.stepping import Array, Stepping, as_array


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What one Lyapunov function says about a linear system."""

    metric: Metric
    rate: Enclosed
    factor: Enclosed
    size: float

    @property
    def strict(self) -> bool:
        return self.rate.upper < 0 and self.factor.upper < 1

    @property
    def marginal(self) -> bool:
        """Zero growth as far as rounding can tell, and rounding can tell very far."""
        rate_is_zero = self.rate.value <= self.rate.error <= MARGINAL * self.size
        factor_is_one = self.factor.value - 1 <= self.factor.error <= MARGINAL
        return (rate_is_zero or self.rate.upper < 0) and (factor_is_one or self.factor.upper < 1)

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Small for a good certificate."""
        if self.strict or self.marginal:
            return (not self.strict, not self.marginal, self.metric.condition)
        return (True, True, max(self.rate.upper, 0.0) + max(self.factor.upper - 1, 0.0))


def certify_linear(dynamics: LinearDynamics, states: Array, stepping: Stepping) -> Certificate:
    """Of departures from a centre, where the dynamics have one.

    Args:
        dynamics: in float64.
        states: (n, r) departures.
        stepping: what is iterated.
    """
    generator = as_array(dynamics.linear)
    flow, constant = _step_matrix(dynamics, stepping)
    drift = as_array(dynamics(torch.zeros(1, dynamics.dim, dtype=torch.float64)))[0]
    size = float(np.linalg.norm(generator, 2))
    best = min(
        (
            _Attempt(m, m.logarithmic_norm(generator), m.norm(flow), size)
            for m in metrics(generator)
        ),
        key=lambda attempt: attempt.rank,
    )
    spectrum = np.linalg.eigvals(generator).real.max()
    radius = float(np.abs(np.linalg.eigvals(flow)).max())
    proved = best.strict or best.marginal
    claims = Claims(
        verdict="certified" if best.strict else "bounded" if best.marginal else "refused",
        reason=_linear_reason(best, float(spectrum), radius, drift),
        remedy=None if proved else _linear_remedy(float(spectrum), stepping),
        dynamics=_name(dynamics),
        metric=best.metric.name,
        margin=-best.rate.upper if proved else None,
        forcing=best.metric.size(drift),
        defect=0.0,
        radius=None,
        condition=best.metric.condition,
        map_factor=best.factor.upper if proved else None,
        map_forcing=best.metric.size(constant) if proved else None,
        step=stepping.step,
        integrator=str(stepping),
        time_unit=stepping.time_unit,
        training_radius=float(np.linalg.norm(states @ best.metric.factor.T, axis=1).max()),
        conditions=(
            Condition(
                name="the ODE loses energy",
                holds=best.rate.upper < 0 or (proved and best.marginal),
                value=best.rate.value,
                detail=f"V grows at {best.rate.value:.3g} ± {best.rate.error:.1g} at most",
            ),
            Condition(
                name="so does the map",
                holds=best.factor.upper < 1 or (proved and best.marginal),
                value=best.factor.value,
                detail=f"V changes by a factor 1 {best.factor.value - 1:+.3g} ± "
                f"{best.factor.error:.1g} at most",
            ),
        ),
    )
    return Certificate(claims, np.zeros(len(generator)), best.metric.factor)


def _name(dynamics: LinearDynamics) -> str:
    if not isinstance(dynamics, ForcedLinear):
        return "linear dynamics"
    moves = bool(dynamics.centre_weights[1:].any())
    return f"linear dynamics about a centre that {'moves by itself' if moves else 'rests'}"


def _linear_reason(best: _Attempt, abscissa: float, radius: float, drift: Array) -> str:
    if best.strict and drift.any():
        return (
            "departures from the centre are driven by a constant, and decay otherwise; in between "
            f"they may grow to at most {best.metric.condition:.3g} times their norm"
        )
    if best.strict:
        return (
            "every state decays; in between it may grow to at most "
            f"{best.metric.condition:.3g} times its norm"
        )
    if best.marginal:
        growth = best.factor.upper - 1
        return (
            "states neither grow nor decay, as far as rounding can tell: at most a factor "
            f"{best.metric.condition:.3g} in norm, and {growth:.1g} per step"
        )
    if abscissa > 0:
        return f"an eigenvalue of the generator grows at {abscissa:.3g}"
    if radius > 1:
        return f"the ODE is stable but its map is not: spectral radius 1 {radius - 1:+.3g}"
    return "growth, if any, is too close to zero to be told from rounding"


def _linear_remedy(abscissa: float, stepping: Stepping) -> str:
    if stepping.method != "exact" and abscissa < 0:
        return "integrator 'exact', or more substeps"
    return "stabilise='always', which moves growing eigenvalues; or a shorter horizon"


@torch.no_grad()
def _step_matrix(dynamics: LinearDynamics, stepping: Stepping) -> tuple[Array, Array]:
    """M and c of the map a -> M a + c over one output interval."""
    if isinstance(dynamics, ForcedLinear):
        flow, constant = dynamics.flow(stepping.step)
        return as_array(flow), as_array(constant)
    steps = torch.full((dynamics.dim, 1), stepping.step, dtype=torch.float64)
    advance = step_map(dynamics, steps, method=stepping.method, substeps=stepping.substeps)
    flow = advance(torch.eye(dynamics.dim, dtype=torch.float64), 0).T
    return as_array(flow), np.zeros(dynamics.dim)
