"""Mean and low-rank factor of more columns than can be held together.

A new piece of columns is merged by a singular value decomposition of [factor, piece], of which the
leading directions are kept. In float64: the squared singular values of a smooth field span more
than the digits of float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from smore.data import ColumnStore, StoredBlock, chunks_together
from smore.runtime import ALONE, Team

# What a chunk of [factor, piece] takes, where these are on disk.
BYTES_AT_ONCE = 2**24


class StreamedFactor:
    """Mean and low-rank factor of columns that come in pieces, in one pass.

    Args:
        num_points: length of a column.
        rank: most columns of the factor.
        centred: whether deviations from the mean are factored, or the columns as they are.
        team: the processes that hold the other points of the columns.
    """

    def __init__(self, num_points: int, rank: int, *, centred: bool, team: Team = ALONE) -> None:
        self.rank, self.centred, self.team = rank, centred, team
        self.count = 0
        self.left_out = 0.0
        self.mean = torch.zeros(num_points, dtype=torch.float64)
        self.factor = torch.zeros(num_points, 0, dtype=torch.float64)
        self.energies = torch.zeros(0, dtype=torch.float64)

    def add(self, columns: Tensor) -> None:
        """Merge columns (points, some)."""
        merged, self.mean = merged_columns(
            self.factor, self.mean, columns, self.count, self.centred
        )
        self.count += columns.shape[1]
        # The smaller matrix; that of points against points only if they are all here.
        tall = self.team.size > 1 or merged.shape[0] >= merged.shape[1]
        gram = merged.T @ merged if tall else merged @ merged.T
        if tall:
            self.team.add_up(gram)
        self.energies, vectors, lost = _leading(gram, self.rank)
        self.left_out += lost
        self.factor = merged @ vectors if tall else vectors * self.energies.sqrt()


class StoredFactor:
    """The same of a stored block, with [factor, mean] in a store of its own.

    For each piece of columns there is a pass that sums the Gram matrix of [factor, piece] over
    points, and one that writes the next factor.
    """

    def __init__(self, block: StoredBlock, rank: int, *, centred: bool) -> None:
        self.source, self.rank, self.centred = block, rank, centred
        self.count = 0
        self.left_out = 0.0
        self.energies = torch.zeros(0, dtype=torch.float64)
        self.block: StoredBlock | None = None

    def add(self, columns: slice) -> None:
        """Merge some columns of the block."""
        gram: Tensor | float = 0.0
        for merged, _ in self._merged(columns):
            gram += merged.T @ merged
        assert isinstance(gram, Tensor)
        self.source.team.add_up(gram)
        self.energies, vectors, lost = _leading(gram, self.rank)
        self.left_out += lost
        store = ColumnStore(
            self.source.num_points,
            vectors.shape[1] + 1,
            self.source.store.folder,
            self.source.store.tile,
        )
        point = 0
        for merged, mean in self._merged(columns):
            both = torch.cat([merged @ vectors, mean[:, None]], dim=1)
            store.write(0, point, both.T.to(torch.float32).numpy())
            point += len(both)
        self.count += columns.stop - columns.start
        self.block = self.source.on_store(store)

    def _merged(self, columns: slice) -> Iterator[tuple[Tensor, Tensor]]:
        """[factor, piece] and the mean, of some points after the others."""
        piece = self.source.select(columns)
        kept = [] if self.block is None else [self.block]
        width = piece.num_columns + sum(block.num_columns for block in kept)
        size = max(BYTES_AT_ONCE // (8 * width), 1)
        for new, *old in chunks_together(piece, *kept, size=size):
            known = old[0].values.double() if old else torch.zeros(new.num_points, 1).double()
            yield merged_columns(known[:, :-1], known[:, -1], new.values, self.count, self.centred)


def merged_columns(
    factor: Tensor, mean: Tensor, columns: Tensor, before: int, centred: bool
) -> tuple[Tensor, Tensor]:
    """What has the covariance of all columns together, and their mean, at some points.

    Args:
        factor: (points, rank) of the columns so far.
        mean: (points,) of these.
        columns: (points, some) new ones.
        before: how many there were.
        centred: see `StreamedFactor`.
    """
    columns = columns.to("cpu", torch.float64)
    if not centred:
        return torch.cat([factor, columns], dim=1), mean
    more, own_mean = columns.shape[1], columns.mean(1)
    gap = own_mean - mean
    # Two samples with different means vary about the common one by this much more.
    between = math.sqrt(before * more / (before + more)) * gap
    parts = [factor, columns - own_mean[:, None], between[:, None]]
    return torch.cat(parts, dim=1), mean + gap * (more / (before + more))


def _leading(gram: Tensor, rank: int) -> tuple[Tensor, Tensor, float]:
    """Leading eigenvalues, falling, with their vectors, and the sum of the others."""
    energies, vectors = torch.linalg.eigh(gram)
    energies, vectors = energies.flip(0).clamp(min=0), vectors.flip(1)
    return energies[:rank], vectors[:, :rank], float(energies[rank:].sum())
