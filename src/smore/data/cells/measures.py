"""Areas and volumes of cells, and the weights that they give to points: ∫ f dx ≈ Σ wᵢ f(xᵢ).

Every cell is cut into simplices between its mean, the means of its faces and its edges. A value at
the mean of some nodes is the mean of theirs, so a rule that integrates linear functions exactly on
every simplex does so on every cell, of whatever kind: weights are of second order for point data
(lumped mass: a node's share of the cells around it) as for cell data (the cell's volume, with the
value at its centroid). On a sphere triangles are spherical, of a sphere of radius 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from smore.data.cells.kinds import KINDS, POLYGON
from smore.data.cells.tessellation import FloatArray, IntArray, Tessellation
from smore.data.space import Geometry
from smore.errors import DataError

# Cells whose corners are looked at together.
CELLS_AT_ONCE = 2**16


@dataclass(frozen=True, eq=False)
class Pieces:
    """Simplices of one kind of cells, one from each cell at the same place.

    Attributes:
        which: (cells,) the cells.
        corners: (cells, dim + 1, dim of space) of the simplices.
        shares: (dim + 1, nodes of a cell) of what nodes a corner is the mean.
        nodes: (cells, nodes of a cell) numbers of the nodes.
    """

    which: NDArray[np.intp]
    corners: FloatArray
    shares: FloatArray
    nodes: IntArray


def cell_measures(cells: Tessellation, geometry: Geometry) -> FloatArray:
    """(cells,) lengths, areas or volumes.

    Raises:
        DataError: no cell has any.
    """
    total = np.zeros(cells.num_cells)
    for pieces in _pieces(cells, geometry):
        total[pieces.which] += _measures(pieces.corners, cells.dim, geometry)
    return _require_some(np.abs(total))


def cell_centres(cells: Tessellation, geometry: Geometry) -> FloatArray:
    """(cells, dim of space) centroids; on a sphere latitude and longitude of them."""
    places = _places(cells, geometry)
    total, moment = np.zeros(cells.num_cells), np.zeros((cells.num_cells, places.shape[1]))
    mean = np.zeros_like(moment)
    for _, which, nodes in cells.alike():
        mean[which] = places[nodes].mean(axis=1)
    for pieces in _pieces(cells, geometry):
        size = _measures(pieces.corners, cells.dim, geometry)
        total[pieces.which] += size
        # About the mean: far from the origin a centroid would lose digits.
        away = pieces.corners.mean(axis=1) - mean[pieces.which]
        moment[pieces.which] += size[:, None] * away
    some = total != 0
    mean[some] += moment[some] / total[some, None]
    return from_unit_vectors(mean) if geometry == "sphere" else mean


def point_weights(cells: Tessellation, geometry: Geometry) -> FloatArray:
    """(points,) quadrature weights of the points of the mesh: of its nodes, or of its cells.

    Raises:
        DataError: cells without volume, or so bent that a node would have a negative share.
    """
    measures = cell_measures(cells, geometry)
    if cells.on_cells:
        return measures
    signs = np.ones(cells.num_cells)
    total = np.zeros(cells.num_cells)
    for pieces in _pieces(cells, geometry):
        total[pieces.which] += _measures(pieces.corners, cells.dim, geometry)
    signs[total < 0] = -1.0
    weights = np.zeros(len(cells.nodes))
    for pieces in _pieces(cells, geometry):
        size = signs[pieces.which] * _measures(pieces.corners, cells.dim, geometry)
        share = pieces.shares.sum(axis=0) / len(pieces.shares)
        shared = (size[:, None] * share).ravel()
        weights += np.bincount(pieces.nodes.ravel(), shared, minlength=len(weights))
    if weights.min() < -1e-9 * measures.max():
        raise DataError(
            "expected cells that their nodes surround, a node would have a negative share of some; "
            "mend the mesh, or use values at cell centres"
        )
    return np.maximum(weights, 0.0)


def to_unit_vectors(places: FloatArray) -> FloatArray:
    """(latitude, longitude) in degrees -> (..., 3)."""
    latitude, longitude = np.moveaxis(np.deg2rad(places), -1, 0)
    level = np.cos(latitude)
    return np.stack(
        [level * np.cos(longitude), level * np.sin(longitude), np.sin(latitude)], axis=-1
    )


def from_unit_vectors(vectors: FloatArray) -> FloatArray:
    """Directions (..., 3) of any length -> (latitude, longitude) in degrees."""
    x, y, z = np.moveaxis(vectors, -1, 0)
    both = (np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x))
    return np.rad2deg(np.stack(both, axis=-1))


def _places(cells: Tessellation, geometry: Geometry) -> FloatArray:
    return to_unit_vectors(cells.nodes) if geometry == "sphere" else cells.nodes


def _pieces(cells: Tessellation, geometry: Geometry) -> Iterator[Pieces]:
    """All simplices of all cells."""
    places = _places(cells, geometry)
    for kind, which, nodes in cells.alike():
        cuts = _cuts(kind, nodes.shape[1])
        for start in range(0, len(which), CELLS_AT_ONCE):
            some = slice(start, start + CELLS_AT_ONCE)
            here = places[nodes[some]]
            for shares in cuts:
                corners = np.einsum("sk,nkd->nsd", shares, here)
                yield Pieces(which[some], corners, shares, nodes[some])


def _cuts(kind: int, count: int) -> list[FloatArray]:
    """The simplices of a cell: (dim + 1, nodes) of what nodes each of its corners is the mean."""
    known, single = KINDS[kind], np.eye(count)
    if known.dim == 1:
        inner = [0, *range(2, count), 1]
        return [single[list(pair)] for pair in pairwise(inner)]
    if known.dim == 2:
        outline = tuple(range(count)) if kind == POLYGON else known.outline
        if len(outline) == 3:
            return [single[list(outline)]]
        centre = single[list(outline)].mean(axis=0)
        return [np.stack([centre, *edge]) for edge in _edges(single[list(outline)])]
    if known.name == "tetrahedron":
        return [single]
    centre = single[sorted({node for face in known.faces for node in face})].mean(axis=0)
    cuts = []
    for face in known.faces:
        if len(face) == 3:
            cuts.append(np.stack([centre, *single[list(face)]]))
            continue
        middle = single[list(face)].mean(axis=0)
        cuts += [np.stack([centre, middle, *edge]) for edge in _edges(single[list(face)])]
    return cuts


def _edges(outline: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    return zip(outline, np.roll(outline, -1, axis=0), strict=True)


def _measures(corners: FloatArray, dim: int, geometry: Geometry) -> FloatArray:
    """(n,) of simplices (n, dim + 1, dim of space), with a sign where there is one.

    A surface in space has none of its own: its triangles count as they are.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of damaged nodes: refused by the result
        if geometry == "sphere":
            return _spherical_areas(corners)
        return _flat_measures(corners, dim)


def _flat_measures(corners: FloatArray, dim: int) -> FloatArray:
    sides = corners[:, 1:] - corners[:, :1]
    if dim == sides.shape[2]:
        return np.linalg.det(sides) / (2.0 if dim == 2 else 6.0 if dim == 3 else 1.0)
    if dim == 1:
        return np.linalg.norm(sides[:, 0], axis=1)
    return np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) / 2


def _spherical_areas(corners: FloatArray) -> FloatArray:
    """Of spherical triangles (n, 3, 3), whose corners may be shorter than 1."""
    a, b, c = np.moveaxis(corners / np.linalg.norm(corners, axis=2, keepdims=True), 1, 0)
    volume = np.einsum("ni,ni->n", a, np.cross(b, c))
    scale = 1 + (a * b).sum(1) + (b * c).sum(1) + (c * a).sum(1)
    return 2 * np.arctan2(volume, scale)


def _require_some(measures: FloatArray) -> FloatArray:
    if not (np.isfinite(measures).all() and measures.any()):
        raise DataError(
            "expected cells with an area or volume, these have none, or one that is not finite; "
            "the nodes may be damaged"
        )
    return measures
