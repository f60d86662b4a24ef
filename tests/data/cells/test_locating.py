"""What is inside cells and how far the rest is outside, against literal oracles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import meshes
from smore.data.cells import Locator, Tessellation, cell_centres, simplices_of
from smore.data.cells.measures import from_unit_vectors


def l_shape(count: int = 8) -> Tessellation:
    """The unit square without its upper right quarter, in triangles."""
    nodes, four = meshes.quads(2 * count)
    axis = np.linspace(0, 1, 2 * count + 1)
    nodes = np.stack([e.ravel() for e in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    middle = nodes[four].mean(axis=1)
    four = four[~(middle > 0.5).all(axis=1)]
    return meshes.tessellation(
        nodes, [(5, np.concatenate([four[:, [0, 1, 2]], four[:, [0, 2, 3]]]))]
    )


def test_an_l_shape():
    locator = Locator(l_shape(), "box")
    places = np.random.default_rng(0).uniform(-0.3, 1.3, size=(3000, 2))
    # In the empty quarter and beyond it the nearer of both arms counts.
    arms = [
        np.column_stack([np.clip(places[:, 0], 0, a), np.clip(places[:, 1], 0, b)])
        for a, b in ((0.5, 1.0), (1.0, 0.5))
    ]
    exact = np.min([np.linalg.norm(places - arm, axis=1) for arm in arms], axis=0)
    assert np.allclose(locator.outside(places), exact, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [meshes.triangle_mesh, meshes.polygon_mesh, meshes.mixed_mesh, meshes.quadratic_mesh,
     meshes.tet_mesh, meshes.hex_mesh, meshes.wedge_mesh, meshes.pyramid_mesh],
)  # fmt: skip
def test_centres_are_inside_their_cells(make):
    cells = make(4)
    locator = Locator(cells, "box")
    found, shares = locator.find(cell_centres(cells, "box"))
    assert (found >= 0).all()
    assert (locator.cells[found] == np.arange(cells.num_cells)).mean() > 0.95
    places = np.einsum("ns,nsd->nd", shares, locator.nodes[locator.simplices[found]])
    assert np.allclose(places, cell_centres(cells, "box"), atol=1e-12)
    assert (locator.outside(cells.nodes) < 1e-9).all()


def test_simplices_that_are_flat_but_for_rounding_hold_nothing():
    random, cells = np.random.default_rng(0), meshes.quadratic_mesh(4)
    for _ in range(100):
        moved = cells.nodes * (1 + 1e-16 * random.integers(-2, 3, size=cells.nodes.shape))
        found, _ = Locator(replace(cells, nodes=moved), "box").find(cell_centres(cells, "box"))
        assert (found >= 0).all()


def test_cells_of_very_different_size():
    axis = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 25)])
    nodes = np.stack([e.ravel() for e in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    _, four = meshes.quads(25)
    locator = Locator(meshes.tessellation(nodes, [(9, four)]), "box")
    places = np.random.default_rng(0).uniform(size=(500, 2)) ** 6
    found, _ = locator.find(places)
    number = np.searchsorted(axis, places[:, 0]) - 1, np.searchsorted(axis, places[:, 1]) - 1
    assert (locator.cells[found] == number[0] * 25 + number[1]).all()


def test_on_a_sphere():
    cells = meshes.sphere_mesh(6)
    random = np.random.default_rng(0).normal(size=(500, 3))
    places = from_unit_vectors(random)
    assert (Locator(cells, "sphere").find(places)[0] >= 0).all()
    north = cells.nodes[cells.corners.reshape(-1, 4)][:, :, 0].min(axis=1) > -1e-9
    half = meshes.tessellation(cells.nodes, [(9, cells.corners.reshape(-1, 4)[north])])
    outside = Locator(half, "sphere").outside(np.array([[45.0, 10.0], [-20.0, 10.0], [-90.0, 0.0]]))
    assert outside == pytest.approx([0.0, 20.0, 90.0], abs=0.5)


def test_simplices_fill_their_cells():
    for make in (meshes.hex_mesh, meshes.wedge_mesh, meshes.pyramid_mesh, meshes.tet_mesh):
        cells = make(1)
        flat = Tessellation(
            np.round(cells.nodes), cells.kinds, cells.offsets, cells.corners, cells.on_cells
        )
        if make is meshes.pyramid_mesh:
            flat = cells
        simplices, _ = simplices_of(flat)
        sides = flat.nodes[simplices[:, 1:]] - flat.nodes[simplices[:, :1]]
        assert np.abs(np.linalg.det(sides)).sum() / 6 == pytest.approx(1.0)
