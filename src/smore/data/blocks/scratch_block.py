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
    """

    mesh: Mesh
    points: NDArray[np.intp] | None
    coordinate_map: CoordinateMap

    def read(self, which: slice) -> tuple[Tensor, Tensor]:
        """Decoder coordinates (some, d) and quadrature weights (some,), float64."""
        points = which if self.points is None else self.points[which]
        coords = torch.as_tensor(self.coordinate_map(self.mesh.places(points)))
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

    # A gap in one snapshot would be one in all, and its point not stored.
    observed = None
    patterns = None

    @property
    def num_points(self) -> int:
        return self.store.num_points

    @property
    def total_points(self) -> int:
        """Of all processes."""
        return int(self.team.total(self.num_points))

    @property
    def num_columns(self) -> int:
        return len(self.columns)

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
        for (chunk,) in chunks_together(self, size=size):
            yield chunk

    def read(self, points: slice) -> Block:
        """Some of the points, whole tiles of the store."""
        coords, weights = self.places.read(points)
        values = torch.empty(points.stop - points.start, self.num_columns, dtype=self.dtype)
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
            num_channels=self.num_channels,
            loading=self.loading,
        )

    def at(self, points: Tensor) -> Block:
        """Some of the points, in the given order; they are held in memory."""
        order = points.argsort()
        tiles = torch.div(points[order], self.store.tile, rounding_mode="floor")
        kept = []
        for tile in tiles.unique().tolist():
            here = self.store.points_of(tile)
            kept.append(self.read(here).at(points[order][tiles == tile] - here.start))
        sorted_points = replace(
            kept[0],
            coords=torch.cat([each.coords for each in kept]),
            weights=torch.cat([each.weights for each in kept]),
            values=torch.cat([each.values for each in kept]),
        )
        return sorted_points.at(order.argsort())

    def on_store(self, store: ColumnStore) -> StoredBlock:
        """The columns of another store on the same points, each a snapshot of one channel."""
        return replace(
            self,
            store=store,
            columns=np.arange(store.num_columns),
            shift=np.zeros(store.num_columns, dtype=np.float32),
            scale=np.ones(store.num_columns, dtype=np.float32),
            snapshots=torch.arange(store.num_columns, device=self.device),
            num_channels=1,
            loading=None,
        )

    def select(self, which: slice | NDArray[np.integer]) -> StoredBlock:
        """Some of the columns, as if each were a snapshot of one channel."""
        columns = self.columns[which]
        return replace(
            self,
            columns=columns,
            shift=self.shift[which],
            scale=self.scale[which],
            snapshots=torch.arange(len(columns), device=self.device),
            num_channels=1,
        )

    def codes(self, latents: Tensor) -> Tensor:
        """See `Block.codes`."""
        return codes_of(self.snapshots, latents)


AnyBlock = Block | StoredBlock


def chunks_together(*blocks: AnyBlock, size: int | None) -> Iterator[tuple[Block, ...]]:
    """The chunks of several blocks on the same points, side by side."""
    chunks = _cut_together(blocks, size)
    return counted_pass(chunks, lambda chunk: chunk[0].num_points, blocks[0].num_points)


def _cut_together(blocks: tuple[AnyBlock, ...], size: int | None) -> Iterator[tuple[Block, ...]]:
    in_memory = [block for block in blocks if isinstance(block, Block)]
    if len(in_memory) == len(blocks):
        yield from zip(*(block.cut(size) for block in in_memory), strict=True)
        return
    size = size or DEFAULT_CHUNK
    tiles = [block.store.tile for block in blocks if isinstance(block, StoredBlock)]
    unit = max(tiles) * max(size // max(tiles), 1)
    num_points = blocks[0].num_points
    ranges = (slice(start, min(start + unit, num_points)) for start in range(0, num_points, unit))

    def read(points: slice) -> tuple[Block, ...]:
        return tuple(block.read(points) for block in blocks)

    for pieces in prefetched(read, ranges):
        yield from zip(*(piece.cut(size) for piece in pieces), strict=True)
