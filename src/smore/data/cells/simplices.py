"""Cells cut into triangles or tetrahedra between their own nodes: to be drawn, and looked into."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from smore.data.cells.kinds import KINDS, POLYGON, Face
from smore.data.cells.tessellation import IntArray, Tessellation


def simplices_of(cells: Tessellation) -> tuple[IntArray, NDArray[np.intp]]:
    """(simplices, dim + 1) nodes, and (simplices,) the cell that each was cut from.

    A polygon is cut from its first node, so it should be convex; a cell in space from its first
    node to all faces that do not have it. Faces that two cells share may be cut in two ways.
    """
    found, owners = [], []
    for kind, which, nodes in cells.alike():
        for corners in _cuts(kind, nodes.shape[1]):
            found.append(nodes[:, list(corners)])
            owners.append(which)
    order = np.argsort(np.concatenate(owners), kind="stable")
    return np.concatenate(found)[order], np.concatenate(owners)[order]


def outline_of(kind: int, count: int) -> Face:
    """The nodes of a plane cell, once around."""
    return tuple(range(count)) if kind == POLYGON else KINDS[kind].outline


def _cuts(kind: int, count: int) -> list[Face]:
    known = KINDS[kind]
    if known.dim == 1:
        inner = [0, *range(2, count), 1]
        return list(pairwise(inner))
    if known.dim == 2:
        return list(_fan(outline_of(kind, count)))
    # Faces that have the first node are seen edge-on from it.
    return [(0, *triangle) for face in known.faces if 0 not in face for triangle in _fan(face)]


def _fan(outline: Face) -> Iterable[Face]:
    return ((outline[0], *pair) for pair in pairwise(outline[1:]))


def boundary_of(simplices: IntArray) -> IntArray:
    """(facets, dim) the facets that only one simplex has."""
    dim = simplices.shape[1] - 1
    sides = np.concatenate([np.delete(simplices, corner, axis=1) for corner in range(dim + 1)])
    _, first, count = np.unique(
        np.sort(sides, axis=1), axis=0, return_index=True, return_counts=True
    )
    return sides[first[count == 1]]
