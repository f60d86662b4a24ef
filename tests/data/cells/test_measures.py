"""Weights from cells: integrals converge at second order, whatever the cells are."""

from __future__ import annotations

import numpy as np
import pytest

import meshes
from smore.data.cells import Tessellation, cell_centres, cell_measures, filling, point_weights
from smore.data.cells.measures import to_unit_vectors
from smore.errors import DataError

SQUARE = (np.e - 1) ** 2  # ∫ exp(x + y)
CUBE = (np.e - 1) ** 3
# ∫ exp(x + z) over the quarter of a cylinder, by a fine midpoint rule
ANGLES = (np.arange(20000) + 0.5) / 20000 * np.pi / 2
CYLINDER = float(np.mean(np.exp(np.cos(ANGLES))) * np.pi / 2 * (np.e - 1))

TYPES = {
    "triangles": (meshes.triangle_mesh, "box", SQUARE, 8),
    "quadrilaterals": (meshes.quad_mesh, "box", SQUARE, 8),
    "triangles and quadrilaterals": (meshes.mixed_mesh, "box", SQUARE, 8),
    "polygons": (meshes.polygon_mesh, "box", SQUARE, 8),
    "quadratic triangles": (meshes.quadratic_mesh, "box", SQUARE, 8),
    "tetrahedra": (meshes.tet_mesh, "box", CUBE, 4),
    "hexahedra": (meshes.hex_mesh, "box", CUBE, 4),
    "wedges": (meshes.wedge_mesh, "box", CUBE, 4),
    "pyramids": (meshes.pyramid_mesh, "box", CUBE, 4),
    "quadrilaterals on a sphere": (meshes.sphere_mesh, "sphere", np.pi * np.sinh(4.0), 6),
    "triangles on a surface": (meshes.surface_mesh, "box", CYLINDER, 8),
}


def smooth(places, name):
    if name.endswith("sphere"):  # ∫ exp(4a·x) = π sinh 4
        return np.exp(4 * to_unit_vectors(places) @ np.array([0.48, 0.6, 0.64]))
    if name.endswith("surface"):
        return np.exp(places[:, 0] + places[:, 2])
    return np.exp(places.sum(axis=1))


@pytest.mark.parametrize("on_cells", [False, True], ids=["points", "cells"])
@pytest.mark.parametrize("name", TYPES)
def test_second_order(name, on_cells):
    make, geometry, exact, coarse = TYPES[name]
    errors = []
    for count in (coarse, 2 * coarse, 4 * coarse):
        cells = make(count, on_cells)
        places = cell_centres(cells, geometry) if on_cells else cells.nodes
        errors.append(abs(point_weights(cells, geometry) @ smooth(places, name) - exact))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders.min() > 1.8, (errors, orders)
    assert errors[-1] < 0.01 * exact


@pytest.mark.parametrize("name", [name for name in TYPES if TYPES[name][1] == "box"][:9])
def test_linear_functions_are_integrated_exactly(name):
    make, _, _, count = TYPES[name]
    cells = make(count)
    slope = np.arange(1.0, cells.nodes.shape[1] + 1)
    exact = 1 + slope.sum() / 2
    assert point_weights(cells, "box") @ (1 + cells.nodes @ slope) == pytest.approx(exact)
    centres, measures = cell_centres(cells, "box"), cell_measures(cells, "box")
    assert measures @ (1 + centres @ slope) == pytest.approx(exact)


def test_measures_do_not_depend_on_the_sense_of_rotation():
    cells = meshes.quad_mesh(4)
    turned = meshes.tessellation(cells.nodes, [(9, cells.corners.reshape(-1, 4)[:, ::-1])])
    assert cell_measures(cells, "box") == pytest.approx(cell_measures(turned, "box"))
    assert point_weights(cells, "box") == pytest.approx(point_weights(turned, "box"))


def test_far_from_the_origin_centres_keep_their_digits():
    cells = meshes.triangle_mesh(4)
    far = meshes.tessellation(cells.nodes + 1e8, [(5, cells.corners.reshape(-1, 3))])
    difference = cell_centres(far, "box") - 1e8 - cell_centres(cells, "box")
    assert np.abs(difference).max() < 1e-7


def test_cells_of_the_boundary_are_left_out():
    _, four = meshes.quads(2)
    kinds = np.array([1, 3, *[9] * len(four), 8])
    corners = np.concatenate([[0], [0, 1], four.ravel(), four[0][[0, 1, 3, 2]]])
    offsets = np.cumsum([0, 1, 2, *[4] * len(four), 4])
    found = filling(kinds, offsets, corners)
    assert found[3].tolist() == [2, 3, 4, 5, 6]
    assert found[2].reshape(-1, 4).tolist() == [*four.tolist(), four[0].tolist()]
    assert found[0].tolist() == [9] * 5


@pytest.mark.parametrize(
    ("kinds", "offsets", "corners", "words"),
    [
        ([5], [0, 3], [0, 1, 9], "nodes 0 to 9"),
        ([5], [0, 3], [0, 1, -1], "nodes -1 to 1"),
        ([5], [0, 4], [0, 1, 2], "ends up to 4"),
        ([5], [0, 2], [0, 1], "3 nodes of a triangle, got 2"),
        ([42], [0, 3], [0, 1, 2], "VTK's kind 42"),
        ([5, 3], [0, 3, 5], [0, 1, 2, 0, 1], "one dimension"),
        ([], [0], [], "one or more cells"),
        ([7], [0, 2], [0, 1], "3 or more nodes of a polygon"),
    ],
)
def test_impossible_cells_are_refused(kinds, offsets, corners, words):
    with pytest.raises(DataError, match=words):
        Tessellation.checked(
            np.zeros((4, 2)), np.array(kinds), np.array(offsets), np.array(corners), on_cells=False
        )


def test_flat_cells_are_refused():
    cells = meshes.tessellation(np.zeros((3, 2)), [(5, np.array([[0, 1, 2]]))])
    with pytest.raises(DataError, match="these have none"):
        point_weights(cells, "box")
