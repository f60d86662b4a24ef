"""The Gaussian prior of latent states, learned from the training latents."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Directions that training never moved in keep this share of the mean variance, so that a state
# slightly outside the training span can still be represented.
VARIANCE_FLOOR = 1e-10


@dataclass(frozen=True, eq=False)
class LatentPrior:
    """N(mean, F Fᵀ) over the reduced state α in R^r, in float64.

    Args:
        mean: (r,).
        factor: F, (r, r).
    """

    mean: Tensor
    factor: Tensor

    @classmethod
    def fit(cls, latents: Tensor) -> LatentPrior:
        """Mean and covariance of `latents` (snapshots, r)."""
        latents = latents.detach().to("cpu", torch.float64)
        mean = latents.mean(0)
        centred = latents - mean
        variances, directions = torch.linalg.eigh(centred.T @ centred / len(latents))
        floor = VARIANCE_FLOOR * variances.clamp(min=0).mean()
        # Training latents that never moved leave a prior that insists on their mean.
        return cls(mean, directions * variances.clamp(min=float(floor)).sqrt())

    @property
    def covariance(self) -> Tensor:
        return self.factor @ self.factor.T
