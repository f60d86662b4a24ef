"""Small meshes of every kind of cell, of a domain whose integrals are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smore.data.cells import Tessellation, polygon_kind
from smore.data.cells.kinds import KINDS


def tessellation(
    nodes: NDArray, cells: list[tuple[int, NDArray]], on_cells: bool = False
) -> Tessellation:
    """From arrays (cells, nodes) of some kinds."""
    kinds = np.concatenate([np.full(len(each), kind) for kind, each in cells])
    counts = np.concatenate([np.full(len(each), np.shape(each)[1]) for _, each in cells])
    corners = np.concatenate([np.ravel(each) for _, each in cells])
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Tessellation.checked(nodes, kinds, offsets, corners, on_cells=on_cells)


def bent(nodes: NDArray) -> NDArray:
    """Points of the unit square or cube, moved smoothly inside it."""
    wave = np.prod(np.sin(np.pi * nodes), axis=1)
    return nodes + 0.05 * wave[:, None] * np.array([1.0, -0.7, 0.4])[: nodes.shape[1]]


def square_nodes(count: int) -> tuple[NDArray, NDArray]:
    """Nodes of a grid of count x count cells, and their numbers on it."""
    axis = np.linspace(0, 1, count + 1)
    nodes = np.stack([each.ravel() for each in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    return bent(nodes), np.arange(len(nodes)).reshape(count + 1, count + 1)


def quads(count: int) -> tuple[NDArray, NDArray]:
    nodes, at = square_nodes(count)
    corners = (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:])
    return nodes, np.stack([each.ravel() for each in corners], axis=1)


def triangle_mesh(count: int, on_cells: bool = False) -> Tessellation:
    nodes, four = quads(count)
    return tessellation(
        nodes, [(5, np.concatenate([four[:, [0, 1, 2]], four[:, [0, 2, 3]]]))], on_cells
    )


def quad_mesh(count: int, on_cells: bool = False) -> Tessellation:
    nodes, four = quads(count)
    return tessellation(nodes, [(9, four)], on_cells)


def mixed_mesh(count: int, on_cells: bool = False) -> Tessellation:
    nodes, four = quads(count)
    half = len(four) // 2
    three = np.concatenate([four[:half, [0, 1, 2]], four[:half, [0, 2, 3]]])
    return tessellation(nodes, [(5, three), (9, four[half:])], on_cells)


def polygon_mesh(count: int, on_cells: bool = False) -> Tessellation:
    """Cells of six nodes: quadrilaterals with an extra node on two of their sides."""
    nodes, at = square_nodes(count)
    middle = len(nodes) + np.arange((count + 1) * count).reshape(count + 1, count)
    between = (nodes[at[:, 1:]] + nodes[at[:, :-1]]) / 2
    nodes = np.concatenate([nodes, between.reshape(-1, 2)])
    round_cell = (at[:-1, :-1], at[1:, :-1], middle[1:], at[1:, 1:], at[:-1, 1:], middle[:-1])
    six = np.stack([each.ravel() for each in round_cell], axis=1)
    return tessellation(nodes, [(polygon_kind(6), six)], on_cells)


def quadratic_mesh(count: int, on_cells: bool = False) -> Tessellation:
    linear = triangle_mesh(count)
    three = linear.corners.reshape(-1, 3)
    pairs = np.sort(np.stack([three, np.roll(three, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    edges, which = np.unique(pairs, axis=0, return_inverse=True)
    nodes = np.concatenate([linear.nodes, linear.nodes[edges].mean(axis=1)])
    six = np.concatenate([three, len(linear.nodes) + which.reshape(-1, 3)], axis=1)
    return tessellation(nodes, [(22, six)], on_cells)


def hexes(count: int) -> tuple[NDArray, NDArray]:
    axis = np.linspace(0, 1, count + 1)
    nodes = np.stack([e.ravel() for e in np.meshgrid(axis, axis, axis, indexing="ij")], axis=1)
    at = np.arange(len(nodes)).reshape((count + 1,) * 3)
    lo, hi = slice(None, -1), slice(1, None)
    plane = ((lo, lo), (hi, lo), (hi, hi), (lo, hi))
    corners = [at[x, y, z].ravel() for z in (lo, hi) for x, y in plane]
    return bent(nodes), np.stack(corners, axis=1)


def hex_mesh(count: int, on_cells: bool = False) -> Tessellation:
    nodes, eight = hexes(count)
    return tessellation(nodes, [(12, eight)], on_cells)


def wedge_mesh(count: int, on_cells: bool = False) -> Tessellation:
    nodes, eight = hexes(count)
    six = np.concatenate([eight[:, [0, 1, 2, 4, 5, 6]], eight[:, [0, 2, 3, 4, 6, 7]]])
    return tessellation(nodes, [(13, six)], on_cells)


def tet_mesh(count: int, on_cells: bool = False) -> Tessellation:
    nodes, eight = hexes(count)
    paths = [(0, a, b, 6) for a, b in ((1, 2), (1, 5), (3, 2), (3, 7), (4, 5), (4, 7))]
    four = np.concatenate([eight[:, list(path)] for path in paths])
    return tessellation(nodes, [(10, four)], on_cells)


def pyramid_mesh(count: int, on_cells: bool = False) -> Tessellation:
    nodes, eight = hexes(count)
    tops = len(nodes) + np.arange(len(eight))
    five = [np.column_stack([eight[:, list(face)], tops]) for face in KINDS[12].faces]
    nodes = np.concatenate([nodes, nodes[eight].mean(axis=1)])
    return tessellation(nodes, [(14, np.concatenate(five))], on_cells)


def sphere_mesh(count: int, on_cells: bool = False) -> Tessellation:
    """A cube of quadrilaterals, blown up to the unit sphere, in degrees."""
    axis = np.tan(np.linspace(-np.pi / 4, np.pi / 4, count + 1))
    a, b = (each.ravel() for each in np.meshgrid(axis, axis, indexing="ij"))
    one = np.ones_like(a)
    sides = [(one, a, b), (-one, -a, b), (-a, one, b), (a, -one, b), (-b, a, one), (b, a, -one)]
    at = np.arange(len(a)).reshape(count + 1, count + 1)
    corners = (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:])
    four = np.stack([each.ravel() for each in corners], axis=1)
    vectors = np.concatenate([np.stack(side, axis=1) for side in sides])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cells = np.concatenate([four + side * len(a) for side in range(6)])
    _, first, same = np.unique(vectors.round(9), axis=0, return_index=True, return_inverse=True)
    x, y, z = vectors[first].T
    nodes = np.rad2deg(np.stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)], axis=1))
    return tessellation(nodes, [(9, same.ravel()[cells])], on_cells)


def surface_mesh(count: int, on_cells: bool = False) -> Tessellation:
    """Triangles on a quarter of a cylinder of radius 1 and length 1, in space."""
    flat = triangle_mesh(count)
    angle = np.pi / 2 * flat.nodes[:, 0]
    nodes = np.stack([np.cos(angle), np.sin(angle), flat.nodes[:, 1]], axis=1)
    return tessellation(nodes, [(5, flat.corners.reshape(-1, 3))], on_cells)
