"""The kinds of cells that mesh files know, by VTK's numbers and order of corners.

A cell of the plane is the polygon through all its nodes, those on the middle of edges included; one
of space is what its faces, which are such polygons, enclose. That is all that integrals, pictures
and the question of what is inside need to know, so quadratic cells are no case of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

Face = tuple[int, ...]


@dataclass(frozen=True)
class Kind:
    """One kind of cell.

    Args:
        name: in words.
        dim: of the cell, 1 to 3.
        num_nodes: 0 for a polygon, which has as many as it likes.
        outline: of a cell of the plane, its nodes once around.
        faces: of a cell in space, each once around, seen from outside.
        beside: nodes in the middle of the cell or of a face, which bound nothing.
    """

    name: str
    dim: int
    num_nodes: int
    outline: Face = ()
    faces: tuple[Face, ...] = ()
    beside: Face = ()


def _halved(faces: tuple[Face, ...], middles: dict[frozenset[int], int]) -> tuple[Face, ...]:
    """Faces with the node in the middle of every edge between its ends."""
    return tuple(
        tuple(
            node
            for start, end in zip(face, face[1:] + face[:1], strict=True)
            for node in (start, middles[frozenset((start, end))])
        )
        for face in faces
    )


def _middles(edges: tuple[tuple[int, int], ...], first: int) -> dict[frozenset[int], int]:
    return {frozenset(edge): first + number for number, edge in enumerate(edges)}


_TETRAHEDRON = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))
_HEXAHEDRON = (
    (0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7),
)  # fmt: skip
_WEDGE = ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0))
_PYRAMID = ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))
_EDGES_OF_TETRAHEDRON = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
_EDGES_OF_HEXAHEDRON = (
    (0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7),
)  # fmt: skip
_EDGES_OF_WEDGE = (
    (0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5),
)  # fmt: skip
_EDGES_OF_PYRAMID = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4))
_ROUND_SIX, _ROUND_EIGHT = (0, 3, 1, 4, 2, 5), (0, 4, 1, 5, 2, 6, 3, 7)

POLYGON = 7
KINDS: dict[int, Kind] = {
    3: Kind("line", 1, 2),
    5: Kind("triangle", 2, 3, (0, 1, 2)),
    POLYGON: Kind("polygon", 2, 0),
    9: Kind("quadrilateral", 2, 4, (0, 1, 2, 3)),
    10: Kind("tetrahedron", 3, 4, faces=_TETRAHEDRON),
    12: Kind("hexahedron", 3, 8, faces=_HEXAHEDRON),
    13: Kind("wedge", 3, 6, faces=_WEDGE),
    14: Kind("pyramid", 3, 5, faces=_PYRAMID),
    21: Kind("quadratic line", 1, 3),
    22: Kind("quadratic triangle", 2, 6, _ROUND_SIX),
    23: Kind("quadratic quadrilateral", 2, 8, _ROUND_EIGHT),
    24: Kind(
        "quadratic tetrahedron", 3, 10,
        faces=_halved(_TETRAHEDRON, _middles(_EDGES_OF_TETRAHEDRON, 4)),
    ),
    25: Kind(
        "quadratic hexahedron", 3, 20, faces=_halved(_HEXAHEDRON, _middles(_EDGES_OF_HEXAHEDRON, 8))
    ),
    26: Kind("quadratic wedge", 3, 15, faces=_halved(_WEDGE, _middles(_EDGES_OF_WEDGE, 6))),
    27: Kind("quadratic pyramid", 3, 13, faces=_halved(_PYRAMID, _middles(_EDGES_OF_PYRAMID, 5))),
    28: Kind("biquadratic quadrilateral", 2, 9, _ROUND_EIGHT, beside=(8,)),
}  # fmt: skip

# Points and chains of lines fill nothing: files have them beside their cells.
FILLS_NOTHING = {1, 2, 4}
# Pixels and voxels are quadrilaterals and hexahedra with their nodes in another order.
REORDERED = {8: (9, (0, 1, 3, 2)), 11: (12, (0, 1, 3, 2, 4, 5, 7, 6))}


def polygon_kind(num_nodes: int) -> int:
    """The kind of a plane cell whose nodes are its outline."""
    return {3: 5, 4: 9}.get(num_nodes, POLYGON)
