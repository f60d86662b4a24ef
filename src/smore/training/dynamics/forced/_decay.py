"""Maps that cannot grow."""

from __future__ import annotations

import numpy as np
import torch

from smore.training.dynamics.forced.record import Array
from smore.training.dynamics.linear import DECAY, decaying_map


def decayed(matrix: Array) -> Array:
    """`matrix` with every eigenvalue decaying by at least DECAY per step, if one does not."""
    if np.abs(np.linalg.eigvals(matrix)).max() <= np.exp(-DECAY):
        return matrix
    return decaying_map(torch.as_tensor(matrix)).numpy()
