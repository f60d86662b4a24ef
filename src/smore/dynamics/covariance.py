"""How uncertain a forecast becomes: the covariance of the latents, carried along a path.

An error e of the state is moved by the derivative A of the step, and every step adds an error η of
the dynamics. Such errors are no white noise: a model that turns a little too fast does so at every
step, and its error moves with the flow. They are taken as a first-order process in that frame,

    e' = A e + η,      η' = φ A η + √(1 - φ²) w,      w ~ N(0, Q),

which is white noise for φ = 0 and a constant error of the generator for φ = 1. For linear dynamics
this is exact; otherwise it is the first order in e, good for as long as errors stay small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from smore.dynamics.forecast import StepPlan
from smore.dynamics.integrators import StepMap, step_map
from smore.dynamics.lead_error import ForecastErrors, LeadError
from smore.dynamics.linear import LinearDynamics
from smore.dynamics.vector_field import LatentDynamics

# Numbers that differentiating a step may hold at once.
MOST_NUMBERS = 2**25


@dataclass(frozen=True, eq=False)
class StepError:
    """What one step of the dynamics gets wrong.

    Args:
        factor: (r, r) of the covariance Q = factor factorᵀ of η, for steps of length `step`.
        correlation: φ, from one such step to the next.
        step: model time. A shorter step adds a proportional error and forgets less.
    """

    factor: Tensor
    correlation: float
    step: float

    @property
    def covariance(self) -> Tensor:
        """Q (r, r)."""
        return self.factor @ self.factor.T


def forecast_covariances(
    dynamics: LatentDynamics,
    path: Tensor,
    plan: StepPlan,
    initial: Tensor,
    error: StepError | LeadError | ForecastErrors,
    *,
    method: str,
    substeps: int,
) -> Tensor:
    """Covariances (sequences or 1, n + 1, r, r) of the outputs of `plan`, one where they agree.

    Args:
        dynamics: the vector field.
        path: (sequences, steps + 1, r) the states, see `forecast_path`.
        plan: the steps between them.
        initial: (sequences, r, r) covariance of the initial states, or (1, r, r) for all.
        error: what each step adds, or all steps together.
        method: integrator, see `step_map`.
        substeps: integrator steps per step.
    """
    steps = plan.steps
    alike = isinstance(dynamics, LinearDynamics) and bool((steps == steps[:1]).all())
    if alike and len(initial) == 1:
        path, steps = path[:1], steps[:1]
    advance = step_map(dynamics, steps, method=method, substeps=substeps)
    derivatives = (
        step_jacobians(advance, states, index)
        for index, states in enumerate(path[:, :-1].unbind(1))
    )
    return carried_covariances(derivatives, steps, plan.outputs, initial, error)


def carried_covariances(
    derivatives: Iterable[Tensor],
    steps: Tensor,
    outputs: Tensor,
    initial: Tensor,
    error: StepError | LeadError | ForecastErrors,
) -> Tensor:
    """The same, (sequences, n + 1, r, r), where derivatives of steps are known.

    Args:
        derivatives: (sequences, r, r) of each step.
        steps: (sequences, steps) their lengths.
        outputs: (n + 1,) states that are asked for, see `StepPlan`.
        initial: as above.
        error: as above.
    """
    if not isinstance(error, StepError):
        return _by_lead(derivatives, steps, outputs, initial, error)
    added = error.covariance
    total = initial.expand(len(steps), -1, -1)
    shared = torch.zeros_like(total)  # covariance of e with η
    own = added.expand_as(total)  # covariance of η
    kept = [total]
    asked = set(outputs.tolist())
    for index, moving in enumerate(derivatives):
        length = (steps[:, index] / error.step)[:, None, None]
        memory = error.correlation**length
        crossed = moving @ shared
        total = moving @ total @ moving.mT + length * (crossed + crossed.mT) + length**2 * own
        shared = memory * (crossed + length * own) @ moving.mT
        own = memory**2 * (moving @ own @ moving.mT) + (1 - memory**2) * added
        if index + 1 in asked:
            kept.append((total + total.mT) / 2)
    return torch.stack(kept, dim=1)


def _by_lead(
    derivatives: Iterable[Tensor],
    steps: Tensor,
    outputs: Tensor,
    initial: Tensor,
    error: LeadError | ForecastErrors,
) -> Tensor:
    """What the first states were not known by, moved on, and what forecasts get wrong."""
    total = initial.expand(len(steps), -1, -1)
    kept = [total]
    for index, moving in enumerate(derivatives):
        total = moving @ total @ moving.mT
        if index + 1 in outputs:
            kept.append((total + total.mT) / 2)
    leads = torch.nn.functional.pad(steps.cumsum(1), (1, 0))[:, outputs]
    return torch.stack(kept, dim=1) + error.covariance(leads)


def step_jacobians(advance: StepMap, states: Tensor, index: int) -> Tensor:
    """Derivatives (sequences, r, r) of step `index` at `states` (sequences, r)."""
    num, dim = states.shape
    at_once = max(1, MOST_NUMBERS // (num * dim**2))  # rows of all Jacobians
    with torch.enable_grad():
        start = states.detach().clone().requires_grad_()
        end = advance(start, index)
        rows = [
            torch.autograd.grad(
                end,
                start,
                some[:, None].expand(-1, num, -1),
                is_grads_batched=True,
                retain_graph=True,
            )[0]
            for some in torch.eye(dim, dtype=states.dtype).split(at_once)
        ]
    return torch.cat(rows).transpose(0, 1)
