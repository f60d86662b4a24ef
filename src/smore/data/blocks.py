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
from numpy.typing import NDArray
from torch import Tensor

from smore.data.coordinates import CoordinateMap
from smore.data.mesh import Mesh
from smore.data.normalization import Normalization
from smore.data.sequence import Sequence
from smore.data.trajectories import Trajectories

# Evaluating the basis at a point costs about as much as this many columns of the residual there.
BASIS_COST = 1000


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
        patterns: (snapshots · channels,) with `observed`: columns of equal number have equal masks,
            and with them equal Gram matrices. Numbers count from 0 without gaps.
        loading: (snapshots · channels,) how much of the decoder's offset each column carries: 1 for
            a snapshot, 0 for a direction in which snapshots differ. None means 1 for all.
    """

    coords: Tensor
    weights: Tensor
    values: Tensor
    snapshots: Tensor
    num_channels: int
    observed: Tensor | None = None
    patterns: Tensor | None = None
    loading: Tensor | None = None

    @property
    def num_points(self) -> int:
        return len(self.coords)

    def with_mask(self, observed: Tensor | None) -> Block:
        """The same values, known only where `observed` (points, snapshots · channels) says so."""
        if observed is None:
            return replace(self, observed=None, patterns=None)
        bits = np.packbits(observed.T.cpu().numpy(), axis=1)
        _, numbers = np.unique(bits, axis=0, return_inverse=True)
        patterns = torch.as_tensor(numbers.ravel()).to(observed.device)
        return replace(self, observed=observed, patterns=patterns)

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

    @property
    def offset_loading(self) -> Tensor:
        """`loading`, written out."""
        return self.values.new_ones(self.values.shape[1]) if self.loading is None else self.loading

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
    """One block per mesh; snapshots are numbered in the order of `trajectories`.

    Meshes that are different selections of the same points become one block with a mask.
    """
    trajectories = _on_common_points(trajectories)
    starts = np.cumsum([0] + [sequence.num_snapshots for sequence in trajectories])
    by_mesh: dict[int, list[int]] = {}
    for number, sequence in enumerate(trajectories):
        by_mesh.setdefault(id(sequence.mesh), []).append(number)

    blocks = []
    for numbers in by_mesh.values():
        sequences = [trajectories.sequences[number] for number in numbers]
        mesh = sequences[0].mesh
        snapshots = np.concatenate([np.arange(starts[n], starts[n + 1]) for n in numbers])
        block = Block(
            coords=torch.as_tensor(coordinate_map(mesh.coords)).to(device, dtype),
            weights=torch.as_tensor(np.array(mesh.weights)).to(device, dtype),
            values=_columns(sequences, normalization, dtype).to(device),
            snapshots=torch.as_tensor(snapshots).to(device),
            num_channels=trajectories.num_channels,
        )
        blocks.append(_masked(block, sequences))
    return blocks


def _on_common_points(trajectories: Trajectories) -> Trajectories:
    """All sequences on the union of their points, where that is less work; else as they are."""
    meshes = list({id(sequence.mesh): sequence.mesh for sequence in trajectories}.values())
    if len(meshes) == 1:
        return trajectories
    every = np.concatenate([mesh.coords for mesh in meshes])
    union, places = np.unique(every, axis=0, return_inverse=True)
    ends = np.cumsum([mesh.num_points for mesh in meshes])
    places_of = dict(zip(map(id, meshes), np.split(places.ravel(), ends[:-1]), strict=True))
    if any(len(np.unique(each)) < len(each) for each in places_of.values()):
        return trajectories  # two sensors in one place would become one
    num_columns = [sequence.num_snapshots * trajectories.num_channels for sequence in trajectories]
    apart = sum(
        sequence.mesh.num_points * columns
        for sequence, columns in zip(trajectories, num_columns, strict=True)
    )
    apart += BASIS_COST * len(every)
    if len(union) * (BASIS_COST + sum(num_columns)) >= apart:
        return trajectories
    # A point's quadrature weight is that of the first mesh which has it.
    weights = np.empty(len(union))
    weights[places.ravel()[::-1]] = np.concatenate([mesh.weights for mesh in meshes])[::-1]
    common = Mesh.scattered(union, weights)
    return replace(
        trajectories,
        sequences=tuple(_spread(each, common, places_of[id(each.mesh)]) for each in trajectories),
    )


def _spread(sequence: Sequence, common: Mesh, places: NDArray[np.intp]) -> Sequence:
    """The sequence on more points, unobserved where it has none."""
    shape = (*sequence.fields.shape[:2], common.num_points)
    fields = np.zeros(shape, dtype=sequence.fields.dtype)
    observed = np.zeros(shape, dtype=bool)
    fields[..., places] = sequence.fields
    observed[..., places] = True if sequence.observed is None else sequence.observed
    return Sequence(sequence.times, fields, common, observed)


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


def _masked(block: Block, sequences: list[Sequence]) -> Block:
    """`block` with what its sequences observed; without points that none of them ever did."""
    if all(sequence.observed is None for sequence in sequences):
        return block
    masks = [
        np.ones(sequence.fields.shape, dtype=bool)
        if sequence.observed is None
        else sequence.observed
        for sequence in sequences
    ]
    rows = np.concatenate([mask.reshape(-1, mask.shape[-1]) for mask in masks])
    seen = rows.any(axis=0)
    device = block.values.device
    if seen.any() and not seen.all():
        kept = torch.as_tensor(seen).to(device)
        block = replace(
            block,
            coords=block.coords[kept],
            weights=block.weights[kept],
            values=block.values[kept],
        )
        rows = rows[:, seen]
    if rows.all():  # land, say: nothing is missing where anything is known
        return block
    observed = torch.as_tensor(np.ascontiguousarray(rows.T)).to(device)
    return block.with_mask(observed)
