"""From normal equations to latent codes, without a prior.

`least_squares` is the flat-prior limit of `posterior`; `adam` is what the paper does, a fixed
number of Adam steps from zero.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from smore.inference.normal_equations import NormalEquations

RANK_TOLERANCE = 1e-12


def least_squares(equations: NormalEquations) -> Tensor:
    """Codes (n, codes, p) of smallest residual; of smallest norm where these are many."""
    equations = equations.summed()
    values, vectors = torch.linalg.eigh(equations.gram)
    kept = values > RANK_TOLERANCE * values[..., -1:]
    inverse = torch.where(kept, 1 / torch.where(kept, values, 1.0), 0.0)

    def solve(number: int, moments: Tensor) -> Tensor:
        return (moments @ vectors[number] * inverse[number]) @ vectors[number].T

    return equations.per_pattern(solve, equations.moment)


def adam(
    equations: NormalEquations, num_steps: int, rate: float, keeps: Literal["best", "last"] = "best"
) -> Tensor:
    """Codes (n, codes, p) after Adam steps from zero on the mean squared misfit.

    The paper has so many steps (section "Checkpoint Selection and Final Evaluation") and says
    nothing of their start or of which iterate counts; the code that it builds on, DINo's, starts at
    zero and keeps the best of each snapshot.
    """
    equations = equations.summed()
    codes = torch.zeros_like(equations.moment).requires_grad_()
    optimizer = torch.optim.Adam([codes], lr=rate)
    best = codes.detach().clone()
    lowest = torch.full((len(codes),), torch.inf, dtype=codes.dtype)
    total = equations.count.sum().clamp(min=1)
    with torch.no_grad():
        for step in range(num_steps + 1):
            pulled = equations.pull(codes)
            misfit = ((codes * (pulled - 2 * equations.moment)).sum(-1) + equations.energy).sum(1)
            better = misfit < lowest
            lowest = torch.where(better, misfit, lowest)
            best[better] = codes.detach()[better]
            if step < num_steps:
                codes.grad = 2 * (pulled - equations.moment) / total
                optimizer.step()
    return best if keeps == "best" else codes.detach()
