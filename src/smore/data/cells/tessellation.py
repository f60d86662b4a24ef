"""The cells of a mesh: which nodes each has, and what follows from that."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smore.data.cells.kinds import FILLS_NOTHING, KINDS, POLYGON, REORDERED
from smore.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tessellation:
    """Cells of one dimension, of any kinds, between nodes.

    Attributes:
        nodes: (nodes, dim) float64 where they are.
        kinds: (cells,) uint8, see `KINDS`.
        offsets: (cells + 1,) where the nodes of a cell begin and end in `corners`.
        corners: numbers of nodes, cell after cell.
        on_cells: whether the points of the mesh are the centres of the cells, not the nodes.
    """

    nodes: FloatArray = field(repr=False)
    kinds: NDArray[np.uint8] = field(repr=False)
    offsets: IntArray = field(repr=False)
    corners: IntArray = field(repr=False)
    on_cells: bool

    @classmethod
    def checked(
        cls,
        nodes: FloatArray,
        kinds: NDArray,
        offsets: NDArray,
        corners: NDArray,
        *,
        on_cells: bool,
    ) -> Tessellation:
        """The cells that a file tells of, if these can be cells.

        Raises:
            DataError: unknown kinds, nodes that do not exist, or the wrong number of them.
        """
        kinds, offsets, corners = (np.asarray(each) for each in (kinds, offsets, corners))
        if len(offsets) != len(kinds) + 1 or not len(kinds):
            raise DataError(
                f"expected one or more cells with as many ends, got {len(kinds)} cells and "
                f"{max(len(offsets) - 1, 0)} ends; the file may be damaged"
            )
        offsets, corners = offsets.astype(np.int64), corners.astype(np.int64)
        counts = np.diff(offsets)
        if offsets[0] != 0 or (counts < 1).any() or offsets[-1] != len(corners):
            raise DataError(
                f"expected cells whose nodes follow each other in a list of {len(corners)}, got "
                f"ends up to {offsets[-1]}; the file may be damaged"
            )
        if len(corners) and not (corners.min() >= 0 and corners.max() < len(nodes)):
            raise DataError(
                f"expected cells between {len(nodes)} nodes, counted from 0, got nodes "
                f"{corners.min()} to {corners.max()}; the file may be damaged"
            )
        for kind in np.unique(kinds).tolist():
            known = KINDS.get(kind)
            if known is None:
                raise DataError(
                    f"expected cells out of {', '.join(each.name for each in KINDS.values())}, got "
                    f"VTK's kind {kind}; convert them (ParaView: Tetrahedralize or Triangulate)"
                )
            here = counts[kinds == kind]
            if (here < 3).any() if kind == POLYGON else (here != known.num_nodes).any():
                raise DataError(
                    f"expected {known.num_nodes or '3 or more'} nodes of a {known.name}, got "
                    f"{here.min()} to {here.max()}; the file may be damaged"
                )
        if len({KINDS[kind].dim for kind in np.unique(kinds).tolist()}) != 1:
            raise DataError("expected cells of one dimension; see `filling`")
        return cls(
            np.asarray(nodes, np.float64), kinds.astype(np.uint8), offsets, corners, on_cells
        )

    @property
    def num_cells(self) -> int:
        return len(self.kinds)

    @property
    def num_points(self) -> int:
        """Of the mesh that has these cells."""
        return self.num_cells if self.on_cells else len(self.nodes)

    @cached_property
    def dim(self) -> int:
        """Of the cells: 2 for those of a surface, wherever it is."""
        return KINDS[int(self.kinds[0])].dim

    def alike(self) -> list[tuple[int, NDArray[np.intp], IntArray]]:
        """Cells by kind and number of nodes: (kind, which cells, (cells, nodes) their nodes)."""
        counts = np.diff(self.offsets)
        found = []
        for kind in np.unique(self.kinds).tolist():
            of_kind = np.flatnonzero(self.kinds == kind)
            for count in np.unique(counts[of_kind]).tolist():
                which = of_kind[counts[of_kind] == count]
                places = self.offsets[which][:, None] + np.arange(count)
                found.append((int(kind), which, self.corners[places]))
        return found

    def columns(self, order: Sequence[int]) -> Tessellation:
        """The same cells with the coordinates of their nodes in another order."""
        return replace(self, nodes=self.nodes[:, list(order)])

    @cached_property
    def digest(self) -> str:
        """A text that tells other cells from these."""
        digest = hashlib.sha256(str(self.on_cells).encode())
        for values in (self.nodes, self.kinds, self.offsets, self.corners):
            digest.update(np.ascontiguousarray(values).data)
        return digest.hexdigest()


def filling(
    kinds: NDArray, offsets: NDArray, corners: NDArray
) -> tuple[NDArray[np.uint8], IntArray, IntArray, NDArray[np.intp]]:
    """The cells of the highest dimension, as VTK orders them, and which of all cells they are.

    Files have the lines and faces of a boundary beside the cells that they bound.

    Raises:
        DataError: cells of a kind that nobody here knows, or none that fills anything.
    """
    kinds, offsets, corners = np.asarray(kinds), np.asarray(offsets), np.asarray(corners).copy()
    there = np.unique(kinds).tolist()
    for kind, (same, order) in REORDERED.items():
        if kind in there:
            which = np.flatnonzero(kinds == kind)
            places = _places(offsets, which, len(order))
            corners[places] = corners[places][:, list(order)]
            kinds = np.where(kinds == kind, same, kinds)
    dims = {kind: KINDS[kind].dim for kind in np.unique(kinds).tolist() if kind in KINDS}
    unknown = set(np.unique(kinds).tolist()) - set(dims) - FILLS_NOTHING
    if unknown or not dims:
        raise DataError(
            f"expected cells out of {', '.join(each.name for each in KINDS.values())}, got VTK's "
            f"kinds {', '.join(map(str, there)) or 'none'}; convert them (ParaView: Tetrahedralize "
            "or Triangulate)"
        )
    highest = [kind for kind, dim in dims.items() if dim == max(dims.values())]
    kept = np.flatnonzero(np.isin(kinds, highest))
    if len(kept) == len(kinds):
        return kinds.astype(np.uint8), offsets.astype(np.int64), corners.astype(np.int64), kept
    counts = np.diff(offsets)
    ends = np.concatenate([[0], np.cumsum(counts[kept])])
    chosen = corners[np.repeat(np.isin(np.arange(len(kinds)), kept), counts)]
    return kinds[kept].astype(np.uint8), ends.astype(np.int64), chosen.astype(np.int64), kept


def _places(offsets: NDArray, which: NDArray[np.intp], count: int) -> NDArray:
    if (np.diff(offsets)[which] != count).any():
        raise DataError(f"expected {count} nodes of a pixel or voxel; the file may be damaged")
    return offsets[which][:, None] + np.arange(count)
