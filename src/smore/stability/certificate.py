"""What has been proved about a model's dynamics: a plain value with a text and a JSON form.

Every claim is about V(α) = ‖F (α - m)‖, a distance from a centre m. For the ODE

    V(t) <= e^{-γ t} V(0) + c (1 - e^{-γ t}) / γ,

for the map that forecasts really iterate, once per output interval,

    V_{n+1} <= ρ V_n + κ,

both for every state with V <= R, where R may be infinite. Where γ > 0 and ρ < 1 states end up
within c / γ and κ / (1 - ρ) of m, whatever they started from: that is "certified". Where γ is
zero as far as rounding can tell, V grows by c per unit of time at most: over any finite horizon it
is "bounded".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, computed_field, model_validator

from smore.runtime import StoredTuple, html_table

Verdict = Literal["certified", "bounded", "refused"]
HEADLINES: dict[Verdict, str] = {
    "certified": "CERTIFIED",
    "bounded": "BOUNDED OVER ANY FINITE HORIZON",
    "refused": "NOT CERTIFIED",
}
# The time that words speak of where claims are about finite times.
SHOWN_STEPS = 10_000


class Condition(BaseModel):
    """One inequality that was checked.

    Args:
        name: what it says, in words.
        holds: whether it does, rounding accounted for.
        value: the number that decides; None where it is infinite or there is none.
        detail: how it was found.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    holds: bool
    value: float | None
    detail: str


class Claims(BaseModel):
    """The constants of a certificate; None where nothing was proved.

    Args:
        verdict: "certified" if both the ODE and the map are proved bounded for all times and all
            states the model is used for; "bounded" if they are over any finite time, growing with
            it at most linearly and by rounding; else "refused".
        reason: why, or why not, in a sentence.
        remedy: what to try when not certified.
        dynamics: the kind of system, in words.
        metric: what V is, in words.
        margin: γ, per unit of model time; of a "bounded" system zero, less what rounding hides.
        forcing: c = ‖F d‖.
        defect: η_Q of the quadratic term; 0 when it conserves energy exactly.
        radius: R, None when claims hold for every state.
        condition: ‖F‖ ‖F⁻¹‖.
        map_factor: ρ.
        map_forcing: κ.
        substeps_needed: with which Runge-Kutta steps of a quadratic model keep the bound, if known.
        step: output interval of the map, model time.
        integrator: what the map is.
        time_unit: what rates and steps are counted in.
        training_radius: largest V over the training states.
        escape_time: model time up to which the ODE is proved to stay finite from training states;
            None if for ever, or if nothing is known.
        conditions: everything that was checked.
    """

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    reason: str
    remedy: str | None
    dynamics: str
    metric: str
    margin: float | None
    forcing: float | None
    defect: float | None
    radius: float | None
    condition: float | None
    map_factor: float | None
    map_forcing: float | None
    substeps_needed: int | None = None
    step: float
    integrator: str
    time_unit: str
    training_radius: float
    escape_time: float | None = None
    conditions: StoredTuple[Condition]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def certified(self) -> bool:
        """Whether forecasts of any length stay bounded."""
        return self.verdict == "certified"

    @model_validator(mode="before")
    @classmethod
    def _from_before_verdicts(cls, told: Any) -> Any:
        """Claims of version 0.1, which knew yes and no.

        Its proofs about linear-quadratic dynamics left out rounding: they are not repeated.
        """
        if not isinstance(told, dict) or "verdict" in told:
            return told
        if told.get("certified") and told.get("dynamics") == "linear-quadratic dynamics":
            why = "an earlier version of smore certified this model without minding rounding"
            told = told | {"reason": why, "remedy": "fit the model again", "certified": False}
        return told | {"verdict": "certified" if told.get("certified") else "refused"}


