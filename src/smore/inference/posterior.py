"""From normal equations to latent codes, with a prior: mean and covariance of a Gaussian."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smore.inference.normal_equations import NormalEquations
from smore.inference.prior import LatentPrior


@dataclass(frozen=True, eq=False)
class Posterior:
    """What data and prior say together about the codes of n snapshots.

    Args:
        mean: (n, codes, p).
        covariance: (n or 1, r, r).
        determined: (n,) how many of the r directions the data determine: those in which the
            prior's variance is gone count 1, those in which it is untouched count 0.
        log_evidence: (n,) log density of the data under prior and noise.
    """

    mean: Tensor
    covariance: Tensor
    determined: Tensor
    log_evidence: Tensor


def posterior(equations: NormalEquations, prior: LatentPrior, noise: Tensor) -> Posterior:
    """The Gaussian posterior of the codes given the data.

    With α = μ + F ξ, ξ ~ N(0, I), the precision I + Fᵀ H F has no eigenvalue below 1, so it can be
    factored whatever the sensors see; directions they do not see keep their prior. Where the prior
    is an estimate itself, what it leaves open is larger than it says, see `underestimate`.

    Args:
        equations: the data.
        prior: N(μ, F Fᵀ).
        noise: (channels,) variance of an observed value about the decoder, all > 0.
    """
    # States with equal patterns in every channel share one precision.
    patterns, which = torch.unique(equations.pattern, dim=0, return_inverse=True)
    precision = equations.gram[patterns] / noise[:, None, None]  # (distinct, channels, p, p)
    moment = equations.moment / noise[:, None]
    if equations.joint:
        information, moment = precision.sum(1), moment.sum(1, keepdim=True)
    else:
        information = torch.stack([torch.block_diag(*matrices) for matrices in precision])
    factor = prior.factor
    pull = moment.flatten(1) - (information @ prior.mean)[which]
    identity = torch.eye(len(prior.mean), dtype=factor.dtype)
    whitened = identity + factor.T @ information @ factor
    root = torch.linalg.cholesky(whitened)
    reduced = torch.empty_like(pull)  # root⁻¹ Fᵀ pull
    half = torch.linalg.solve_triangular(root, factor.T.expand_as(root), upper=False)
    mean = torch.empty_like(pull)
    for number in range(len(root)):
        rows = which == number
        reduced[rows] = pull[rows] @ half[number].T
        mean[rows] = prior.mean + reduced[rows] @ half[number]
    covariance = half.mT @ half
    # Not `inv`: its LU of several matrices at once is wrong where torch has two threads or more
    # (pytorch issue 142815).
    inverse = torch.linalg.solve_triangular(root, identity.expand_as(root), upper=False)
    left = inverse.square().sum((-2, -1))  # trace of the whitened covariance
    determined = len(prior.mean) - left
    # Of C = F S Fᵀ the part F S² Fᵀ is what the prior leaves open, the rest is noise.
    unseen = factor @ (inverse.mT @ inverse)  # F S
    factors = prior.underestimate(determined) - 1
    covariance = covariance + factors[:, None, None] * (unseen @ unseen.mT)
    middle = prior.mean.view(moment.shape[1:]).expand(moment.shape)
    misfit = equations.squared_residual(middle) / noise
    log_volume = 2 * root.diagonal(dim1=-2, dim2=-1).log().sum(1)[which]
    log_noise = (equations.count * (2 * torch.pi * noise).log()).sum(1)
    exponent = (misfit.sum(1) - reduced.square().sum(1)).clamp(min=0)
    return Posterior(
        mean=mean.view(moment.shape),
        covariance=covariance if len(root) == 1 else covariance[which],
        determined=determined[which],
        log_evidence=-(exponent + log_volume + log_noise) / 2,
    )
