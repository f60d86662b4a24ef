"""Latents as a decoder would give them that had not seen some of the trajectories.

Cross-validating dynamics on the latents of one decoder is too strict: it was trained on every
trajectory and has modes for what only one of them does, of which the others cannot know the
dynamics. A trajectory that is left out must be left out of the basis too. Refitting the decoder
for every fold would take hours; but a trained one is nearly the best linear basis, and that is a
small eigenvalue problem in the coordinates of the compressed data.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from smore.data import Block
from smore.data.timeline import Timeline
from smore.decoder import Decoder

# Snapshots whose errors are looked at point by point.
MOST_SNAPSHOTS = 512


class LeftOutBases:
    """Best bases of the trajectories that are not left out.

    Args:
        block: every training snapshot, on one mesh.
        compressed: the same, compressed.
        timeline: which snapshot comes when.
        latent_dim: p.
    """

    def __init__(
        self, block: Block, compressed: Block, timeline: Timeline, latent_dim: int
    ) -> None:
        self.latent_dim = latent_dim
        columns = compressed.values.to("cpu", torch.float64)
        directions = torch.linalg.qr(columns / columns.norm(dim=0).clamp(min=1e-300))[0]
        coordinates = (block.values.T @ directions.to(block.values)).to("cpu", torch.float64)
        table = torch.empty(len(block.snapshots), block.num_channels, directions.shape[1]).double()
        table[block.snapshots.cpu()] = coordinates.unflatten(0, (-1, block.num_channels))
        # Per point, as latents in an orthonormal gauge are.
        self.trajectories = timeline.gather(table) / block.num_points**0.5
        self.valid = timeline.valid
        self.coords, self.directions = block.coords, directions

    def latents(self, left_out: Tensor) -> Tensor:
        """(sequences, longest, r) latents of all sequences in the best basis of the others."""
        return (self.trajectories @ self._basis(left_out)).flatten(2)

    def change_of_basis(self, left_out: Tensor, decoder: Decoder) -> Tensor:
        """(p, p) from latents in the best basis of the others to those of `decoder`."""
        modes = decoder.basis(self.coords).modes.detach().to("cpu", torch.float64)
        seen = self.directions.T @ modes / len(modes) ** 0.5
        return torch.linalg.lstsq(seen, self._basis(left_out), driver="gelsd").solution

    def excess(self, folds: Tensor) -> Tensor:
        """(channels,) mean square missed of left-out snapshots beyond that of others.

        Some trajectories are like no other, and their errors are most of a mean. What an error bar
        needs is the typical error: by how much the 90% quantile of errors grows, relative to how
        large they are at each point.
        """
        everything = self._basis(torch.zeros_like(folds, dtype=torch.bool))
        outside, inside = [], []
        for fold in range(int(folds.max()) + 1):
            chosen = folds == fold
            snapshots = self.trajectories[chosen][self.valid[chosen]]
            share = min(1.0, MOST_SNAPSHOTS / int(self.valid.sum()))
            kept = torch.linspace(0, len(snapshots) - 1, max(1, round(share * len(snapshots))))
            snapshots = snapshots[kept.round().long()]
            outside.append(self._missed(snapshots, self._basis(chosen)))
            inside.append(self._missed(snapshots, everything))
        seen, unseen = torch.cat(inside), torch.cat(outside)  # (snapshots, channels, points)
        typical = seen.square().mean(0).sqrt().clamp(min=torch.finfo(seen.dtype).tiny)
        growth = (_quantile(unseen / typical) / _quantile(seen / typical)).square()
        return (growth - 1).clamp(min=0) * seen.square().mean((0, 2))

    def _missed(self, snapshots: Tensor, basis: Tensor) -> Tensor:
        """What the basis misses of snapshots (n, channels, rank), at all points."""
        missed = snapshots - snapshots @ basis @ basis.T
        return missed @ self.directions.T * len(self.directions) ** 0.5

    def _basis(self, left_out: Tensor) -> Tensor:
        """(rank, p) orthonormal columns: the best basis of the sequences that are not left out."""
        seen = self.trajectories[~left_out][self.valid[~left_out]].flatten(0, 1)
        return torch.linalg.eigh(seen.T @ seen)[1].flip(1)[:, : self.latent_dim]


def _quantile(errors: Tensor) -> Tensor:
    """(channels,) 90% quantile of the size of errors (snapshots, channels, points)."""
    sizes = errors.abs().transpose(0, 1).flatten(1).numpy()
    return torch.as_tensor(np.quantile(sizes, 0.9, axis=1)).clamp(min=1e-300)
