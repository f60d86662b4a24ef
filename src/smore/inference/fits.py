"""Three ways from normal equations to latent codes.

`posterior` is the default: the mean and covariance under a Gaussian prior. `least_squares` is its
flat-prior limit. `adam` is what the paper does, a fixed number of Adam steps from zero.
"""

from __future__ import annotations

import torch
from torch import Tensor

from smore.inference.normal_equations import NormalEquations
from smore.inference.prior import LatentPrior

RANK_TOLERANCE = 1e-12


def posterior(
    equations: NormalEquations, prior: LatentPrior, noise: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean (n, channels, p) and covariance (n or 1, r, r) of the codes given the data.

    With α = μ + F ξ, ξ ~ N(0, I), the precision I + Fᵀ H F has no eigenvalue below 1, so it can be
    factored whatever the sensors see; directions they do not see keep their prior.

    Args:
        equations: the data.
        prior: N(μ, F Fᵀ).
        noise: (channels,) variance of an observed value about the decoder, all > 0.
    """
    num, num_channels, dim = equations.moment.shape
    # States with equal patterns in every channel share one precision.
    patterns, which = torch.unique(equations.pattern, dim=0, return_inverse=True)
    precision = equations.gram[patterns] / noise[:, None, None]  # (distinct, channels, p, p)
    information = torch.stack([torch.block_diag(*matrices) for matrices in precision])
    factor = prior.factor
    pull = (equations.moment / noise[:, None]).flatten(1) - (information @ prior.mean)[which]
    whitened = torch.eye(len(prior.mean), dtype=factor.dtype) + factor.T @ information @ factor
    root = torch.linalg.cholesky(whitened)
    mean = torch.empty_like(pull)
    for number, each in enumerate(root):
        rows = which == number
        mean[rows] = prior.mean + torch.cholesky_solve((pull[rows] @ factor).T, each).T @ factor.T
    half = torch.linalg.solve_triangular(root, factor.T.expand_as(root), upper=False)
    covariance = half.mT @ half
    return mean.view(num, num_channels, dim), covariance if len(root) == 1 else covariance[which]


def least_squares(equations: NormalEquations) -> Tensor:
    """Codes (n, channels, p) of smallest residual; of smallest norm where these are many."""
    values, vectors = torch.linalg.eigh(equations.gram)
    kept = values > RANK_TOLERANCE * values[..., -1:]
    inverse = torch.where(kept, 1 / torch.where(kept, values, 1.0), 0.0)

    def solve(number: int, moments: Tensor) -> Tensor:
        return (moments @ vectors[number] * inverse[number]) @ vectors[number].T

    return equations.per_pattern(solve, equations.moment)


def adam(equations: NormalEquations, num_steps: int, rate: float) -> Tensor:
    """Codes (n, channels, p) after Adam steps from zero on the mean squared misfit.

    Keeps each snapshot's best iterate (paper, section "Checkpoint Selection and Final Evaluation").
    """
    codes = torch.zeros_like(equations.moment).requires_grad_()
    optimizer = torch.optim.Adam([codes], lr=rate)
    best = codes.detach().clone()
    lowest = torch.full((len(codes),), torch.inf, dtype=codes.dtype)
    total = equations.count.sum()
    with torch.no_grad():
        for step in range(num_steps + 1):
            pulled = equations.pull(codes)
            misfit = ((codes * (pulled - 2 * equations.moment)).sum(-1) + equations.energy).sum(-1)
            better = misfit < lowest
            lowest = torch.where(better, misfit, lowest)
            best[better] = codes.detach()[better]
            if step < num_steps:
                codes.grad = 2 * (pulled - equations.moment) / total
                optimizer.step()
    return best
