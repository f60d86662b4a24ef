"""Which trajectories judge what was learned from the others."""

from __future__ import annotations

import torch
from torch import Tensor


def held_out(groups: Tensor, fraction: float) -> Tensor:
    """Which sequences select the dynamics: those of the last trajectories."""
    names = torch.unique(groups)
    count = min(round(fraction * len(names)), len(names) - 1)
    return torch.isin(groups, names[len(names) - count :])
