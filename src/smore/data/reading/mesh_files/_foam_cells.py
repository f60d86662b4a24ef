"""From OpenFOAM's faces, with a cell on either side, to cells with nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smore.data.cells import polygon_kind
from smore.data.reading.mesh_files.frames import Cells
from smore.errors import DataError

Faces = tuple[NDArray, NDArray]
# Numbers of triangles and quadrilaterals around a cell: its kind and how many nodes it has.
SOLIDS = {(4, 0): (10, 4), (0, 6): (12, 8), (2, 3): (13, 6), (4, 1): (14, 5)}


def plane_cells(
    points: NDArray, faces: Faces, owner: NDArray, empty: NDArray[np.intp], num_cells: int
) -> tuple[NDArray, Cells]:
    """The polygons on one side of a case in the plane, and their points.

    Raises:
        DataError: cells that do not have one face on either side.
    """
    offsets, corners = faces
    if (np.bincount(owner[empty], minlength=num_cells) != 2).any():
        raise DataError("expected every cell to have two empty faces, one on either side")
    middles = np.add.reduceat(points[corners], offsets[:-1], axis=0) / np.diff(offsets)[:, None]
    pairs = empty[np.argsort(owner[empty], kind="stable")].reshape(num_cells, 2)
    axis = int(np.argmax(np.abs(middles[pairs[:, 1]] - middles[pairs[:, 0]]).sum(axis=0)))
    upper = middles[pairs[:, 1], axis] > middles[pairs[:, 0], axis]
    chosen = np.where(upper, pairs[:, 0], pairs[:, 1])
    counts = np.diff(offsets)[chosen]
    ends = np.concatenate([[0], np.cumsum(counts)])
    places = np.repeat(offsets[chosen] - ends[:-1], counts) + np.arange(ends[-1])
    used, nodes = np.unique(corners[places], return_inverse=True)
    flat = points[used].copy()
    flat[:, axis] = flat[:, axis].mean()
    kinds = np.array([polygon_kind(count) for count in range(int(counts.max()) + 1)])[counts]
    return flat, (kinds, ends, nodes.ravel())


def cells_of(
    points: NDArray, faces: Faces, owner: NDArray, neighbour: NDArray, num_cells: int
) -> Cells:
    """Tetrahedra, hexahedra, wedges and pyramids.

    Raises:
        DataError: other polyhedra.
    """
    offsets, corners = faces
    sizes = np.diff(offsets)
    both = np.concatenate([owner, neighbour])
    numbers = np.concatenate([np.arange(len(owner)), np.arange(len(neighbour))])
    three, four = (
        np.bincount(both[sizes[numbers] == size], minlength=num_cells) for size in (3, 4)
    )
    others = np.bincount(both, minlength=num_cells) - three - four
    kinds, counts = np.zeros(num_cells, np.int64), np.zeros(num_cells, np.int64)
    for (triangles, quads), (kind, count) in SOLIDS.items():
        here = (three == triangles) & (four == quads) & (others == 0)
        kinds[here], counts[here] = kind, count
    if (unknown := int((kinds == 0).sum())) > 0:
        raise DataError(
            f"expected tetrahedra, hexahedra, wedges and pyramids, {unknown} of {num_cells} cells "
            "are other polyhedra; split them (ParaView: Tetrahedralize) and save the case as .pvd"
        )
    ends = np.concatenate([[0], np.cumsum(counts)])
    nodes = np.empty(int(ends[-1]), np.int64)
    # Faces of a cell next to each other, triangles first.
    order = numbers[np.lexsort((numbers, sizes[numbers], both))]
    first = np.concatenate([[0], np.cumsum(three + four)])
    for (triangles, quads), (kind, count) in SOLIDS.items():
        which = np.flatnonzero(kinds == kind)
        if not len(which):
            continue
        rows = order[first[which][:, None] + np.arange(triangles + quads)]
        small = corners[offsets[rows[:, :triangles]][..., None] + np.arange(3)]
        large = corners[offsets[rows[:, triangles:]][..., None] + np.arange(4)]
        nodes[ends[which][:, None] + np.arange(count)] = _turned(
            kind, _nodes(kind, small, large), points
        )
    return kinds, ends, nodes


def _nodes(kind: int, small: NDArray, large: NDArray) -> NDArray:
    """(cells, nodes) from triangles (cells, n, 3) and quadrilaterals (cells, n, 4)."""
    if kind == 10:
        return np.column_stack([small[:, 0], _other(small[:, 0], small[:, 1])])
    if kind == 14:
        return np.column_stack([large[:, 0], _other(large[:, 0], small[:, 0])])
    base, sides = (small[:, 0], large) if kind == 13 else (large[:, 0], large[:, 1:])
    return np.column_stack([base, _above(base, sides)])


def _turned(kind: int, nodes: NDArray, points: NDArray) -> NDArray:
    """With the base turned as VTK has it: towards the rest of the cell, away from it in a wedge."""
    num_base = {10: 3, 13: 3}.get(kind, 4)
    base, rest = points[nodes[:, :num_base]], points[nodes[:, num_base:]]
    normal = np.cross(base[:, 1] - base[:, 0], base[:, 2] - base[:, 0])
    up = np.einsum("ni,ni->n", normal, rest.mean(axis=1) - base.mean(axis=1))
    wrong = (up < 0) if kind != 13 else (up > 0)
    order = np.arange(nodes.shape[1])
    order[1:num_base] = order[1:num_base][::-1]
    if nodes.shape[1] > num_base + 1:
        order[num_base + 1 :] = order[num_base + 1 :][::-1]
    return np.where(wrong[:, None], nodes[:, order], nodes)


def _other(base: NDArray, face: NDArray) -> NDArray:
    """The only node of a face that is not in the base."""
    outside = ~(face[:, :, None] == base[:, None, :]).any(axis=2)
    if (outside.sum(axis=1) != 1).any():
        raise DataError("expected faces of a cell that share an edge")
    return face[outside]


def _above(base: NDArray, sides: NDArray) -> NDArray:
    """For each node of the base the one that an edge of the sides leads to."""
    found = np.full(base.shape, -1)
    after = np.roll(base, -1, axis=1)
    for turn in (1, -1):
        ahead, behind = np.roll(sides, -turn, axis=2), np.roll(sides, turn, axis=2)
        for column in range(base.shape[1]):
            here = (sides == base[:, column, None, None]) & (ahead == after[:, column, None, None])
            cell, face, place = np.nonzero(here)
            found[cell, column] = behind[cell, face, place]
    if (found < 0).any():
        raise DataError("expected cells whose faces share their edges")
    return found
