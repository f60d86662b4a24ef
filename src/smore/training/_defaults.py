"""Settings left open by the user, chosen from the training data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import AnyBlock, Pace, Trajectories
from smore.settings import PAPERS_SCALE, Settings
from smore.training.decoder.pieces import LEAST_POINTS
from smore.training.dynamics.quadratic import MOST_FEATURES, num_features
from smore.training.memory import HIDDEN_RANGE, LATENT_RANGE, chunk_size_for

# Share of the variance that the best linear basis of the chosen size leaves out.
UNRESOLVED_VARIANCE = 1e-4
# A sample this large settles the leading singular values.
SAMPLED_POINTS, SAMPLED_COLUMNS = 2048, 2048
LEAST_SPECTRUM = 64
COMPLETED, COMPLETION_SWEEPS = 400, 20
COMPLETION_RANKS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def median_step(trajectories: Trajectories, pace: Pace) -> float:
    """The median time step, in the data's units; 0.2 where times are 0.0, 0.2, 0.4, .. ."""
    if pace.months is not None:
        return pace.scale
    steps = np.concatenate([np.diff(sequence.times) for sequence in trajectories])
    return float(f"{np.median(steps):.12g}")


def sufficient_directions(singular: NDArray[np.float64], num_snapshots: int, points: int) -> int:
    """The smallest number of directions that leave out at most 1e-4 of the variance, or noise.

    Args:
        singular: singular values of the snapshots about their centre, falling.
        num_snapshots: how many there were.
        points: values of a snapshot.
    """
    values = torch.as_tensor(singular)
    energy = values.square().cumsum(0)
    needed = int((energy < (1 - UNRESOLVED_VARIANCE) * energy[-1]).sum()) + 1
    threshold = _noise_threshold(torch.Size((num_snapshots, points)), values)
    return int(np.clip(min(needed, int((values > threshold).sum())), 1, LATENT_RANGE[1]))


