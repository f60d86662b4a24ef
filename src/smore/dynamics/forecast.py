"""Free forecasts at any times, with steps no longer than those the dynamics were trained on."""

from __future__ import annotations

import math

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
    pieces = [
        max(1, math.ceil(float(column.max()) / longest_step - 1e-6)) for column in intervals.T
    ]
    counts = torch.tensor(pieces, dtype=torch.int64)
    steps = (intervals / counts).repeat_interleave(counts, dim=1)
    advance = step_map(dynamics, steps, method=method, substeps=substeps)
    states = rollout(advance, initial, steps.shape[1])
    return states[:, torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])]
