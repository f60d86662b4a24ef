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

from smore.runtime import ALONE, Team, counted_pass


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
        team: the processes that hold the other points; whoever sums over points adds up over them.
    """

    coords: Tensor
    weights: Tensor
    values: Tensor
    snapshots: Tensor
    num_channels: int
    observed: Tensor | None = None
    patterns: Tensor | None = None
    loading: Tensor | None = None
    team: Team = ALONE

    @property
    def num_points(self) -> int:
        return len(self.coords)

    @property
    def total_points(self) -> int:
        """Of all processes."""
        return int(self.team.total(self.num_points))

    @property
    def num_columns(self) -> int:
        return self.values.shape[1]

    @property
    def num_values(self) -> int:
        """How many values are known."""
        return self.values.numel() if self.observed is None else int(self.observed.sum())

    @property
    def dtype(self) -> torch.dtype:
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        return self.values.device

    def with_mask(self, observed: Tensor | None) -> Block:
        """The same values, known only where `observed` (points, snapshots · channels) says so."""
        if observed is None:
            return replace(self, observed=None, patterns=None)
        bits = np.packbits(observed.T.cpu().numpy(), axis=1)
        _, numbers = np.unique(bits, axis=0, return_inverse=True)
        patterns = torch.as_tensor(numbers.ravel()).to(observed.device)
        return replace(self, observed=observed, patterns=patterns)

    def whole(self, size: int | None) -> Block | None:
        """All points, if they are in memory and no more than `size`."""
        return self if size is None or size >= self.num_points else None

    def parts(self) -> list[Block]:
        """The same block in some pieces, with borders that hardly depend on the team's size."""
        return [self.at(points) for points in self.team.parts(self.total_points)]

    def chunks(self, size: int | None) -> Iterator[Block]:
        """The same block in pieces of at most `size` points."""
        return counted_pass(self.cut(size), lambda chunk: chunk.num_points, self.num_points)

    def cut(self, size: int | None) -> Iterator[Block]:
        """`chunks`, as part of a longer pass."""
        if size is None or size >= self.num_points:
            yield self
            return
        for start in range(0, self.num_points, size):
            yield self.read(slice(start, start + size))

    def read(self, points: slice) -> Block:
        """A range of points."""
        return self.at(points)

    def at(self, points: slice | Tensor) -> Block:
        """Some of the points, in the given order."""
        return replace(
            self,
            coords=self.coords[points],
            weights=self.weights[points],
            values=self.values[points],
            observed=None if self.observed is None else self.observed[points],
        )

    def stacked(self) -> Block:
        """The same values with a row for every point and channel, and a column for a snapshot.

        For decoders whose channels share one code: which channel a row belongs to becomes a last
        coordinate, and a sum over rows is one over channels too. Rows that are never observed are
        left out.
        """
        channels = self.num_channels
        number = torch.arange(channels).repeat(self.num_points).to(self.coords)
        coords = self.coords.repeat_interleave(channels, 0)
        block = replace(
            self,
            coords=torch.cat([coords, number[:, None]], dim=1),
            weights=self.weights.repeat_interleave(channels),
            values=_stacked(self.values, channels),
            num_channels=1,
            observed=None,
            patterns=None,
        )
        if self.observed is None:
            return block
        observed = _stacked(self.observed, channels)
        seen = observed.any(1)
        return block.at(seen).with_mask(None if observed[seen].all() else observed[seen])

    def channel(self, number: int) -> Block:
        """The columns of one channel, whose number becomes a last coordinate."""
        own = slice(number, None, self.num_channels)
        patterns = None
        if self.patterns is not None:  # numbered anew, alike for every chunk of a block
            patterns = torch.unique(self.patterns[own], return_inverse=True)[1]
        return replace(
            self,
            coords=with_channel(self.coords, number),
            values=self.values[:, own],
            num_channels=1,
            loading=None if self.loading is None else self.loading[own],
            observed=None if self.observed is None else self.observed[:, own],
            patterns=patterns,
        )

    @property
    def offset_loading(self) -> Tensor:
        """`loading`, written out."""
        return self.values.new_ones(self.num_columns) if self.loading is None else self.loading

    def codes(self, latents: Tensor) -> Tensor:
        """This block's latent codes, one row per column: (all snapshots, C, p) -> (columns, p)."""
        return codes_of(self.snapshots, latents)


def with_channel(coords: Tensor, number: int) -> Tensor:
    """Coordinates (points, d) with the number of a channel as their last column."""
    return torch.nn.functional.pad(coords, (0, 1), value=number)


def _stacked(values: Tensor, channels: int) -> Tensor:
    """(points, snapshots · channels) -> (points · channels, snapshots)."""
    return values.unflatten(1, (-1, channels)).transpose(1, 2).flatten(0, 1)


def codes_of(snapshots: Tensor, latents: Tensor) -> Tensor:
    """See `Block.codes`."""
    if len(snapshots) == len(latents):  # one block holds every snapshot, in order
        return latents.flatten(0, 1)
    return latents[snapshots].flatten(0, 1)
