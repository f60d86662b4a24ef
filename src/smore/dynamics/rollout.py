"""Iterating a step map from an initial state."""

from __future__ import annotations

import torch
from torch import Tensor

from smore.dynamics.integrators import StepMap


def rollout(advance: StepMap, initial: Tensor, num_steps: int) -> Tensor:
    """α_0, α_1, .., α_n with α_{k+1} = advance(α_k): (sequences, r) -> (sequences, n + 1, r)."""
    states = [initial]
    for index in range(num_steps):
        states.append(advance(states[-1], index))
    return torch.stack(states, dim=1)
