"""How far observations scatter about the decoder, as inference should see it.

Residuals of a decoder are smooth in space, not white: many points repeat the same error. A fit that
took them for independent would trust a full grid far too much. What a fit sees of a residual ρ is
its projection on the modes, with energy (J₀ᵀρ)ᵀ G⁻¹ (J₀ᵀρ); white noise of variance σ² would have
p σ² of it. The noise of a channel is therefore the larger of the two: mean square, and projected
energy per latent. They agree for white residuals; for latents that are exact least-squares fits the
second is zero.

Instruments add noise of their own. Where nobody says how much, the residuals of the observations
do, if there are enough of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from smore.inference.normal_equations import NormalEquations
from smore.inference.point_fits import RANK_TOLERANCE, least_squares

# Noise is estimated in snapshots with so many values per latent, from at least so many spare ones.
ENOUGH_VALUES = 1.5
FEWEST_SPARE = 20


def noise_variance(equations: Sequence[NormalEquations], latents: Tensor) -> Tensor:
    """(channels,) variance of observed values about the decoder, normalised units.

    Args:
        equations: those of some training snapshots.
        latents: (snapshots, codes, p) the codes training found for them.
    """
    squared, count, projected, dof = torch.zeros(4, equations[0].count.shape[1]).double()
    for block in equations:
        codes = latents[block.snapshots.to(latents.device)].to("cpu", torch.float64)
        if not block.joint:  # joint codes are least squares always
            energy, directions = _projected(block, codes)
            projected += energy
            dof += directions
        squared += block.squared_residual(codes).sum(0)
        count += block.count.sum(0)
    return torch.maximum(squared / count.clamp(min=1), projected / dof.clamp(min=1))


def _projected(block: NormalEquations, codes: Tensor) -> tuple[Tensor, Tensor]:
    """(J₀ᵀρ)ᵀ G⁻¹ (J₀ᵀρ) and the number of directions seen, summed over snapshots: (channels,)."""
    values, vectors = torch.linalg.eigh(block.gram)
    seen = values > RANK_TOLERANCE * values[..., -1:]
    inverse = torch.where(seen, 1 / torch.where(seen, values, 1.0), 0.0)

    def energies(number: int, pulls: Tensor) -> Tensor:
        return (pulls @ vectors[number]).square() * inverse[number]

    along = block.per_pattern(energies, block.moment - block.pull(codes))
    return along.sum((0, -1)), seen.sum(1)[block.pattern].sum(0)


def estimate_noise(
    equations: Sequence[NormalEquations], least: Tensor, expected: Tensor
) -> tuple[Tensor, Tensor]:
    """(channels,) variance of observed values about the decoder, as their own residuals tell it.

    From least-squares fits alone, in snapshots that have values to spare. With fewer values than
    that, noise cannot be told from a state that the prior did not expect.

    Args:
        equations: the observations.
        least: (channels,) what it is at least.
        expected: (channels,) what it is taken to be where the observations do not tell.

    Returns:
        The variance, and whether the observations told it.
    """
    squared, free = torch.zeros_like(least), torch.zeros_like(least)
    counts = torch.stack([each.count.sum(0) for each in equations]).sum(0)
    if bool((counts < FEWEST_SPARE).all()):
        return expected.clone(), torch.zeros_like(expected, dtype=torch.bool)
    for each in equations:
        whole = each.summed()
        values = torch.linalg.eigvalsh(whole.gram)
        rank = (values > RANK_TOLERANCE * values[:, -1:]).sum(1)[whole.pattern]  # (n, codes)
        spare = whole.count >= ENOUGH_VALUES * rank
        if not bool(spare.any()):
            continue
        residual = each.squared_residual(least_squares(each))
        squared += torch.where(spare, residual, 0.0).sum(0)
        # Channels with a common code lose degrees of freedom to it by how many values they have.
        left = each.count * (1 - rank / whole.count.clamp(min=1))
        free += torch.where(spare, left, 0.0).sum(0)
    seen = torch.maximum(least, squared / free.clamp(min=1))
    told = free >= FEWEST_SPARE
    return torch.where(told, seen, expected), told