@dataclass(frozen=True, eq=False)
class Certificate:
    """Claims, and the function V that they are about.

    Args:
        claims: constants and conditions.
        centre: m, (r,).
        factor: F, (r, r).
    """

    claims: Claims
    centre: NDArray[np.float64]
    factor: NDArray[np.float64]

    def distance(self, states: ArrayLike) -> NDArray[np.float64]:
        """V of states (..., r)."""
        offset = np.asarray(states, dtype=np.float64) - self.centre
        return np.linalg.norm(offset @ self.factor.T, axis=-1)

    def covers(self, states: ArrayLike) -> NDArray[np.bool_]:
        """Whether the claims about the map hold for states (..., r)."""
        limit = math.inf if self.claims.radius is None else self.claims.radius
        if self.claims.map_factor is None:
            return np.zeros(np.shape(states)[:-1], dtype=bool)
        return self.distance(states) <= limit

    def bound(self, start: ArrayLike, num_steps: int) -> NDArray[np.float64]:
        """Bounds of V after 0, 1, .., num_steps intervals from states with V = start: (..., n + 1).

        Infinite for starts that the claims do not cover, and from where on V may have left the set
        for which they hold.
        """
        start = np.asarray(start, dtype=np.float64)[..., None]
        factor, forcing = self.claims.map_factor, self.claims.map_forcing
        limit = math.inf if self.claims.radius is None else self.claims.radius
        if factor is None or forcing is None:
            return np.full((*start.shape[:-1], num_steps + 1), math.inf)
        steps, excess = np.arange(num_steps + 1), factor - 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # By the logarithm: 1 - ρⁿ would lose the digits of a ρ close to 1.
            exponents = np.where(steps, steps * np.log(factor), 0.0)
            if excess > -0.5:
                exponents = steps * np.log1p(excess)
            sums = steps if excess == 0 else np.expm1(exponents) / excess
            bounds = np.exp(exponents) * start + (forcing * sums if forcing else 0.0)
        covered = start <= limit
        if not self.stays_inside:
            covered = covered & np.concatenate([covered, bounds[..., :-1] <= limit], axis=-1)
        return np.where(covered, bounds, math.inf)

    @property
    def stays_inside(self) -> bool:
        """Whether no state that the claims cover ever leaves the set for which they hold."""
        factor, forcing, radius = (
            self.claims.map_factor,
            self.claims.map_forcing,
            self.claims.radius,
        )
        if radius is None or factor is None or forcing is None:
            return True
        return forcing <= (1 - factor) * radius

    def norm_bound(self, num_steps: int) -> tuple[float, float]:
        """‖m‖ and a bound of ‖α - m‖ over forecasts of that length from any training state."""
        inverse = float(np.linalg.norm(np.linalg.inv(self.factor), 2))
        reach = float(self.bound(self.claims.training_radius, num_steps).max())
        return float(np.linalg.norm(self.centre)), inverse * reach

    def to_dict(self) -> dict[str, Any]:
        """Everything but the matrices."""
        return self.claims.model_dump(mode="json")

    def _repr_html_(self) -> str:
        claims = self.claims
        rows = [["system", claims.dynamics], ["measured by", claims.metric]]
        rows += [["map", claims.integrator], ["times in units of", claims.time_unit]]
        for condition in claims.conditions:
            rows.append([condition.name, condition.detail, "yes" if condition.holds else "NO"])
        notes = [f"try: {claims.remedy}"] if claims.remedy else []
        return html_table(f"{HEADLINES[claims.verdict]}: {claims.reason}", rows, notes=notes)

    def text(self) -> str:
        """One screen: verdict first, then the numbers."""
        claims = self.claims
        lines = [f"{HEADLINES[claims.verdict]}: {claims.reason}"]
        if claims.remedy:
            lines.append(f"try: {claims.remedy}")
        lines.append("")
        lines.append(f"system     {claims.dynamics}; measured by {claims.metric}")
        lines.append(f"map        {claims.integrator}; times are in units of {claims.time_unit}")
        for condition in claims.conditions:
            mark = "yes" if condition.holds else "NO "
            lines.append(f"  {mark}  {condition.name}: {condition.detail}")
        return "\n".join(lines)
