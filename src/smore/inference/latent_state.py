"""What inference returns: an estimate of the reduced state and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class LatentState:
    """Reduced states of one or more snapshots, in float64.

    Args:
        mean: (states, channels, p).
        covariance: (states, r, r), or (1, r, r) when all states share it; None where the method
            gives no uncertainty (plain least squares and Adam).
        num_values: (states,) observed values that entered.
        residual: (states, channels) mean squared misfit at the observed points, normalised units;
            NaN for a channel without observations.
        times: (states,) time of each state, in the data's units.
    """

    mean: Tensor
    covariance: Tensor | None
    num_values: Tensor
    residual: Tensor
    times: Tensor

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def flat(self) -> Tensor:
        """α, (states, r)."""
        return self.mean.flatten(1)

    @property
    def standard_deviation(self) -> Tensor | None:
        """(states, channels, p) posterior standard deviation of each latent."""
        if self.covariance is None:
            return None
        deviation = self.covariance.diagonal(dim1=-2, dim2=-1).clamp(min=0).sqrt()
        return deviation.expand(len(self), -1).unflatten(1, tuple(self.mean.shape[1:]))


def misfit(squared: Tensor, count: Tensor) -> Tensor:
    """Mean squared residual per observed value; NaN where nothing was observed."""
    return torch.where(count > 0, squared / count.clamp(min=1), torch.nan)
