"""How states move, kept: of a new state nothing but matrix products is needed.

    α_k = path_k + Φ_k (α_0 - about),        C_k = Φ_k C_0 Φ_kᵀ + size_k · pattern_k

Exact for linear dynamics, whatever state the flow is about. Other dynamics are followed from the
state itself, with errors to first order, as forecasts have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import unify_steps
from smore.dynamics import (
    LeadError,
    LinearDynamics,
    StepMap,
    StepPlan,
    carried_covariances,
    rollout,
    step_jacobians,
    step_map,
)
from smore.errors import DivergenceError
from smore.surrogate import Surrogate, errors_of_forecasts

# Numbers that a flow may keep.
MOST_NUMBERS = 2**25
# Steps that are followed anew with every state, where dynamics are not linear.
MOST_FOLLOWED = 200


@dataclass(frozen=True, eq=False)
class Flow:
    """States and errors at a start, step 0, and at n instants after it.

    Args:
        about: (r,) the state that was followed.
        path: (n + 1, r) where it went.
        moved: Φ (n + 1, r, r), how small departures from it went.
        sizes: (n + 1,) of what forecasts get wrong by themselves.
        patterns: (n + 1 or 1, r, r) its covariance, of size 1.
        whole: whether the flow serves every state.
    """

    about: Tensor
    path: Tensor
    moved: Tensor
    sizes: Tensor
    patterns: Tensor
    whole: bool

    def states(self, initial: Tensor) -> Tensor:
        """(n + 1, r) from one initial state (r,).

        Raises:
            DivergenceError: they overflow.
        """
        found = self.path + self.moved @ (initial - self.about)
        if not bool(torch.isfinite(found).all()):
            first = int((~torch.isfinite(found).all(1)).nonzero()[0])
            raise DivergenceError(
                f"the forecast overflows at step {first}: the latent dynamics are not stable this "
                "far; look less far ahead",
                part="forecast",
            )
        return found


@torch.no_grad()
def flow_of(
    surrogate: Surrogate, start: float, instants: NDArray[np.float64], about: Tensor
) -> Flow:
    """The flow from `start` to `instants`, both of the data's time.

    Args:
        surrogate: the model.
        start: when states are known.
        instants: (n,) rising, after it.
        about: (r,) a state; any where `serves_all`.
    """
    description, dynamics = surrogate.description, surrogate.dynamics
    how: dict[str, Any] = {
        "method": description.settings.stepping,
        "substeps": description.settings.num_substeps,
    }
    times = description.model_times(np.append(start, instants))[None]
    plan = StepPlan.of(torch.as_tensor(unify_steps(np.diff(times))), description.step)
    advance = step_map(dynamics, plan.steps, starts=torch.as_tensor(times[:, 0]), **how)
    path = rollout(advance, about[None], plan.steps.shape[1])
    derivatives = _derivatives(advance, path, plan, isinstance(dynamics, LinearDynamics))
    error = errors_of_forecasts(surrogate, about[None], np.array([[start]]))
    if isinstance(error, LeadError):
        leads = torch.nn.functional.pad(plan.steps.cumsum(1), (1, 0))[0, plan.outputs]
        sizes, patterns = error.variance(leads), error.pattern[None]
    else:
        nothing = torch.zeros(1, len(about), len(about), dtype=torch.float64)
        each = [derivative[None] for derivative in derivatives]
        patterns = carried_covariances(each, plan.steps, plan.outputs, nothing, error)[0]
        sizes = torch.ones(len(patterns), dtype=torch.float64)
    moved = _moved(derivatives, plan)
    return Flow(about, path[0, plan.outputs], moved, sizes, patterns, serves_all(surrogate))


def serves_all(surrogate: Surrogate) -> bool:
    """Whether one flow serves every state."""
    error = surrogate.error.step
    told = isinstance(error, LeadError) and error.disagreement is not None
    return isinstance(surrogate.dynamics, LinearDynamics) and not told


def most_steps(surrogate: Surrogate) -> int:
    """How far ahead a flow can be kept, and found while somebody waits."""
    kept = MOST_NUMBERS // surrogate.dynamics.dim**2
    return kept if serves_all(surrogate) else min(kept, MOST_FOLLOWED)


def _derivatives(advance: StepMap, path: Tensor, plan: StepPlan, linear: bool) -> list[Tensor]:
    """(r, r) of every step."""
    alike: dict[float, Tensor] = {}  # linear steps that are as long
    found = []
    for index, length in enumerate(plan.steps[0].tolist()):
        if not linear or length not in alike:
            alike[length] = step_jacobians(advance, path[:, index], index)[0]
        found.append(alike[length])
    return found


def _moved(derivatives: list[Tensor], plan: StepPlan) -> Tensor:
    """Products of the derivatives of all steps so far, at the outputs of the plan."""
    moved = torch.eye(len(derivatives[0]), dtype=torch.float64)
    kept, outputs = [moved], set(plan.outputs.tolist())
    for number, derivative in enumerate(derivatives, start=1):
        moved = derivative @ moved
        if number in outputs:
            kept.append(moved)
    return torch.stack(kept)
