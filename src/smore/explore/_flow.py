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
    forecast_covariances,
    rollout,
    step_jacobians,
    step_map,
)
from smore.errors import DivergenceError
from smore.surrogate import Surrogate

# Numbers that a flow may keep.
MOST_NUMBERS = 2**25


@dataclass(frozen=True, eq=False)
class Flow:
    """States and errors at a start, step 0, and at n instants after it.

    Args:
        about: (r,) the state that was followed.
        path: (n + 1, r) where it went.
        moved: Φ (n + 1, r, r), how small departures from it went.
        sizes: (n + 1,) of what forecasts get wrong by themselves.
        patterns: (n + 1 or 1, r, r) its covariance, of size 1.
        linear: whether the flow serves every state.
    """

    about: Tensor
    path: Tensor
    moved: Tensor
    sizes: Tensor
    patterns: Tensor
    linear: bool

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
        about: (r,) a state; any for linear dynamics.
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
    linear = isinstance(dynamics, LinearDynamics)
    error = surrogate.error.step
    if isinstance(error, LeadError):
        leads = torch.nn.functional.pad(plan.steps.cumsum(1), (1, 0))[0, plan.outputs]
        sizes, patterns = error.variance(leads), error.pattern[None]
    else:
        nothing = torch.zeros(1, len(about), len(about), dtype=torch.float64)
        patterns = forecast_covariances(dynamics, path, plan, nothing, error, **how)[0]
        sizes = torch.ones(len(patterns), dtype=torch.float64)
    moved = _moved(advance, path, plan, linear)
    return Flow(about, path[0, plan.outputs], moved, sizes, patterns, linear)


def most_steps(surrogate: Surrogate) -> int:
    """How far ahead a flow can be kept."""
    return MOST_NUMBERS // surrogate.dynamics.dim**2


def _moved(advance: StepMap, path: Tensor, plan: StepPlan, linear: bool) -> Tensor:
    """Products of the derivatives of all steps so far, at the outputs of the plan."""
    lengths = plan.steps[0].tolist()
    derivatives: dict[float, Tensor] = {}  # of linear steps, which are alike if as long
    moved = torch.eye(path.shape[-1], dtype=torch.float64)
    kept, outputs = [moved], set(plan.outputs.tolist())
    for index, length in enumerate(lengths):
        if not linear or length not in derivatives:
            derivatives[length] = step_jacobians(advance, path[:, index], index)[0]
        moved = derivatives[length] @ moved
        if index + 1 in outputs:
            kept.append(moved)
    return torch.stack(kept)
