"""The covariance of errors, of which there are never enough.

A covariance of r directions from a few trajectories is too small in the directions that these
happen not to err in: new ones do. It is drawn towards its diagonal,

    Q = (1 - s) Q̂ + s diag Q̂,

which changes the size of no latent's error, by the share s under which errors of trajectories that
were left out are likeliest.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Shares that are tried, and parts of the trajectories that are left out in turn.
SHARES = (0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
PARTS = 8
# Variances below this share of the mean are round-off.
FLOOR = 1e-12


def shrunk_covariance(errors: Tensor, origins: Tensor) -> Tensor:
    """Q (r, r) of errors (n, r) about zero, float64.

    Args:
        errors: float64.
        origins: (n,) numbers of the trajectories that they were made on: errors of one trajectory
            are alike, and say nothing about each other.
    """
    total = errors.T @ errors
    number = torch.unique(origins, return_inverse=True)[1] % PARTS
    parts = [errors[number == part] for part in torch.unique(number)]
    if len(parts) < 2 or not bool(total.any()):
        return total / max(len(errors), 1)
    sums = [part.T @ part for part in parts]
    likeliest = max(SHARES, key=lambda share: _likelihood(share, parts, sums, total))
    return _drawn(total / len(errors), likeliest)


def _likelihood(share: float, parts: list[Tensor], sums: list[Tensor], total: Tensor) -> float:
    """Log density of every part given the others, for the best common size of its errors.

    A trajectory may be worse than all others; here the question is in which directions.
    """
    count, dim = sum(map(len, parts)), total.shape[0]
    found = 0.0
    for part, own in zip(parts, sums, strict=True):
        others = _drawn((total - own) / (count - len(part)), share)
        root, failed = torch.linalg.cholesky_ex(others)
        if int(failed):
            return -math.inf
        whitened = torch.linalg.solve_triangular(root, part.T, upper=False)
        size = float(whitened.square().mean())
        volume = float(root.diagonal().log().sum())
        found -= len(part) * (0.5 * dim * math.log(max(size, 1e-300)) + volume)
    return found


def _drawn(covariance: Tensor, share: float) -> Tensor:
    variances = covariance.diagonal()
    least = FLOOR * variances.mean()
    return (1 - share) * covariance + torch.diag(share * variances + least)
