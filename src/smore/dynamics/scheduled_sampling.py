"""Scheduled sampling: from teacher forcing to free rollouts as training goes on.

Paper, appendix "Details of Scheduled Sampling". A rollout restarts from the target at randomly
chosen anchors; what it returns at an anchor is still its own prediction. The anchors' probability
decays with the epoch alone, so how often a run is evaluated does not change what it learns.
"""

from __future__ import annotations

import torch
from torch import Tensor

from smore.dynamics.integrators import StepMap

FREE_ROLLOUT_BELOW = 1e-3


def teacher_forcing_probability(epoch: int, start: float, decay: float) -> float:
    """ε = start · decay^epoch, and 0 once it falls below 1e-3."""
    probability = start * decay**epoch
    return probability if probability >= FREE_ROLLOUT_BELOW else 0.0


def draw_anchors(
    num_groups: int, length: int, probability: float, generator: torch.Generator
) -> Tensor:
    """Anchors for each group of sequences, (num_groups, length) booleans.

    The first snapshot starts the rollout anyway and the last one must be predicted: neither is
    ever an anchor.
    """
    anchors = torch.rand(num_groups, length, generator=generator) < probability
    anchors[:, 0] = False
    anchors[:, -1] = False
    return anchors


def sampled_rollout(advance: StepMap, targets: Tensor, anchors: Tensor) -> Tensor:
    """Predictions of `targets` (sequences, length, r), restarted wherever `anchors` is True.

    Args:
        advance: map over each output interval.
        targets: latent trajectories; the first state starts the rollout and is returned as it is.
        anchors: (sequences, length) booleans.
    """
    state = targets[:, 0]
    predictions = [state]
    for index in range(targets.shape[1] - 1):
        state = advance(state, index)
        predictions.append(state)
        restart = anchors[:, index + 1, None]
        state = torch.where(restart, targets[:, index + 1], state)
    return torch.stack(predictions, dim=1)
