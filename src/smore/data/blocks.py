"""The engine's unit of work: some points, and every snapshot known there.

A shared mesh is one block; sequences with meshes of their own are many. Every reduction over the
data is a sum over blocks and, inside a block, over chunks of points, so ragged data, missing values
and bounded memory are the same code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from smore.data.coordinates import CoordinateMap
from smore.data.normalization import Normalization
from smore.data.sequence import Sequence
from smore.data.trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class Block:
    """Snapshots on common points, in the decoder's coordinates and normalised units.

    Args:
        coords: (points, d) decoder coordinates.
        weights: (points,) quadrature weights.
        values: (points, snapshots · channels), one column per snapshot and channel. Points come
            first so that a chunk of points is contiguous memory.
        snapshots: (snapshots,) rows of the latent table; channels of a snapshot are adjacent.
        num_channels: channels per snapshot.
        observed: (points, snapshots · channels) booleans, or None when every value is known.
    """

    coords: Tensor
    weights: Tensor
    values: Tensor
    snapshots: Tensor
    num_channels: int
    observed: Tensor | None = None

    @property
    def num_points(self) -> int:
        return len(self.coords)

    def chunks(self, size: int | None) -> Iterator[Block]:
        """The same block in pieces of at most `size` points."""
        if size is None or size >= self.num_points:
            yield self
            return
        for start in range(0, self.num_points, size):
            piece = slice(start, start + size)
            yield replace(
                self,
                coords=self.coords[piece],
                weights=self.weights[piece],
                values=self.values[piece],
                observed=None if self.observed is None else self.observed[piece],
            )

    def codes(self, latents: Tensor) -> Tensor:
        """This block's latent codes, one row per column: (all snapshots, C, p) -> (columns, p)."""
        if len(self.snapshots) == len(latents):  # one block holds every snapshot, in order
            return latents.flatten(0, 1)
        return latents[self.snapshots].flatten(0, 1)


def make_blocks(
    trajectories: Trajectories,
    normalization: Normalization,
    coordinate_map: CoordinateMap,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> list[Block]:
    """One block per mesh; snapshots are numbered in the order of `trajectories`."""
    starts = np.cumsum([0] + [len(sequence.times) for sequence in trajectories.sequences])
    by_mesh: dict[int, list[int]] = {}
    for number, sequence in enumerate(trajectories.sequences):
        by_mesh.setdefault(id(sequence.mesh), []).append(number)

    blocks = []
    for numbers in by_mesh.values():
        sequences = [trajectories.sequences[number] for number in numbers]
        mesh = sequences[0].mesh
        snapshots = np.concatenate([np.arange(starts[n], starts[n + 1]) for n in numbers])
        blocks.append(
            Block(
                coords=torch.as_tensor(coordinate_map(mesh.coords)).to(device, dtype),
                weights=torch.as_tensor(np.array(mesh.weights)).to(device, dtype),
                values=_columns(sequences, normalization, dtype).to(device),
                snapshots=torch.as_tensor(snapshots).to(device),
                num_channels=trajectories.num_channels,
                observed=_observed_columns(sequences, device),
            )
        )
    return blocks


def _columns(sequences: list[Sequence], normalization: Normalization, dtype: torch.dtype) -> Tensor:
    num_points = sequences[0].fields.shape[-1]
    num_columns = sum(sequence.fields[..., 0].size for sequence in sequences)
    columns = torch.empty(num_points, num_columns, dtype=dtype)
    start = 0
    for sequence in sequences:
        rows = normalization.apply(sequence.fields).reshape(-1, num_points)
        columns[:, start : start + len(rows)] = torch.as_tensor(rows).T
        start += len(rows)
    return columns


def _observed_columns(sequences: list[Sequence], device: torch.device | str) -> Tensor | None:
    if all(sequence.observed is None for sequence in sequences):
        return None
    masks = [
        np.ones(sequence.fields.shape, dtype=bool)
        if sequence.observed is None
        else sequence.observed
        for sequence in sequences
    ]
    flat = np.concatenate([mask.reshape(-1, mask.shape[-1]) for mask in masks])
    return torch.as_tensor(np.ascontiguousarray(flat.T)).to(device)
