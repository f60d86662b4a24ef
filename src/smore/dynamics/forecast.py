"""Free forecasts at any times, with steps no longer than those the dynamics were trained on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smore.dynamics.integrators import step_map
from smore.dynamics.rollout import rollout
from smore.dynamics.vector_field import LatentDynamics


@dataclass(frozen=True, eq=False)
class StepPlan:
    """The steps that a forecast takes.

    Args:
        steps: (sequences, steps) their lengths, model time, float64. Sequences that need fewer
            than others between two outputs fill up with steps of length 0.
        outputs: (n + 1,) numbers of the states that were asked for, the initial one first.
    """

    steps: Tensor
    outputs: Tensor

    @classmethod
    def of(cls, intervals: Tensor, longest_step: float) -> StepPlan:
        """Steps of `longest_step` and, where one is left, a shorter last one, for every interval.

        Args:
            intervals: (sequences, n).
            longest_step: as the dynamics were trained on.
        """
        needed = (intervals / longest_step - 1e-6).ceil().clamp(min=1)  # of each interval
        slots = needed.amax(0).long()
        position = torch.cat([torch.arange(count) for count in slots.tolist()])
        whole, last = (
            needed.repeat_interleave(slots, dim=1),
            intervals - (needed - 1) * longest_step,
        )
        # Every distinct length may cost a matrix of its own.
        last = torch.where((last / longest_step - 1).abs() < 1e-6, longest_step, last)
        last = last.repeat_interleave(slots, dim=1)
        lengths = torch.where(position < whole - 1, longest_step, last)
        outputs = torch.cat([torch.zeros(1, dtype=torch.int64), slots.cumsum(0)])
        return cls(torch.where(position < whole, lengths, 0.0), outputs)


def forecast_path(
    dynamics: LatentDynamics,
    initial: Tensor,
    plan: StepPlan,
    *,
    method: str,
    substeps: int,
    starts: Tensor | None = None,
) -> Tensor:
    """Latents (sequences, steps + 1, r) before and after every step of `plan`.

    Args:
        dynamics: the vector field.
        initial: (sequences, r).
        plan: the steps.
        method: integrator, see `step_map`.
        substeps: integrator steps per step.
        starts: see `step_map`.
    """
    advance = step_map(dynamics, plan.steps, method=method, substeps=substeps, starts=starts)
    return rollout(advance, initial, plan.steps.shape[1])


def forecast_latents(
    dynamics: LatentDynamics,
    initial: Tensor,
    intervals: Tensor,
    *,
    longest_step: float,
    method: str,
    substeps: int,
) -> Tensor:
    """Latents after each interval, starting with the initial ones.

    Args:
        dynamics: the vector field.
        initial: (sequences, r).
        intervals: (sequences, n) times between outputs, model time, float64.
        longest_step: an interval longer than this is taken in several equal steps.
        method: integrator, see `step_map`.
        substeps: integrator steps per step.

    Returns:
        (sequences, n + 1, r).
    """
    plan = StepPlan.of(intervals, longest_step)
    return forecast_path(dynamics, initial, plan, method=method, substeps=substeps)[:, plan.outputs]
