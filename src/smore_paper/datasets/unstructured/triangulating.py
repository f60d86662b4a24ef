"""Triangle meshes of a domain: points that push each other apart until they are evenly spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

from smore.data import boundary_of
from smore_paper.datasets.unstructured.shapes import Array, Shape

STEPS = 120
PUSH = 1.2
TIME = 0.2
# Triangles whose middle is nearer to the outside than this, in units of the finest spacing, go.
EDGE, FLAT = 0.08, 1e-3
# Steps of Newton's method towards the boundary.
ROUNDS = 3


def triangulated(
    shape: Shape, seed: int, fineness: float = 1.0, steps: int = STEPS
) -> tuple[Array, NDArray[np.int64]]:
    """Points (points, 2) and triangles (triangles, 3) of a mesh, another one for each seed.

    Args:
        shape: the domain.
        seed: of where the points begin.
        fineness: how many times as fine as usual.
        steps: how often points are moved apart.
    """
    random = np.random.default_rng(seed)
    finest = shape.finest / fineness
    points = _scattered(shape, finest, random)
    fixed = len(shape.corners)
    for step in range(steps):
        triangles = _triangles(points, shape, finest)
        edges = np.unique(np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)), axis=0)
        along = points[edges[:, 0]] - points[edges[:, 1]]
        length = np.linalg.norm(along, axis=1)
        wanted = shape.spacing(points[edges].mean(axis=1))
        wanted = wanted * PUSH * np.sqrt((length**2).sum() / (wanted**2).sum())
        push = np.maximum(wanted - length, 0)[:, None] * along / length[:, None]
        ends, pushes = edges.T.ravel(), np.concatenate([push, -push])
        total = np.stack(
            [np.bincount(ends, component, minlength=len(points)) for component in pushes.T], axis=1
        )
        total[:fixed] = 0.0
        points = points + TIME * total
        points[fixed:] = _inside(points[fixed:], shape, finest, last=step == steps - 1)
    triangles = _triangles(points, shape, finest)
    border = np.unique(boundary_of(triangles))  # which no wall may miss
    for _ in range(ROUNDS):
        points[border] = _nearer_boundary(points[border], shape, finest)
    # Of triangles with three corners on a straight wall nothing is left.
    flat = shape.distance(points[triangles].mean(axis=1)) > -FLAT * finest
    triangles = triangles[~flat]
    used, numbers = np.unique(triangles, return_inverse=True)
    return points[used], numbers.reshape(-1, 3).astype(np.int64)


def _scattered(shape: Shape, finest: float, random: np.random.Generator) -> Array:
    (left, low), (right, high) = shape.box
    x, y = np.meshgrid(np.arange(left, right, finest), np.arange(low, high, finest * 0.87))
    x[1::2] += finest / 2
    lattice = np.stack([x.ravel(), y.ravel()], axis=1)
    lattice += random.uniform(-0.3, 0.3, size=lattice.shape) * finest
    lattice = lattice[shape.distance(lattice) < -0.3 * finest]
    kept = random.uniform(size=len(lattice)) < 1 / shape.spacing(lattice) ** 2
    return np.concatenate([shape.corners.astype(float), lattice[kept]])


def _triangles(points: Array, shape: Shape, finest: float) -> NDArray:
    triangles = Delaunay(points).simplices
    middles = points[triangles].mean(axis=1)
    return triangles[shape.distance(middles) < -EDGE * finest]


def _inside(points: Array, shape: Shape, finest: float, *, last: bool) -> Array:
    """Points that left the domain, back on its boundary."""
    for _ in range(ROUNDS if last else 1):
        out = shape.distance(points) > 0
        points[out] = _nearer_boundary(points[out], shape, finest)
    return points


def _nearer_boundary(points: Array, shape: Shape, finest: float) -> Array:
    """A step of Newton's method for points on the boundary."""
    small = 1e-6 * finest
    distance = shape.distance(points)
    shifts = np.array([[small, 0.0], [0.0, small]])
    gradient = np.stack(
        [(shape.distance(points + shift) - distance) / small for shift in shifts], axis=1
    )
    size = np.maximum((gradient**2).sum(axis=1, keepdims=True), 1e-12)
    return points - distance[:, None] * gradient / size
