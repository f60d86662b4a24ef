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

from smore.data import DEFAULT_CHUNK, Block, Timeline
from smore.decoder import Decoder
from smore.training.decoder.compression import Compressed

# Snapshots whose errors are looked at point by point, and how many points.
MOST_SNAPSHOTS = 512
MOST_POINTS = 2**14
# What of the mean lies outside the other directions is round-off below this share.
DEPENDENT = 1e-6


class LeftOutBases:
    """Best bases of the trajectories that are not left out.

    Args:
        compressed: every training snapshot, on one mesh.
        timeline: which snapshot comes when.
        num_codes: columns per snapshot.
        latent_dim: p.
        num_outputs: rows per point; codes are joint if there are several.
    """

    def __init__(
        self,
        compressed: Compressed,
        timeline: Timeline,
        num_codes: int,
        latent_dim: int,
        num_outputs: int = 1,
    ) -> None:
        self.latent_dim, self.compressed = latent_dim, compressed.block
        self.change = _orthonormalising(compressed)
        outside = compressed.coordinates.new_full((), compressed.mean_outside)
        mean = torch.cat([compressed.mean, outside[None]])
        coordinates = torch.nn.functional.pad(compressed.coordinates, (0, 1)) + mean
        self.num_outputs = num_outputs
        self.total_points = compressed.total_points // num_outputs
        table = coordinates.unflatten(0, (-1, num_codes))
        # Per point, as latents in an orthonormal gauge are.
        self.trajectories = timeline.gather(table) / self.total_points**0.5
        self.valid = timeline.valid

    def _directions(self, chunk: Block) -> Tensor:
        """(points, rank) orthonormal directions of the compressed data, at some points."""
        return chunk.values.to("cpu", torch.float64) @ self.change

    def latents(self, left_out: Tensor) -> Tensor:
        """(sequences, longest, r) latents of all sequences in the best basis of the others."""
        return (self.trajectories @ self._basis(left_out)).flatten(2)

    def modes_seen(self, decoder: Decoder) -> Tensor:
        """(rank, p) the decoder's modes in the same coordinates."""
        seen = torch.zeros(self.change.shape[1], decoder.latent_dim, dtype=torch.float64)
        for chunk in self.compressed.chunks(DEFAULT_CHUNK):
            modes = decoder.basis(chunk.coords).modes.detach().to("cpu", torch.float64)
            seen += self._directions(chunk).T @ modes
        self.compressed.team.add_up(seen)
        return seen / self.total_points**0.5

    def change_of_basis(self, left_out: Tensor, modes_seen: Tensor) -> Tensor:
        """(p, p) from latents in the best basis of the others to those of a decoder."""
        return torch.linalg.lstsq(modes_seen, self._basis(left_out), driver="gelsd").solution

    def excess(self, folds: Tensor) -> Tensor:
        """(channels,) mean square missed of left-out snapshots beyond that of others.

        Some trajectories are like no other, and their errors are most of a mean. What an error bar
        needs is the typical error: by how much the 90% quantile of errors grows, relative to how
        large they are at each point.
        """
        everything = self._basis(torch.zeros_like(folds, dtype=torch.bool))
        team, most = self.compressed.team, MOST_POINTS // self.compressed.team.size
        some = self.compressed.at(_spread(self.compressed.num_points, most))
        directions = team.gather(self._directions(some))
        output = team.gather(some.coords[:, -1:].to("cpu", torch.float64))[:, 0].round()
        outside, inside = [], []
        for fold in range(int(folds.max()) + 1):
            chosen = folds == fold
            snapshots = self.trajectories[chosen][self.valid[chosen]]
            share = min(1.0, MOST_SNAPSHOTS / int(self.valid.sum()))
            kept = torch.linspace(0, len(snapshots) - 1, max(1, round(share * len(snapshots))))
            snapshots = snapshots[kept.round().long()]
            outside.append(self._missed(snapshots, self._basis(chosen), directions))
            inside.append(self._missed(snapshots, everything, directions))
        seen, unseen = torch.cat(inside), torch.cat(outside)  # (snapshots, codes, rows)
        if self.num_outputs == 1:
            return _excess(seen, unseen)
        rows = [output == number for number in range(self.num_outputs)]
        return torch.cat([_excess(seen[..., own], unseen[..., own]) for own in rows])

    def _missed(self, snapshots: Tensor, basis: Tensor, directions: Tensor) -> Tensor:
        """What the basis misses of snapshots (n, channels, rank), at the points of directions."""
        missed = snapshots - snapshots @ basis @ basis.T
        return missed @ directions.T * self.total_points**0.5

    def _basis(self, left_out: Tensor) -> Tensor:
        """(rank, p) orthonormal columns: the best basis of the sequences that are not left out."""
        seen = self.trajectories[~left_out][self.valid[~left_out]].flatten(0, 1)
        return torch.linalg.eigh(seen.T @ seen)[1].flip(1)[:, : self.latent_dim]


def _orthonormalising(compressed: Compressed) -> Tensor:
    """The matrix that makes orthonormal directions of [F, μ]; F's own columns are orthogonal."""
    size = 1 / compressed.energies.sqrt()
    change = torch.zeros(len(size) + 1, len(size) + 1, dtype=torch.float64)
    change.diagonal()[:-1] = size
    if compressed.mean_outside > DEPENDENT * float(compressed.mean.norm()):
        change[-1, -1] = 1 / compressed.mean_outside
        change[:-1, -1] = -size * compressed.mean / compressed.mean_outside
    return change


def _excess(seen: Tensor, unseen: Tensor) -> Tensor:
    """(channels,) of what is missed (snapshots, channels, points), see `LeftOutBases.excess`."""
    typical = seen.square().mean(0).sqrt().clamp(min=torch.finfo(seen.dtype).tiny)
    growth = (_quantile(unseen / typical) / _quantile(seen / typical)).square()
    return (growth - 1).clamp(min=0) * seen.square().mean((0, 2))


def _spread(num_points: int, most: int) -> Tensor:
    """Numbers of evenly spread points, or of all if they are no more than `most`."""
    count = min(num_points, most)
    return torch.linspace(0, num_points - 1, count, dtype=torch.float64).round().long()


def _quantile(errors: Tensor) -> Tensor:
    """(channels,) 90% quantile of the size of errors (snapshots, channels, points)."""
    sizes = errors.abs().transpose(0, 1).flatten(1).numpy()
    return torch.as_tensor(np.quantile(sizes, 0.9, axis=1)).clamp(min=1e-300)
