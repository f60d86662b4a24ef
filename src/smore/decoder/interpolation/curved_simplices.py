"""Interpolation among scattered points that follows how fields bend between them.

On a simplex with barycentric coordinates λ it is the cubic with the values f_u and gradients g_u of
the corners, written by its Bézier points,

    s = Σ_u λ_u³ f_u + 3 Σ_{u≠w} λ_u² λ_w c_uw + 6 Σ_{u<v<w} λ_u λ_v λ_w t_uvw
    c_uw = f_u + g_u · (x_w - x_u) / 3
    t_uvw = (the six c of the face) / 4 - (f_u + f_v + f_w) / 6,

so that quadratic fields are met exactly and neighbours agree on their common face. A gradient is
that of a smooth function through the values of the nodes around (`_gradients`). An edge much longer
than the distances around a node says nothing about the field along it, as between the two
sides of a hole: there c_uw lies on the straight line. No field exceeds its Bézier points.

Outside the simplices a field goes on from the nearest node along its gradient, about as far as the
next node would be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from smore.decoder.interpolation.interpolation import FloatArray, Interpolation
from smore.decoder.interpolation.simplices import SAME_PLACE, Simplices

# Of the polynomial in a gradient, and nodes that it comes from, for each of its terms.
DEGREE, PER_TERM = 3, 2.5
# How little values may be off to make s smoother, which amplifies noise about twice instead of four
# times; and what is added where nodes do not tell a term of the polynomial.
SMOOTHER, FLAT = 1e-4, 1e-10
# An edge this many times as long as the way to the neighbours next to a node is not trusted.
LONG = 4.0
NEIGHBOURS = 3  # for every dimension
# How far fields go on along a gradient outside the simplices, in units of that way.
BEYOND = 1.0
# Nodes whose gradients are solved for at once, and simplices whose Bézier points are.
AT_ONCE = 2**12


class CurvedSimplices(Interpolation):
    """Cubics on the simplices between scattered points, which go on a little way outside them.

    Args:
        nodes: (nodes, d) decoder coordinates.
        on_sphere: whether these are unit vectors; gradients are then along the tangent plane.
        lengths: (d,) of the axes, which these are multiplied by to see which nodes are near.

    Raises:
        scipy.spatial.QhullError: the points do not span the space.
    """

    def __init__(
        self, nodes: FloatArray, *, on_sphere: bool, lengths: FloatArray | float = 1.0
    ) -> None:
        self.nodes, self.on_sphere, self.lengths = nodes * lengths, on_sphere, lengths
        self.simplices = Simplices(self.nodes, on_sphere=on_sphere)
        self.num_nodes = self.num_coefficients = len(nodes)
        self.dim = nodes.shape[1] - on_sphere
        self.size = min(round(PER_TERM * len(_powers(self.dim))), len(nodes))

    @cached_property
    def border(self) -> NDArray[np.int64]:
        """Nodes that fields go on from; outside the cones around a sphere is what is far away."""
        return np.array([], dtype=np.int64) if self.on_sphere else self.simplices.border

    def coefficients(self, values: FloatArray) -> FloatArray:
        return values

    def weights(self, coords: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        coords = coords * self.lengths
        corners, share = self.simplices.weights(coords)
        inside = np.count_nonzero(share, axis=1) > 1
        _lone_first(corners, share, ~inside)
        outside = ~inside & (not self.on_sphere)
        away = coords[outside] - self.nodes[corners[outside, 0]]
        outside[outside] = np.linalg.norm(away, axis=1) > SAME_PLACE
        between = np.flatnonzero(inside | outside)
        if not len(between):  # points of the mesh
            return corners, share
        used, which = np.unique(corners[between], return_inverse=True)
        around, slopes, spacing = self._slopes(used)
        which = which.reshape(len(between), -1)
        direct, lever = self._parts(corners[between], share[between], spacing[which])
        beyond = outside[between]
        lever[beyond, 0] = _no_further(
            coords[between[beyond]] - self.nodes[corners[between[beyond], 0]],
            BEYOND * spacing[which[beyond, 0]],
        )
        share[between] = direct
        indices, weights = [corners], [share]
        for own, arm in zip(which.T, lever.transpose(1, 0, 2), strict=True):
            places = np.zeros((len(coords), self.size), dtype=np.int64)
            bent = np.zeros(places.shape)
            places[between] = around[own]
            bent[between] = np.einsum("qd,qkd->qk", arm, slopes[own])
            indices.append(places)
            weights.append(bent)
        return np.hstack(indices), np.hstack(weights)

    def bounding(self, coefficients: FloatArray) -> Iterator[FloatArray]:
        """All Bézier points, and corners around what fields go on to outside."""
        values = coefficients  # which are those at the nodes
        yield values
        around, slopes, spacing = self._slopes(np.arange(self.num_nodes))
        yield from self._bounding_beyond(values, around, slopes, spacing)
        cells = self.simplices.cells
        for start in range(0, len(cells), AT_ONCE):
            some = cells[start : start + AT_ONCE]
            edges = {
                pair: self._edge(values, some[:, pair], around, slopes, spacing)
                for both in combinations(range(some.shape[1]), 2)
                for pair in (both, both[::-1])
            }
            yield from edges.values()
            for face in combinations(range(some.shape[1]), 3):
                inner = sum(edges[u, w] for u in face for w in face if u != w)
                yield np.asarray(inner) / 4 - values[some[:, face]].sum(axis=1) / 6

    def _bounding_beyond(
        self,
        values: FloatArray,
        around: NDArray[np.int64],
        slopes: FloatArray,
        spacing: FloatArray,
    ) -> Iterator[FloatArray]:
        """A ball of radius s lies between places s√d to both sides of its centre on each axis."""
        reach = BEYOND * math.sqrt(self.dim) * spacing[self.border]
        for axis in range(self.dim if len(self.border) else 0):
            rise = np.einsum(
                "bk,bkn->bn", slopes[self.border, :, axis], values[around[self.border]]
            )
            for sign in (1, -1):
                yield values[self.border] + sign * reach[:, None] * rise

    def _edge(
        self,
        values: FloatArray,
        pair: NDArray[np.int64],
        around: NDArray[np.int64],
        slopes: FloatArray,
        spacing: FloatArray,
    ) -> FloatArray:
        """c_uw (edges, n) for pairs of nodes (edges, 2)."""
        one, other = pair.T
        along, straight = self._along(one, other, spacing[one])
        rise = np.zeros((len(pair), values.shape[1]))
        for number in range(self.size):  # one after the other: the values are the memory
            step = np.einsum("ed,ed->e", along, slopes[one, number])
            rise += step[:, None] * values[around[one, number]]
        rise[straight] = (values[other] - values[one])[straight]
        return values[one] + rise / 3

    def _parts(
        self, corners: NDArray[np.int64], share: FloatArray, spacing: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """How much values (places, d + 1) and gradients (places, d + 1, d) of corners count."""
        others = 1 - share
        pairs = (others**2 - (np.square(share).sum(axis=1, keepdims=True) - share**2)) / 2
        direct = share**3 - share * pairs
        lever = np.zeros((*corners.shape, self.nodes.shape[1]))
        for u in range(corners.shape[1]):
            for w in set(range(corners.shape[1])) - {u}:
                both = share[:, u] * share[:, w]
                size = both * (3 * share[:, u] + 1.5 * (others[:, u] - share[:, w]))  # of c_uw
                along, straight = self._along(corners[:, u], corners[:, w], spacing[:, u])
                third = np.where(straight, size / 3, 0.0)
                direct[:, u] += size - third
                direct[:, w] += third
                lever[:, u] += ((size / 3 - third)[:, None]) * along
        return direct, lever

    def _along(
        self, one: NDArray[np.int64], other: NDArray[np.int64], spacing: FloatArray
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Edges (edges, d) from nodes to others, and along which of them fields are straight."""
        along = self.nodes[other] - self.nodes[one]
        return along, np.linalg.norm(along, axis=1) > LONG * spacing

    def _slopes(
        self, owners: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
        """Gradients of nodes as sums over the nodes around them.

        Returns:
            Which nodes (owners, k), their weights (owners, k, d), and how far neighbours are.
        """
        parts = [
            self._some_slopes(owners[start : start + AT_ONCE])
            for start in range(0, len(owners), AT_ONCE)
        ]
        around, slopes, spacing = (np.concatenate(each) for each in zip(*parts, strict=True))
        return around, slopes, spacing

    def _some_slopes(
        self, owners: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
        found = self.simplices.nearest.query(self.nodes[owners], k=self.size)
        distance, around = np.asarray(found[0]), np.asarray(found[1], dtype=np.int64)
        frames = self._frames(owners)
        offsets = self.nodes[around] - self.nodes[owners, None]
        radius = np.maximum(distance[:, -1:], np.finfo(float).tiny)
        places = np.einsum("okd,ode->oke", offsets, frames) / radius[:, :, None]
        local = _gradients(places) / radius[:, :, None]
        slopes = np.einsum("oke,ode->okd", local, frames)
        # Of differences to the node's own value, wherever it is among equal points.
        own = (around == owners[:, None]).argmax(axis=1)
        slopes[np.arange(len(owners)), own] -= slopes.sum(axis=1)
        spacing = distance[:, min(NEIGHBOURS * self.dim, self.size - 1)]
        return around, slopes, spacing

    def _frames(self, owners: NDArray[np.int64]) -> FloatArray:
        """(owners, d, e) axes at each node: those of space, or of the tangent plane."""
        dim = self.nodes.shape[1]
        if not self.on_sphere:
            return np.broadcast_to(np.eye(dim), (len(owners), dim, dim))
        normal = self.nodes[owners]
        furthest = np.eye(dim)[np.abs(normal).argmin(axis=1)]
        east = np.cross(furthest, normal)
        east /= np.linalg.norm(east, axis=1, keepdims=True)
        return np.stack([east, np.cross(normal, east)], axis=2)


def _lone_first(corners: NDArray[np.int64], share: FloatArray, lone: NDArray[np.bool_]) -> None:
    """Put the one corner that counts first, in some rows and in place."""
    rows = lone.nonzero()[0]
    at = share[rows].argmax(axis=1)
    for table in (corners, share):
        table[rows, at], table[rows, 0] = table[rows, 0], table[rows, at]


def _no_further(ways: FloatArray, most: FloatArray) -> FloatArray:
    """Ways (places, d), cut to lengths of at most `most` (places,)."""
    length = np.maximum(np.linalg.norm(ways, axis=1), np.finfo(float).tiny)
    return ways * np.minimum(1.0, most / length)[:, None]


def _gradients(places: FloatArray) -> FloatArray:
    """Weights (stencils, k, d) of values at places (stencils, k, d) that give gradients at 0.

    Those of s(x) = Σ λ_j |x - x_j|⁵ + a cubic polynomial, the smoothest function through the
    values: a polynomial alone cannot follow what bends sharply, as flow does along a wall.
    """
    count, size, dim = places.shape
    powers = _powers(dim)
    terms = np.prod(places[:, :, None] ** powers, axis=-1)
    away = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)
    system = np.zeros((count, size + len(powers), size + len(powers)))
    # |x|⁵ is negative definite on what no cubic polynomial tells.
    system[:, :size, :size] = away**5 - SMOOTHER * np.eye(size)
    system[:, :size, size:] = terms
    system[:, size:, :size] = terms.mT
    system[:, size:, size:] = FLAT * np.eye(len(powers))
    slopes = np.zeros((count, size + len(powers), dim))
    slopes[:, :size] = -5 * np.linalg.norm(places, axis=2, keepdims=True) ** 3 * places
    slopes[:, size + 1 : size + 1 + dim] = np.eye(dim)
    return np.asarray(np.linalg.solve(system, slopes)[:, :size])


def _powers(dim: int) -> NDArray[np.intp]:
    """(terms, d) exponents of a polynomial: 1, the coordinates, the higher terms."""
    grid = np.indices((DEGREE + 1,) * dim).reshape(dim, -1).T
    degree = grid.sum(axis=1)
    higher = grid[(degree > 1) & (degree <= DEGREE)]
    return np.concatenate([np.zeros((1, dim), grid.dtype), np.eye(dim, dtype=grid.dtype), higher])
