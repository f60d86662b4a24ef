"""Directions of the state that sensors do not see."""

from __future__ import annotations

import torch
from torch import Tensor

from smore.inference import LatentPrior

# A direction counts as unseen while more than this share of its prior variance is left.
UNSEEN = 0.5


def unseen_directions(prior: LatentPrior, covariance: Tensor) -> tuple[Tensor, Tensor]:
    """Directions v (n, r) that stay as uncertain as before, and how much so (n,).

    With C = F S Fᵀ the eigenvectors q of S give directions v = F q, independent under prior and
    posterior alike, of which the sensors leave the share s in [0, 1] of the prior variance. Those
    that leave most of the field open come first; v has the size of one prior standard deviation.

    Args:
        prior: N(μ, F Fᵀ).
        covariance: C (r, r) of the posterior under it.
    """
    whitening = torch.linalg.pinv(prior.factor)  # nothing is unseen where nothing can vary
    whitened = whitening @ covariance @ whitening.T
    shares, axes = torch.linalg.eigh((whitened + whitened.T) / 2)
    directions = (prior.factor @ axes).T
    unseen = shares > UNSEEN
    shares, directions = shares[unseen].clamp(max=1), directions[unseen]
    order = (shares * directions.square().sum(1)).argsort(descending=True)
    return shares[order], directions[order]