def resolve(settings: Settings, blocks: list[AnyBlock], num_channels: int) -> Settings:
    """`settings` with the sizes of decoder and dynamics filled in where they are None."""
    latent_dim = settings.latent_dim or choose_latent_dim(blocks, settings.seed)
    chosen: dict[str, Any] = {"latent_dim": latent_dim}
    chosen |= {
        "integrator": settings.stepping,
        "substeps": settings.num_substeps,
        "decoder_rate": settings.decoder_learning_rate,
        "dynamics_rate": settings.dynamics_learning_rate,
        "normalization": settings.scaling,
        "latents": settings.latents or "shared",
        "decoder": settings.decoder,
        "frequency_scale": settings.frequency_scale,
    }
    if settings.recipe == "paper":
        chosen["frequency_scale"] = settings.frequency_scale or PAPERS_SCALE
    if settings.recipe == "paper" or settings.hidden_dim is not None:
        chosen["decoder"] = settings.decoder or "network"
    if settings.hidden_dim is None:
        chosen["hidden_dim"] = int(np.clip(2 * round(0.75 * latent_dim), *HIDDEN_RANGE))
    dim = settings.num_codes(num_channels) * latent_dim
    if settings.dynamics == "lrlq" and settings.rank is None:
        chosen["rank"] = max(2, dim // 8)
    if settings.dynamics == "conservative" and num_features(dim) > MOST_FEATURES:
        chosen["rank"] = settings.rank or 8 * dim  # smaller ones have a closed form without a rank
    if settings.dynamics == "mlp" and settings.dynamics_hidden_dim is None:
        chosen["dynamics_hidden_dim"] = int(np.clip(2 * dim, *HIDDEN_RANGE))
    settings = settings.replace(**chosen)
    return settings.replace(chunk_size=chunk_size_for(settings, blocks))


def choose_latent_dim(blocks: list[AnyBlock], seed: int) -> int:
    """The smallest p whose best linear basis leaves out at most 1e-4 of the variance, or noise.

    Judged on the mesh with most snapshots, channels pooled. When every sequence has a mesh of its
    own, no mesh has enough snapshots to tell, and half their total number is the bound instead.
    """
    smallest, largest = LATENT_RANGE
    num_columns = sum(block.num_columns for block in blocks)
    largest = min(largest, max(smallest, num_columns // 2))
    largest = min(largest, max(1, int(_typical_points(blocks) / LEAST_POINTS)))
    smallest = min(smallest, largest)
    block = max(blocks, key=lambda candidate: candidate.num_columns)
    if block.num_columns < min(4 * largest, num_columns):
        return min(largest, 64)
    sample, known = _sample(block, seed)
    if known is not None:
        return int(np.clip(_completion_rank(sample, known, seed, largest), smallest, largest))
    singular = torch.linalg.svdvals(sample - sample.mean(1, keepdim=True))
    energy = singular.square().cumsum(0)
    needed = int((energy < (1 - UNRESOLVED_VARIANCE) * energy[-1]).sum()) + 1
    needed = min(needed, int((singular > _noise_threshold(sample.shape, singular)).sum()))
    return int(np.clip(needed, smallest, largest))


def _typical_points(blocks: list[AnyBlock]) -> float:
    """The median number of observed points per snapshot and channel."""
    counts = [
        torch.full((block.num_columns,), float(block.total_points), dtype=torch.float64)
        if block.observed is None
        else block.observed.sum(0).to("cpu", torch.float64)
        for block in blocks
    ]
    return float(torch.cat(counts).median())


def _noise_threshold(shape: torch.Size, singular: Tensor) -> float:
    """Singular values below this are what white noise alone would give (Gavish, Donoho, 2014)."""
    flat = (
        len(singular) >= LEAST_SPECTRUM and singular[-len(singular) // 10] > 0.3 * singular.median()
    )
    if not flat:  # too few values to tell, or a spectrum that goes on falling: no noise
        return 0.0
    ratio = min(shape) / max(shape)
    factor = 0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43
    return factor * float(singular.median())


def _sample(block: AnyBlock, seed: int) -> tuple[Tensor, Tensor | None]:
    """Some points and columns of a block in float64, and which values are known if not all."""
    generator = torch.Generator().manual_seed(seed)
    columns = torch.randperm(block.num_columns, generator=generator)[:SAMPLED_COLUMNS]
    most = SAMPLED_POINTS // block.team.size
    rows = torch.randperm(block.num_points, generator=generator)[:most]
    chosen = block.at(rows)
    sample = chosen.values[:, columns].to("cpu", torch.float64)
    if chosen.observed is None:
        return block.team.gather(sample), None
    known = chosen.observed[:, columns].cpu()
    seen = known.any(1)  # points that are never observed carry no structure
    return sample[seen], None if known[seen].all() else known[seen]


def _completion_rank(sample: Tensor, known: Tensor, seed: int, largest: int) -> int:
    """The rank whose low-rank completion best predicts values it was not shown.

    A gap is not part of the field, so the singular values of data with gaps say nothing. Ranks are
    tried upwards until the hidden tenth of the values is predicted well, or no better than before.
    """
    generator = torch.Generator().manual_seed(seed)
    sample, known = sample[:COMPLETED, :COMPLETED], known[:COMPLETED, :COMPLETED]
    shown = known & (torch.rand(known.shape, generator=generator) < 0.9)
    hidden = known & ~shown
    means = (sample * shown).sum(1, keepdim=True) / shown.sum(1, keepdim=True).clamp(min=1)
    sample = sample - means
    best, lowest = 1, float(sample[hidden].square().mean())
    enough = UNRESOLVED_VARIANCE * lowest
    for rank in COMPLETION_RANKS:
        error = float((_complete(sample, shown, rank) - sample)[hidden].square().mean())
        if rank > largest or error > lowest:
            break
        best, lowest = rank, error
        if error <= enough:
            break
    return best


def _complete(sample: Tensor, shown: Tensor, rank: int) -> Tensor:
    """The sample as a product of two Gaussian factors, the most probable given the shown values.

    With the unresolved variance as noise, columns the data do not need shrink to zero.
    """
    weights = shown.to(sample)
    variance = float(sample[shown].square().mean())
    noise = UNRESOLVED_VARIANCE * variance
    # The leading directions of the data with zeros in their gaps are not far off.
    right = math.sqrt(sample.shape[1]) * torch.linalg.svd(sample * weights)[2][:rank].T
    for _ in range(COMPLETION_SWEEPS):
        left = _solve_rows(sample, weights, right, noise * rank / variance)
        right = _solve_rows(sample.T, weights.T, left, noise)
    return left @ right.T


def _solve_rows(values: Tensor, weights: Tensor, factor: Tensor, ridge: float) -> Tensor:
    """For each row of `values` its coefficients in `factor`, by weighted ridge regression."""
    gram = torch.einsum("nk,kp,kq->npq", weights, factor, factor)
    gram += ridge * torch.eye(factor.shape[1], dtype=factor.dtype)
    moments = ((values * weights) @ factor)[..., None]
    return torch.cholesky_solve(moments, torch.linalg.cholesky(gram))[..., 0]
