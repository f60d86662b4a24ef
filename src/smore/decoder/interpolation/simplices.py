"""Linear interpolation on the triangles, or simplices, between scattered points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay, cKDTree

from smore.decoder.interpolation.interpolation import FloatArray, Interpolation

# Places this close to a point, in decoder coordinates, are the point: float32 has no more digits.
SAME_PLACE = 1e-6
# Simplices whose volume is less than this share of a cube of their length are thin, and places in
# them, or outside by rounding, are looked for a little further inwards.
THIN, INWARDS = 1e-6, 1e-5
# Half-way to the centre of the sphere, a place is inside the cone of its triangle.
INSIDE = 0.5


class Simplices(Interpolation):
    """Barycentric weights of the corners of the simplex that a place is in.

    On a sphere the simplices are cones from its centre to the triangles between its points, so that
    a place on the surface is in one of them, too. Outside all simplices the nearest point counts.

    Args:
        nodes: (nodes, d) decoder coordinates.
        on_sphere: whether these are unit vectors.

    Raises:
        scipy.spatial.QhullError: the points do not span the space.
    """

    def __init__(self, nodes: FloatArray, *, on_sphere: bool) -> None:
        self.num_nodes = self.num_coefficients = len(nodes)
        self.on_sphere = on_sphere
        corners = np.vstack([nodes, np.zeros((1, nodes.shape[1]))]) if on_sphere else nodes
        self.triangulation = Delaunay(corners)
        self.nearest = cKDTree(nodes)
        self.centre = corners.mean(axis=0)
        # Points of a straight border are in line but for rounding: simplices of three of them are
        # no neighbourhoods.
        around = corners[self.triangulation.simplices]
        edges = around[:, 1:] - around[:, :1]
        longest = np.linalg.norm(edges, axis=2).max(axis=1)
        self.thin = np.abs(np.linalg.det(edges)) < THIN * longest ** corners.shape[1]

    @property
    def cells(self) -> NDArray[np.int64]:
        """(simplices, d + 1) corners; of a cone one comes twice, instead of the centre."""
        corners = self.triangulation.simplices.astype(np.int64)
        return np.where(corners == self.num_nodes, corners.min(axis=1, keepdims=True), corners)

    @property
    def border(self) -> NDArray[np.int64]:
        """Nodes that may be the nearest ones of places outside all simplices.

        The places nearest to a node are a polytope whose corners are the centres of the spheres
        around its simplices: it ends inside the hull where all of these do.
        """
        simplices = self.triangulation.simplices
        corners = self.triangulation.points[simplices]
        edges = corners[:, 1:] - corners[:, :1]
        few = self.thin.copy()
        centres = np.linalg.solve(edges[~few], np.square(edges[~few]).sum(2, keepdims=True) / 2)
        few[~few] = self.triangulation.find_simplex(centres[..., 0] + corners[~few, 0]) < 0
        outermost = self.triangulation.convex_hull
        return np.union1d(outermost, simplices[few]).astype(np.int64)

    def coefficients(self, values: FloatArray) -> FloatArray:
        return values

    def weights(self, coords: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        # Most places are points of the mesh, whose simplices would take long to find.
        distance, nearest = self.nearest.query(coords)
        index = np.tile(np.asarray(nearest, dtype=np.int64)[:, None], coords.shape[1] + 1)
        weight = np.zeros(index.shape)
        weight[:, 0] = 1.0
        between = np.asarray(distance) > SAME_PLACE
        if between.any():
            index[between], weight[between] = self._between(coords[between])
        return index, weight

    def _between(self, coords: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        """Weights of the corners around places that are no points."""
        places = INSIDE * coords if self.on_sphere else coords
        which = self.triangulation.find_simplex(places)
        astray = (which < 0) | self.thin[which]
        inwards = places[astray] + INWARDS * (self.centre - places[astray])
        which[astray] = self.triangulation.find_simplex(inwards)
        change = self.triangulation.transform[which]
        few = np.einsum("nij,nj->ni", change[:, :-1], places - change[:, -1])
        weight = np.column_stack([few, 1 - few.sum(1)])
        index = self.triangulation.simplices[which].astype(np.int64)
        centre = index == self.num_nodes  # of the sphere, which has no value
        weight = np.where(centre, 0.0, np.clip(weight, 0.0, 1.0))
        total = weight.sum(1)
        lost = (which < 0) | ~(total > 0)
        index[lost], weight[lost] = np.asarray(self.nearest.query(coords[lost])[1])[:, None], 0.0
        weight[lost, 0], total[lost] = 1.0, 1.0
        return np.where(centre & ~lost[:, None], 0, index), weight / total[:, None]
