"""What lies in the cells of a mesh, and how far outside the rest lies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from smore.data.cells.measures import to_unit_vectors
from smore.data.cells.simplices import boundary_of, simplices_of
from smore.data.cells.tessellation import FloatArray, Tessellation
from smore.data.space import Geometry

# Barycentric coordinates of places in a simplex may miss zero by rounding, and by the gaps that
# bent faces leave between the simplices of neighbours.
ROUND_OFF = 1e-9
# Simplices with less volume than this share of what their sides could span, such as those between
# nodes on one side of a cell, have none but by rounding: nothing is inside them.
FLAT = 1e-12
SLACK_IN_SPACE = 0.02
# Simplices, or facets of the boundary, that are looked at first for every place.
FEW = 16
PLACES_AT_ONCE = 2**13


class Locator:
    """Which cell places are in.

    Simplices are sorted by size into classes; in each class those whose centre is near enough to
    have a place inside them are looked at.

    Args:
        cells: any that fill the space, or a sphere.
        geometry: "sphere" for latitude and longitude: triangles are between unit vectors.
    """

    def __init__(self, cells: Tessellation, geometry: Geometry) -> None:
        self.geometry = geometry
        self.nodes = to_unit_vectors(cells.nodes) if geometry == "sphere" else cells.nodes
        self.simplices, self.cells = simplices_of(cells)
        self.fills = cells.dim == cells.nodes.shape[1]
        self.bent = cells.dim == 3 and bool((cells.kinds != 10).any())
        corners = self.nodes[self.simplices]
        centres = corners.mean(axis=1)
        radii = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
        levels = np.ceil(np.log2(np.maximum(radii, np.finfo(float).tiny)))
        self.classes = [
            (members, cKDTree(centres[members]), float(radii[members].max()))
            for level in np.unique(levels)
            for members in [np.flatnonzero(levels == level)]
        ]
        self.boundary = boundary_of(self.simplices)
        self._facets = (
            cKDTree(self.nodes[self.boundary].mean(axis=1)) if len(self.boundary) else None
        )

    def find(self, places: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """(places,) the simplex that each is in, -1 for none; and barycentric coordinates in it."""
        points = to_unit_vectors(places) if self.geometry == "sphere" else places
        found = np.full(len(points), -1)
        shares = np.zeros((len(points), self.simplices.shape[1]))
        for start in range(0, len(points), PLACES_AT_ONCE):
            some = slice(start, start + PLACES_AT_ONCE)
            found[some], shares[some] = self._find(points[some])
        return found, shares

    def _find(self, points: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        found = np.full(len(points), -1)
        shares = np.zeros((len(points), self.simplices.shape[1]))
        for members, tree, radius in self.classes:
            count, left = min(FEW, len(members)), np.flatnonzero(found < 0)
            while len(left):
                reach = radius * (1 + 1e-9) + 1e-300
                _, near = tree.query(points[left], k=count, distance_upper_bound=reach)
                near = np.asarray(near).reshape(len(left), count)
                self._try(points, left, members, near, found, shares)
                more = (found[left] < 0) & (near[:, -1] < len(members))
                left = left[more] if count < len(members) else left[:0]
                count = min(4 * count, len(members))
        return found, shares

    def _try(
        self,
        points: FloatArray,
        left: NDArray[np.intp],
        members: NDArray[np.intp],
        near: NDArray,
        found: NDArray,
        shares: FloatArray,
    ) -> None:
        """Look at the candidates one after the other, the nearest first."""
        slack = SLACK_IN_SPACE if self.bent else ROUND_OFF
        best = np.full(len(left), -np.inf)
        for column in near.T:
            there = np.flatnonzero((column < len(members)) & (best < 0))
            if not len(there):
                continue
            which = members[column[there]]
            weights = self._barycentric(points[left[there]], which)
            least = weights.min(axis=1)
            better = (least >= -slack) & (least > best[there])
            rows = left[there[better]]
            found[rows], shares[rows] = which[better], weights[better]
            best[there[better]] = least[better]

    def _barycentric(self, points: FloatArray, which: NDArray[np.intp]) -> FloatArray:
        corners = self.nodes[self.simplices[which]]
        sphere = self.geometry == "sphere"
        matrix = corners if sphere else corners[:, 1:] - corners[:, :1]
        right = points if sphere else points - corners[:, 0]
        sides = np.linalg.norm(matrix, axis=2).prod(axis=1)
        flat = np.abs(np.linalg.det(matrix)) <= FLAT * sides + np.finfo(float).tiny
        matrix[flat] = np.eye(matrix.shape[1])
        weights = np.linalg.solve(np.swapaxes(matrix, 1, 2), right[..., None])[..., 0]
        if not sphere:
            weights = np.column_stack([1 - weights.sum(axis=1), weights])
        weights[flat] = -np.inf
        return weights.astype(np.float64, copy=False)

    def outside(self, places: FloatArray, slack: float = 0.0) -> FloatArray:
        """(places,) how far each is from the cells, 0 inside: in their units, on a sphere degrees.

        Cells of a surface or line in space have no inside; nothing is outside them.

        Args:
            places: (places, dim).
            slack: places no further than so many sizes of the nearest outer face are inside.
        """
        distance = np.zeros(len(places))
        if not self.fills or self._facets is None:
            return distance
        out = np.flatnonzero(self.find(places)[0] < 0)
        points = to_unit_vectors(places) if self.geometry == "sphere" else places
        for start in range(0, len(out), PLACES_AT_ONCE):
            some = out[start : start + PLACES_AT_ONCE]
            count = min(FEW, len(self.boundary))
            near = np.asarray(self._facets.query(points[some], k=count)[1]).reshape(
                len(some), count
            )
            facets = self.nodes[self.boundary[near]]
            each = _distances(points[some], facets)
            nearest = each.argmin(axis=1)[:, None]
            far = np.take_along_axis(each, nearest, axis=1)[:, 0]
            faces = facets[np.arange(len(some)), nearest[:, 0]]
            size = np.linalg.norm(faces - np.roll(faces, 1, axis=1), axis=2).max(axis=1)
            distance[some] = np.where(far > slack * size, far, 0.0)
        if self.geometry == "sphere":
            return np.rad2deg(2 * np.arcsin(np.minimum(distance / 2, 1.0)))
        return distance


def _distances(points: FloatArray, facets: FloatArray) -> FloatArray:
    """(points, few) of points (points, d) from facets (points, few, corners, d)."""
    if facets.shape[2] == 1:
        return np.linalg.norm(points[:, None] - facets[:, :, 0], axis=2)
    if facets.shape[2] == 2:
        return _from_segments(points[:, None], facets[:, :, 0], facets[:, :, 1])
    a, b, c = (facets[:, :, corner] for corner in range(3))
    edges = np.minimum.reduce(
        [_from_segments(points[:, None], *pair) for pair in ((a, b), (b, c), (c, a))]
    )
    normal = np.cross(b - a, c - a)
    size = np.maximum(np.linalg.norm(normal, axis=2, keepdims=True), np.finfo(float).tiny)
    normal = normal / size
    height = ((points[:, None] - a) * normal).sum(axis=2)
    foot = points[:, None] - height[..., None] * normal
    sides = [
        (np.cross(end - start, foot - start) * normal).sum(axis=2)
        for start, end in ((a, b), (b, c), (c, a))
    ]
    over = np.all([side >= 0 for side in sides], axis=0)
    return np.where(over, np.abs(height), edges)


def _from_segments(points: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    along = end - start
    length = np.maximum((along**2).sum(axis=-1), np.finfo(float).tiny)
    share = np.clip(((points - start) * along).sum(axis=-1) / length, 0.0, 1.0)
    return np.linalg.norm(points - start - share[..., None] * along, axis=-1)
