"""What sensors see that are watched for a while: the state, and how it moves under their eyes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from smore.dynamics import step_jacobians, step_map
from smore.surrogate import Surrogate

# Snapshots of a history that are looked at; more of them tell hardly more about where to stand.
MOST_LOOKS = 5


def looks(history: int) -> list[int]:
    """Which snapshots of a history are looked at: evenly spread, first and last included."""
    return sorted({round(at) for at in np.linspace(0, history - 1, min(history, MOST_LOOKS))})


def flows(surrogate: Surrogate, history: int) -> Tensor:
    """(looks, r, r) how an error of the first state has moved at every look.

    Exact for linear dynamics; for others about the path of the mean training state.
    """
    description = surrogate.description
    advance = step_map(
        surrogate.dynamics,
        torch.tensor([[description.step]], dtype=torch.float64),
        method=description.settings.stepping,
        substeps=description.settings.num_substeps,
    )
    state, moved = surrogate.prior.mean[None].clone(), torch.eye(len(surrogate.prior.mean)).double()
    found = []
    for snapshot in range(history):
        if snapshot in looks(history):
            found.append(moved)
        moved = step_jacobians(advance, state, 0)[0] @ moved
        with torch.no_grad():
            state = advance(state, 0)
    return torch.stack(found)


def repetition(surrogate: Surrogate, history: int) -> Tensor:
    """(channels,) how many looks of what the decoder misses count as one, at most all of them."""
    chosen = looks(history)
    memory = surrogate.error.memory
    if len(chosen) == 1 or memory is None:
        return torch.full((surrogate.num_channels,), float(len(chosen)), dtype=torch.float64)
    gap = (chosen[-1] - chosen[0]) / (len(chosen) - 1)
    apart = memory.clamp(max=0.999) ** gap
    return ((1 + apart) / (1 - apart)).clamp(max=len(chosen))
