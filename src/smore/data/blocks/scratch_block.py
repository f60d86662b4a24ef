"""A block whose values are in a scratch file: the same sums, a chunk of points at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data.blocks._prefetch import prefetched
from smore.data.blocks.block import Block, codes_of
from smore.data.coordinates import CoordinateMap
from smore.data.fields.column_store import ColumnStore
from smore.data.mesh import Mesh
from smore.runtime import ALONE, Team, counted_pass

# Points of a chunk where nobody says how many.
DEFAULT_CHUNK = 2**12


@dataclass(frozen=True, eq=False)
class StoredPlaces:
    """The points of a stored block, written out for a few at a time.

    Args:
        mesh: where they are.
        points: their numbers in the mesh; None for all.
        coordinate_map: from the user's coordinates to the decoder's.
        channels: rows of each point, see `Block.stacked`; 1 where points are rows.
    """

    mesh: Mesh
    points: NDArray[np.intp] | None
    coordinate_map: CoordinateMap
    channels: int = 1

    def read(self, which: slice) -> tuple[Tensor, Tensor]:
        """Decoder coordinates (some, d) and quadrature weights (some,), float64, of some rows."""
        rows = np.arange(which.start, which.stop)
        points = rows // self.channels if self.channels > 1 else which
        points = points if self.points is None else self.points[points]
        coords = torch.as_tensor(self.coordinate_map(self.mesh.places(points)))
        if self.channels > 1:
            number = torch.as_tensor(rows % self.channels).to(coords)
            coords = torch.cat([coords, number[:, None]], dim=1)
        return coords, torch.tensor(self.mesh.measures(points))


@dataclass(frozen=True, eq=False)
class StoredBlock:
    """Snapshots on common points, see `Block`; every value is known.

    Args:
        store: where the values are.
        columns: (columns,) which columns of the store these are.
        shift: (columns,) what is taken away from the stored numbers, float32,
        scale: (columns,) and what they are divided by then.
        places: the points.
        snapshots: (snapshots,) rows of the latent table; channels of a snapshot are adjacent.
        num_channels: channels per snapshot.
        dtype: of chunks.
        device: of chunks.
        loading: (columns,) as in `Block`.
        team: as in `Block`.
        rows_per_point: channels that chunks have as rows, see `stacked`.
    """

    store: ColumnStore
    columns: NDArray[np.intp]
    shift: NDArray[np.float32]
    scale: NDArray[np.float32]
    places: StoredPlaces
    snapshots: Tensor
    num_channels: int
    dtype: torch.dtype
    device: torch.device
    loading: Tensor | None = None
    team: Team = ALONE
    rows_per_point: int = 1

    # A gap in one snapshot would be one in all, and its point not stored.
    observed = None
    patterns = None

    @property
    def num_points(self) -> int:
        return self.store.num_points * self.rows_per_point

    @property
    def total_points(self) -> int:
        """Of all processes."""
        return int(self.team.total(self.num_points))

    @property
    def num_columns(self) -> int:
        return len(self.columns) // self.rows_per_point

    @property
    def tile(self) -> int:
        """Rows that are read at once."""
        return self.store.tile * self.rows_per_point

    def stacked(self) -> StoredBlock:
        """See `Block.stacked`; chunks are stacked as they are read."""
        return replace(self, rows_per_point=self.num_channels, num_channels=1)

    @property
    def num_values(self) -> int:
        return self.num_points * self.num_columns

    def whole(self, size: int | None) -> None:
        """Never in memory: see `Block.whole`."""

    def parts(self) -> list[StoredBlock]:
        """In one: so many chunks that single ones do not count, see `Block.parts`."""
        return [self]

    def chunks(self, size: int | None) -> Iterator[Block]:
        """Pieces of at most `size` points; the next ones are read while one is worked on."""
        return counted_pass(self._cut(size), lambda chunk: chunk.num_points, self.num_points)

    def _cut(self, size: int | None) -> Iterator[Block]:
        size = size or DEFAULT_CHUNK
        unit = self.tile * max(size // self.tile, 1)
        starts = range(0, self.num_points, unit)
        ranges = (slice(start, min(start + unit, self.num_points)) for start in starts)
        for piece in prefetched(self.read, ranges):
            yield from piece.cut(size)

    def read(self, points: slice) -> Block:
        """Some of the points, whole tiles of the store."""
        first, last = (end // self.rows_per_point for end in (points.start, points.stop))
        chunk = self._read(slice(first, last))
        return chunk.stacked() if self.rows_per_point > 1 else chunk

    def _read(self, points: slice) -> Block:
        coords, weights = self.places.read(points)
        values = torch.empty(points.stop - points.start, len(self.columns), dtype=self.dtype)
        shift, scale = torch.tensor(self.shift)[:, None], torch.tensor(self.scale)[:, None]
        for tile in range(points.start // self.store.tile, -(-points.stop // self.store.tile)):
            part = torch.from_numpy(self.store.read(tile, self.columns))
            here = self.store.points_of(tile)
            rows = slice(here.start - points.start, here.stop - points.start)
            values[rows] = part.sub_(shift).div_(scale).T
        return Block(
            coords=coords.to(self.device, self.dtype),
            weights=weights.to(self.device, self.dtype),
            values=values.to(self.device),
            snapshots=self.snapshots,
            num_channels=self.num_channels * self.rows_per_point,
            loading=self.loading,
        )

    def at(self, points: Tensor) -> Block:
        """Some of the points, in the given order; they are held in memory."""
        order = points.argsort()
        tiles = torch.div(points[order], self.tile, rounding_mode="floor")
        kept = []
        for tile in tiles.unique().tolist():
            here = slice(tile * self.tile, min((tile + 1) * self.tile, self.num_points))
            kept.append(self.read(here).at(points[order][tiles == tile] - here.start))
        sorted_points = replace(
            kept[0],
            coords=torch.cat([each.coords for each in kept]),
            weights=torch.cat([each.weights for each in kept]),
            values=torch.cat([each.values for each in kept]),
        )
        return sorted_points.at(order.argsort())

    def on_store(self, store: ColumnStore) -> StoredBlock:
        """The columns of another store on the same rows, each a snapshot of one channel."""
        return replace(
            self,
            store=store,
            places=replace(self.places, channels=self.places.channels * self.rows_per_point),
            rows_per_point=1,
            columns=np.arange(store.num_columns),
            shift=np.zeros(store.num_columns, dtype=np.float32),
            scale=np.ones(store.num_columns, dtype=np.float32),
            snapshots=torch.arange(store.num_columns, device=self.device),
            num_channels=1,
            loading=None,
        )

    def codes(self, latents: Tensor) -> Tensor:
        """See `Block.codes`."""
        return codes_of(self.snapshots, latents)


AnyBlock = Block | StoredBlock
