"""From trajectories to blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data.blocks.block import Block
from smore.data.blocks.scratch_block import AnyBlock, StoredBlock, StoredPlaces
from smore.data.coordinates import CoordinateMap
from smore.data.fields.scratch_copy import stored
from smore.data.fields.scratch_fields import StoredFields
from smore.data.mesh import Mesh
from smore.data.normalization import Normalization
from smore.data.sequence import Sequence
from smore.data.trajectories import Trajectories
from smore.errors import DataError
from smore.runtime import ALONE, Team

# Evaluating the basis at a point costs about as much as this many columns of the residual there.
BASIS_COST = 1000


def make_blocks(
    trajectories: Trajectories,
    normalization: Normalization,
    coordinate_map: CoordinateMap,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    team: Team = ALONE,
) -> list[AnyBlock]:
    """One block per mesh; snapshots are numbered in the order of `trajectories`.

    Meshes that are different selections of the same points become one block with a mask. Lazy
    trajectories become a stored block.

    Raises:
        DataError: values missing now and then in a team, whose processes would have to agree on
            which snapshots have the same gaps.
    """
    if trajectories.is_lazy:
        alone = _stored_block(stored(trajectories), normalization, coordinate_map, dtype, device)
        return [replace(alone, team=team)]
    trajectories = _on_common_points(trajectories)
    starts = np.cumsum([0] + [sequence.num_snapshots for sequence in trajectories])
    by_mesh: dict[int, list[int]] = {}
    for number, sequence in enumerate(trajectories):
        by_mesh.setdefault(id(sequence.mesh), []).append(number)

    blocks: list[AnyBlock] = []
    for numbers in by_mesh.values():
        sequences = [trajectories.sequences[number] for number in numbers]
        mesh = sequences[0].mesh
        snapshots = np.concatenate([np.arange(starts[n], starts[n + 1]) for n in numbers])
        block = Block(
            coords=torch.as_tensor(coordinate_map(mesh.places(slice(None)))).to(device, dtype),
            weights=torch.tensor(mesh.measures(slice(None))).to(device, dtype),
            values=_columns(sequences, normalization, dtype).to(device),
            snapshots=torch.as_tensor(snapshots).to(device),
            num_channels=trajectories.num_channels,
            team=team,
        )
        blocks.append(_masked(block, sequences))
    if team.size > 1 and team.any(any(block.observed is not None for block in blocks)):
        raise DataError(
            "several processes cannot share data in which points are missing in some snapshots "
            "only; fit them in one process"
        )
    return blocks


def _stored_block(
    trajectories: Trajectories,
    normalization: Normalization,
    coordinate_map: CoordinateMap,
    dtype: torch.dtype,
    device: torch.device | str,
) -> StoredBlock:
    """All snapshots of trajectories in a store, on the one mesh that they have."""
    sources = [each.source for each in trajectories if isinstance(each.source, StoredFields)]
    store, mesh = sources[0].store, trajectories.sequences[0].mesh
    index = np.concatenate([source.index for source in sources])  # (snapshots, channels)
    columns = index.ravel()
    shift = np.broadcast_to(normalization.shift_array, index.shape).ravel()
    scale = np.broadcast_to(normalization.scale_array, index.shape).ravel()
    return StoredBlock(
        store=store.columns,
        columns=columns,
        shift=(shift - store.origin[columns]).astype(np.float32),
        scale=scale.astype(np.float32),
        places=StoredPlaces(mesh, store.seen_points, coordinate_map),
        snapshots=torch.arange(len(index), device=device),
        num_channels=trajectories.num_channels,
        dtype=dtype,
        device=torch.device(device),
    )


def _on_common_points(trajectories: Trajectories) -> Trajectories:
    """All sequences on the union of their points, where that is less work; else as they are."""
    meshes = trajectories.meshes
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
    device = block.device
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
