"""Meshes of domains with holes, and what is simulated on them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from smore_paper.datasets.unstructured import SHAPES, Elements, triangulated
from smore_paper.datasets.unstructured.flow import FlowOptions, simulate_flow
from smore_paper.datasets.unstructured.heat import HeatOptions, initial_heat, simulate_heat
from smore_paper.datasets.unstructured.shapes import CYLINDERS, RADIUS

AREAS = {"cylinders": 3 - 2 * np.pi * RADIUS**2, "slit": 3 - 1.2 * 0.04}


@pytest.fixture(scope="module", params=[(name, seed) for name in AREAS for seed in range(3)])
def coarse(request):
    name, seed = request.param
    return name, *triangulated(SHAPES[name], seed, fineness=0.5, steps=30)


def test_a_mesh_fills_its_domain_and_no_more(coarse):
    name, points, triangles = coarse
    elements = Elements(points, triangles)
    assert (elements.areas > 0).all()
    assert elements.areas.sum() == pytest.approx(AREAS[name], rel=5e-3)
    assert (SHAPES[name].distance(points) < 1e-3).all()
    middles = points[triangles].mean(axis=1)
    assert (SHAPES[name].distance(middles) < 0).all()


def test_no_wall_has_a_leak(coarse):
    """Every edge of a single triangle has both ends on the boundary."""
    name, points, triangles = coarse
    neighbours = {}
    for triangle in triangles.tolist():
        for ends in itertools.combinations(sorted(triangle), 2):
            neighbours[ends] = neighbours.get(ends, 0) + 1
    border = sorted({end for ends, count in neighbours.items() if count == 1 for end in ends})
    np.testing.assert_allclose(SHAPES[name].distance(points[border]), 0, atol=1e-9)


def test_another_seed_is_another_mesh():
    meshes = [triangulated(SHAPES["slit"], seed, fineness=0.3, steps=10) for seed in (0, 1)]
    first, second = (points for points, _ in meshes)
    assert first.shape != second.shape or not np.allclose(first, second)


def test_matrices_of_linear_functions(coarse):
    _, points, triangles = coarse
    elements = Elements(points, triangles)
    area, ones = elements.areas.sum(), np.ones(len(points))
    u, v = points @ [2.0, -1.0], points @ [1.0, 3.0] + 1
    assert u @ elements.stiffness @ v == pytest.approx(area * (2 * 1 - 1 * 3))
    assert ones @ elements.mass @ ones == pytest.approx(area)
    for axis, slope in enumerate(elements.slopes):
        assert ones @ slope @ u == pytest.approx(area * [2.0, -1.0][axis])
    # (u·∇)u of u = (x, -y) is (x, y)
    velocity = points.T * np.array([[1.0], [-1.0]])
    found = elements.advection(velocity)
    assert found == pytest.approx((elements.mass @ points).T, abs=1e-12)


def test_heat_is_lost_through_the_cold_sides_only():
    points, triangles = triangulated(SHAPES["slit"], 0, fineness=0.5, steps=30)
    options = HeatOptions(num_times=6)
    times, fields = simulate_heat(points, triangles, 3, options)
    assert times == pytest.approx(options.step * np.arange(6))
    cold = (points > 2 - 1e-9).any(axis=1)
    assert not fields[:, cold].any()
    assert fields[0, ~cold] == pytest.approx(initial_heat(points, 3)[~cold])
    energy = np.einsum("tn,tn->t", fields, (Elements(points, triangles).mass @ fields.T).T)
    assert (np.diff(energy) < 0).all()


def test_a_flow_goes_around_the_cylinders():
    points, triangles = triangulated(SHAPES["cylinders"], 0, fineness=0.4, steps=30)
    options = FlowOptions(time_step=0.004, spin_up=150, num_times=2, every=5, viscosity=0.01)
    _, velocity = simulate_flow(points, triangles, options)
    assert np.isfinite(velocity).all()
    distance = np.min([np.linalg.norm(points - centre, axis=1) for centre in CYLINDERS], axis=0)
    assert not velocity[:, :, distance < RADIUS + 1e-5].any()
    # What flows in flows through every section of the channel: 1 on average.
    for x in (0.3, 1.6, 2.5):
        near = np.abs(points[:, 0] - x) < 0.05
        order = np.argsort(points[near, 1])
        speeds = velocity[-1, 0, near][order]
        assert np.trapezoid(speeds, points[near, 1][order]) == pytest.approx(1.0, abs=0.1)
