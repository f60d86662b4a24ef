"""Free forecasts at any times, with steps no longer than those the dynamics were trained on."""

from __future__ import annotations

import torch
from torch import Tensor

from smore.dynamics.integrators import step_map
from smore.dynamics.rollout import rollout
from smore.dynamics.vector_field import LatentDynamics


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
    pieces = (intervals / longest_step - 1e-6).ceil().clamp(min=1)  # of each interval
    slots = pieces.amax(0).long()  # sequences that need fewer pieces fill up with steps of length 0
    position = torch.cat([torch.arange(count) for count in slots.tolist()])
    needed = pieces.repeat_interleave(slots, dim=1)
    steps = torch.where(position < needed, intervals.repeat_interleave(slots, dim=1) / needed, 0.0)
    advance = step_map(dynamics, steps, method=method, substeps=substeps)
    states = rollout(advance, initial, steps.shape[1])
    return states[:, torch.cat([torch.zeros(1, dtype=torch.int64), slots.cumsum(0)])]
