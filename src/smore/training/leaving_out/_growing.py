"""How errors of steps go on, told by how errors of whole forecasts grow.

The error of a step resembles that of the next one, which tells a correlation φ of neighbours. But
φᵏ need not be how alike errors are k steps later, and what a forecast adds up is just that. So φ is
taken such that errors of left-out forecasts grow with lead as they were seen to, and the covariance
Q such that they are as large.
"""

from __future__ import annotations

import torch
from torch import Tensor

from smore.dynamics import StepError, carried_covariances

# Correlations that are tried.
MEMORIES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)
# Leads that are needed for a growth to be seen, and the last one that is looked at.
LEAST_LEADS, MOST_LEADS = 4, 24


def matched(error: StepError, matrix: Tensor, seen: Tensor) -> StepError:
    """The same with the correlation and the size that explain mean squares of forecasts' errors.

    Args:
        error: of single steps.
        matrix: (r, r) the map over a step.
        seen: (leads,) mean squares after 1, 2, .. steps.
    """
    seen = seen[:MOST_LEADS]
    if len(seen) < LEAST_LEADS or not bool((seen > 0).all()) or not bool(error.factor.any()):
        return error
    tried = [StepError(error.factor, memory, error.step) for memory in MEMORIES]
    logs = torch.stack([(seen / _mean_squares(each, matrix, len(seen))).log() for each in tried])
    best = int(logs.std(dim=1).argmin())
    size = float((0.5 * logs[best].mean()).exp())
    return StepError(size * error.factor, tried[best].correlation, error.step)


def _mean_squares(error: StepError, matrix: Tensor, count: int) -> Tensor:
    """(leads,) of errors that start from nothing."""
    covariances = carried_covariances(
        [matrix[None]] * count,
        torch.full((1, count), error.step, dtype=torch.float64),
        torch.arange(count + 1),
        torch.zeros_like(matrix)[None],
        error,
    )
    return covariances[0, 1:].diagonal(dim1=-2, dim2=-1).sum(-1)
