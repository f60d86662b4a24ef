"""What a forecast has to beat: the initial state kept for ever."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from smore.data.trajectories import Trajectories


def persistence_errors(trajectories: Trajectories) -> tuple[Tensor, Tensor]:
    """Σ (u(t) - u(0))² per snapshot and channel in the data's units, and the number of points.

    Only points observed at both times count.
    """
    squared, count = [], []
    for sequence in trajectories.sequences:
        change = sequence.fields - sequence.fields[:1]
        if sequence.observed is None:
            number = np.full(change.shape[:2], change.shape[-1])
        else:
            both = sequence.observed & sequence.observed[:1]
            change *= both
            number = both.sum(-1)
        squared.append(_sum_of_squares(change))
        count.append(number)
    return _table(squared), _table(count)


def truth_energy(trajectories: Trajectories) -> Tensor:
    """Σ u² per snapshot and channel over the observed points, (snapshots, channels)."""
    return _table([_sum_of_squares(sequence.fields) for sequence in trajectories.sequences])


def _sum_of_squares(fields: np.ndarray) -> np.ndarray:
    return np.einsum("tcn,tcn->tc", fields, fields, dtype=np.float64)


def _table(parts: list[np.ndarray]) -> Tensor:
    return torch.as_tensor(np.concatenate(parts), dtype=torch.float64)
