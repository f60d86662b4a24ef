"""Harmonic analysis on the sphere, checked on fields with derivatives known by hand."""

import numpy as np
import pytest

from smore_paper.datasets.shallow_water.sphere import Sphere


@pytest.fixture(scope="module")
def sphere():
    return Sphere(32)


@pytest.fixture(scope="module")
def angles(sphere):
    return np.meshgrid(sphere.latitude, sphere.longitude, indexing="ij")


@pytest.fixture
def random_coefficients(sphere):
    """Two sets of coefficients of real fields without mean."""
    stream = np.random.default_rng(0)
    size = (2, sphere.laplacian.size)
    coefficients = stream.standard_normal(size) + 1j * stream.standard_normal(size)
    coefficients[:, : sphere.truncation + 1].imag = 0.0
    return coefficients * (sphere.laplacian < 0)


def test_rows_run_southward_and_columns_eastward(sphere):
    assert sphere.latitude[0] > 0.95 * np.pi / 2
    assert (np.diff(sphere.latitude) < 0).all()
    np.testing.assert_allclose(sphere.latitude, -sphere.latitude[::-1], atol=1e-15)
    np.testing.assert_allclose(np.diff(sphere.longitude), 2 * np.pi / 64)


@pytest.mark.parametrize(("num_latitudes", "truncation"), [(128, 85), (64, 42), (32, 21)])
def test_truncation_leaves_room_for_products(num_latitudes, truncation):
    assert Sphere(num_latitudes).truncation == truncation


def test_scalar_round_trip(sphere, random_coefficients):
    first, _ = random_coefficients
    np.testing.assert_allclose(sphere.analysis(sphere.synthesis(first)), first, atol=1e-12)


def test_vector_round_trip(sphere, random_coefficients):
    divergence, vorticity = random_coefficients
    found = sphere.divergence_and_vorticity(sphere.vector(divergence, vorticity))
    np.testing.assert_allclose(found, random_coefficients, atol=1e-12)


def test_laplacian(sphere, angles):
    """Δ(x y) = -6 x y on the sphere, with x y = ½ cos²φ sin 2λ."""
    latitude, longitude = angles
    field = np.cos(latitude) ** 2 * np.sin(2 * longitude) / 2
    laplacian = sphere.synthesis(sphere.laplacian * sphere.analysis(field))
    np.testing.assert_allclose(laplacian, -6 * field, atol=1e-12)


def test_inverse_laplacian(sphere, random_coefficients):
    first, _ = random_coefficients
    restored = sphere.inverse_laplacian * sphere.laplacian * first
    np.testing.assert_allclose(restored, first, atol=1e-14)


def test_vector_of_a_divergence_is_a_gradient(sphere, angles):
    """χ = sin φ + cos φ sin λ: ∇χ = (-∂χ/∂φ southward, ∂χ/∂λ / cos φ eastward)."""
    latitude, longitude = angles
    potential = np.sin(latitude) + np.cos(latitude) * np.sin(longitude)
    divergence = sphere.laplacian * sphere.analysis(potential)
    southward, eastward = sphere.vector(divergence, np.zeros_like(divergence))
    gradient = np.cos(latitude) - np.sin(latitude) * np.sin(longitude)
    np.testing.assert_allclose(southward, -gradient, atol=1e-12)
    np.testing.assert_allclose(eastward, np.cos(longitude), atol=1e-12)


def test_solid_body_rotation_has_positive_vorticity_in_the_north(sphere, angles):
    """u = cos φ eastward: ζ = 2 sin φ, ∇·v = 0."""
    latitude, _ = angles
    wind = np.stack([np.zeros_like(latitude), np.cos(latitude)])
    divergence, vorticity = sphere.divergence_and_vorticity(wind)
    np.testing.assert_allclose(sphere.synthesis(vorticity), 2 * np.sin(latitude), atol=1e-12)
    np.testing.assert_allclose(divergence, 0.0, atol=1e-12)
    np.testing.assert_allclose(sphere.vector(0 * vorticity, vorticity), wind, atol=1e-12)
