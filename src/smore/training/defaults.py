"""Settings left open by the user, chosen from the training data."""

from __future__ import annotations

import numpy as np
import torch

from smore.data import Block, Trajectories
from smore.settings import Settings

# Share of the variance that the best linear basis of the chosen size leaves out.
UNRESOLVED_VARIANCE = 1e-4
LATENT_RANGE = (4, 128)
HIDDEN_RANGE = (64, 256)
# A sample this large settles the leading singular values.
SAMPLED_POINTS, SAMPLED_COLUMNS = 2048, 2048


def median_step(trajectories: Trajectories) -> float:
    """The median time step, in the data's units; 0.2 where times are 0.0, 0.2, 0.4, .. ."""
    steps = np.concatenate([np.diff(sequence.times) for sequence in trajectories])
    return float(f"{np.median(steps):.12g}")


def resolve(settings: Settings, blocks: list[Block], num_channels: int) -> Settings:
    """`settings` with the sizes of decoder and dynamics filled in where they are None."""
    latent_dim = settings.latent_dim or choose_latent_dim(blocks, settings.seed)
    chosen: dict[str, int] = {"latent_dim": latent_dim}
    if settings.hidden_dim is None:
        chosen["hidden_dim"] = int(np.clip(2 * round(0.75 * latent_dim), *HIDDEN_RANGE))
    dim = num_channels * latent_dim
    if settings.dynamics == "lrlq" and settings.rank is None:
        chosen["rank"] = max(2, dim // 8)
    if settings.dynamics == "mlp" and settings.dynamics_hidden_dim is None:
        chosen["dynamics_hidden_dim"] = int(np.clip(2 * dim, *HIDDEN_RANGE))
    return settings.replace(**chosen)


def choose_latent_dim(blocks: list[Block], seed: int) -> int:
    """The smallest p whose best linear basis leaves out at most 1e-4 of the variance.

    Judged on the mesh with most snapshots, channels pooled. When every sequence has a mesh of its
    own, no mesh has enough snapshots to tell, and half their total number is the bound instead.
    """
    smallest, largest = LATENT_RANGE
    num_columns = sum(block.values.shape[1] for block in blocks)
    largest = min(largest, max(smallest, num_columns // 2))
    block = max(blocks, key=lambda candidate: candidate.values.shape[1])
    if block.values.shape[1] < min(4 * largest, num_columns):
        return min(largest, 64)
    generator = torch.Generator().manual_seed(seed)
    points = torch.randperm(block.num_points, generator=generator)[:SAMPLED_POINTS]
    columns = torch.randperm(block.values.shape[1], generator=generator)[:SAMPLED_COLUMNS]
    sample = block.values[points.to(block.values.device)][:, columns.to(block.values.device)]
    singular = torch.linalg.svdvals((sample - sample.mean(1, keepdim=True)).cpu().double())
    energy = singular.square().cumsum(0)
    needed = int((energy < (1 - UNRESOLVED_VARIANCE) * energy[-1]).sum()) + 1
    return int(np.clip(needed, smallest, largest))
