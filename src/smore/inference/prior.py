"""The Gaussian prior of latent states, learned from the training latents."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
        count: number of states that the covariance was estimated from; None if it is known.
    """

    mean: Tensor
    factor: Tensor
    count: int | None = None

    @classmethod
    def fit(cls, latents: Tensor) -> LatentPrior:
        """Mean and covariance of `latents` (snapshots, r)."""
        latents = latents.detach().to("cpu", torch.float64)
        mean = latents.mean(0)
        centred = latents - mean
        variances, directions = torch.linalg.eigh(centred.T @ centred / len(latents))
        floor = VARIANCE_FLOOR * variances.clamp(min=0).mean()
        # Training latents that never moved leave a prior that insists on their mean.
        return cls(mean, directions * variances.clamp(min=float(floor)).sqrt(), len(latents))

    def underestimate(self, determined: Tensor) -> Tensor:
        """How many times larger the variance of what is not seen is than this prior makes it.

        A covariance from n samples knows too well how q observed directions determine the others:
        it has been fitted to that, so that new states differ more. For Gaussian samples the factor
        is n (n - 1) / (n - q - 1)².

        Args:
            determined: q.
        """
        if self.count is None:
            return torch.ones_like(determined)
        free = (self.count - determined - 1).clamp(min=1)
        return (self.count * (self.count - 1) / free.square()).clamp(min=1)

    def widened(self, times: float) -> LatentPrior:
        """The same for states that are so many times further from its mean."""
        return replace(self, factor=times * self.factor)

    @property
    def covariance(self) -> Tensor:
        return self.factor @ self.factor.T
