"""Points without cells: the shape they have, and what they weigh."""

from __future__ import annotations

import numpy as np
import pytest
from test_locating import l_shape

import meshes
from smore.data.cells import Locator, alpha_cells, cell_measures, point_weights


def disc_with_hole(count: int, seed: int = 0) -> np.ndarray:
    """Random points between circles of radius 0.4 and 1."""
    random = np.random.default_rng(seed)
    radius = np.sqrt(random.uniform(0.16, 1, count))
    angle = random.uniform(0, 2 * np.pi, count)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def test_a_hole_stays_a_hole():
    cells = alpha_cells(disc_with_hole(4000), "box")
    assert cells is not None
    assert cell_measures(cells, "box").sum() == pytest.approx(np.pi * 0.84, rel=0.05)
    locator = Locator(cells, "box")
    ring = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    circle = np.column_stack([np.cos(ring), np.sin(ring)])
    assert (locator.outside(0.3 * circle) > 0.05).all()
    assert (locator.outside(0.7 * circle) == 0).all()


def test_weights_integrate_better_than_equal_ones():
    """Of points that are three times as dense on one side, which the domain is not."""
    errors = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        places = random.uniform(-1, 1, size=(4000, 2))
        places = places[random.uniform(size=4000) < np.where(places[:, 0] > 0, 1.0, 0.3)]
        cells = alpha_cells(places, "box")
        assert cells is not None
        weights = point_weights(cells, "box")
        field = np.exp(places[:, 0])
        errors.append([weights @ field / weights.sum() - np.sinh(1), field.mean() - np.sinh(1)])
    ours, equal = np.abs(errors).mean(axis=0)
    assert ours < 0.05 * equal


def test_an_l_shape_is_none_the_wider():
    places = l_shape(16).nodes
    used = places[~(places > 0.5).all(axis=1)]
    cells = alpha_cells(used, "box")
    assert cells is not None
    assert cell_measures(cells, "box").sum() == pytest.approx(0.75, rel=0.01)


def test_a_globe_and_half_of_it():
    nodes = meshes.sphere_mesh(12).nodes
    whole = alpha_cells(nodes, "sphere")
    assert whole is not None
    assert cell_measures(whole, "sphere").sum() == pytest.approx(4 * np.pi)
    half = alpha_cells(nodes[nodes[:, 0] > -1e-6], "sphere")
    assert half is not None
    assert cell_measures(half, "sphere").sum() == pytest.approx(2 * np.pi, rel=0.02)


def test_points_in_space():
    nodes = np.random.default_rng(0).uniform(size=(3000, 3))
    cells = alpha_cells(nodes, "box")
    assert cells is not None
    assert cell_measures(cells, "box").sum() == pytest.approx(1.0, rel=0.15)


@pytest.mark.parametrize(
    "places",
    [
        np.random.default_rng(0).uniform(size=(8, 2)),
        np.column_stack([np.arange(40.0), 2 * np.arange(40.0)]),
        np.random.default_rng(0).uniform(size=(40, 1)),
        np.random.default_rng(0).uniform(size=(40, 4)),
        np.zeros((40, 2)),
        np.full((40, 2), np.nan),
    ],
)
def test_where_there_is_no_telling(places):
    assert alpha_cells(places, "box") is None
