"""Meshes with holes and bays, which pictures and forecasts must not fill."""

from __future__ import annotations

import numpy as np

import meshes
from smore.data.cells import Tessellation


def l_shape(on_cells: bool) -> Tessellation:
    """The unit square without its upper right quarter and with a square hole, in mixed cells."""
    nodes, four = meshes.quads(16)
    middle = nodes[four].mean(axis=1)
    hole = (np.abs(middle - 0.25) < 0.1).all(axis=1)
    four = four[~(middle > 0.5).all(axis=1) & ~hole]
    used, corners = np.unique(four, return_inverse=True)
    four = corners.reshape(-1, 4)
    half = len(four) // 2
    three = np.concatenate([four[:half, [0, 1, 2]], four[:half, [0, 2, 3]]])
    return meshes.tessellation(nodes[used], [(5, three), (9, four[half:])], on_cells)


def solid(on_cells: bool) -> Tessellation:
    """A slab of hexahedra with a square hole through it."""
    nodes, eight = meshes.hexes(10)
    middle = nodes[eight].mean(axis=1)
    eight = eight[~(np.abs(middle[:, :2] - 0.5) < 0.2).all(axis=1)]
    used, corners = np.unique(eight, return_inverse=True)
    cells = [(12, corners.reshape(-1, 8))]
    return meshes.tessellation(nodes[used] * [1, 1, 0.4], cells, on_cells)
