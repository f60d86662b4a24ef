"""What a forecast has to beat: the initial state kept for ever."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import Trajectories


def persistence_errors(trajectories: Trajectories) -> tuple[Tensor, Tensor]:
    """Σ (u(t) - u(0))² per snapshot and channel in the data's units, and the number of points.

    Only points observed at both times count.
    """
    squared, count = [], []
    for sequence in trajectories:
        parts = [_persistence(*part) for part in sequence.parts()]
        squared.append(np.sum([part for part, _ in parts], axis=0))
        count.append(np.sum([number for _, number in parts], axis=0))
    return _table(squared), _table(count)


def _persistence(
    fields: NDArray[np.floating], observed: NDArray[np.bool_] | None
) -> tuple[NDArray, NDArray]:
    change = fields - fields[:1]
    if observed is None:
        return _sum_of_squares(change), np.full(change.shape[:2], change.shape[-1])
    both = observed & observed[:1]
    change *= both
    return _sum_of_squares(change), both.sum(-1)


def truth_energy(trajectories: Trajectories) -> Tensor:
    """Σ u² per snapshot and channel over the observed points, (snapshots, channels)."""
    return _table(
        [
            np.sum([_sum_of_squares(fields) for fields, _ in sequence.parts()], axis=0)
            for sequence in trajectories
        ]
    )


def _sum_of_squares(fields: np.ndarray) -> np.ndarray:
    return np.einsum("tcn,tcn->tc", fields, fields, dtype=np.float64)


def _table(parts: list[np.ndarray]) -> Tensor:
    return torch.as_tensor(np.concatenate(parts), dtype=torch.float64)
