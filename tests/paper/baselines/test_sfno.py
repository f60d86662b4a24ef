"""Spherical harmonics on the benchmark's grid, and the layer built on them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from grids import noise, on_box, on_sphere

from smore.errors import DataError
from smore_paper.baselines.sfno import SFNO, HarmonicLayer, Harmonics, latitude_weights
from smore_paper.datasets.shallow_water.sphere import Sphere

MODES, ROWS = 6, 16


@pytest.fixture(scope="module")
def latitudes():
    """Every second Gaussian latitude, as the benchmark records them."""
    return np.rad2deg(Sphere(2 * ROWS).latitude[::2])


@pytest.fixture(scope="module")
def harmonics(latitudes):
    return Harmonics(latitudes, 2 * ROWS, MODES)


def random_coefficients(*shape: int, seed: int = 0) -> torch.Tensor:
    """Coefficients (..., l, m) of real fields: none for m > l, real ones for m = 0."""
    torch.manual_seed(seed)
    coefficients = torch.randn(*shape, MODES, MODES, dtype=torch.cfloat).tril()
    coefficients[..., 0] = coefficients[..., 0].real.to(torch.cfloat)
    return coefficients


def test_fields_equal_those_of_ducc(harmonics):
    sphere = Sphere(2 * ROWS)
    coefficients = random_coefficients().numpy()
    packed = np.zeros(sphere.laplacian.size, np.complex128)
    start = 0
    for order in range(MODES):
        packed[start : start + MODES - order] = coefficients[order:, order]
        start += sphere.truncation + 1 - order
    expected = sphere.synthesis(packed)[::2, ::2]
    field = harmonics.synthesis(torch.from_numpy(coefficients))
    np.testing.assert_allclose(field.numpy(), expected, atol=1e-5)


def test_transform_and_inverse_are_exact_on_band_limited_fields(harmonics):
    coefficients = random_coefficients(3)
    field = harmonics.synthesis(coefficients)
    torch.testing.assert_close(harmonics.analysis(field), coefficients, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(harmonics.synthesis(harmonics.analysis(field)), field)


def test_analysis_of_finer_fields_has_no_aliases(latitudes, harmonics):
    """Degrees 6 and 7 are on the grid but not among the coefficients."""
    high = Harmonics(latitudes, 2 * ROWS, ROWS // 2)
    coefficients = torch.randn(ROWS // 2, ROWS // 2, dtype=torch.cfloat)
    coefficients[:MODES] = 0
    rest = harmonics.analysis(high.synthesis(coefficients))
    torch.testing.assert_close(rest, torch.zeros_like(rest), rtol=0, atol=1e-5)


def test_quadrature_is_exact_for_polynomials_below_the_number_of_latitudes(latitudes):
    height = np.sin(np.deg2rad(latitudes))
    weights = latitude_weights(height, MODES)
    degrees = np.arange(ROWS)
    expected = np.where(degrees % 2, 0.0, 2 / (degrees + 1))
    np.testing.assert_allclose(weights @ height[:, None] ** degrees, expected, atol=1e-12)


def test_on_gaussian_latitudes_the_rule_is_that_of_gauss():
    height, expected = np.polynomial.legendre.leggauss(ROWS)
    np.testing.assert_allclose(latitude_weights(height, MODES), expected, atol=1e-13)


def test_layer_commutes_with_rotation_about_the_axis(harmonics):
    torch.manual_seed(0)
    layer = HarmonicLayer(3, harmonics)
    v = torch.randn(2, 3, ROWS, 2 * ROWS)
    rotated = layer(v.roll(5, -1))
    torch.testing.assert_close(rotated, layer(v).roll(5, -1), rtol=1e-4, atol=1e-6)


def test_layer_is_the_same_at_another_resolution(harmonics):
    torch.manual_seed(0)
    layer = HarmonicLayer(3, harmonics)
    finer = HarmonicLayer(3, Harmonics(np.rad2deg(Sphere(2 * ROWS).latitude), 4 * ROWS, MODES))
    finer.load_state_dict(layer.state_dict())
    coefficients = random_coefficients(2, 3)
    outputs, gradients = [], []
    for each in (layer, finer):
        out = each(each.harmonics.synthesis(coefficients))
        loss = each.harmonics.analysis(out).abs().square().sum()
        outputs.append(each.harmonics.analysis(out))
        gradients.append(torch.autograd.grad(loss, each.weights)[0])
    torch.testing.assert_close(*outputs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_gradient_is_that_of_the_linear_map(harmonics):
    """The matrix of synthesis after analysis, column by column, and its transpose."""
    points = ROWS * 2 * ROWS
    columns = torch.eye(points).view(points, ROWS, 2 * ROWS)
    matrix = harmonics.synthesis(harmonics.analysis(columns)).flatten(1).T
    field = torch.randn(ROWS, 2 * ROWS, requires_grad=True)
    cotangent = torch.randn(ROWS, 2 * ROWS)
    out = harmonics.synthesis(harmonics.analysis(field))
    (gradient,) = torch.autograd.grad(out, field, cotangent)
    torch.testing.assert_close(gradient.flatten(), matrix.T @ cotangent.flatten())


def test_boxes_regions_and_coarse_grids_are_refused():
    with pytest.raises(DataError, match="use FNO there"):
        SFNO(4, 2, 1).fit(on_box(noise(1, 2, 1, 16, 16)), seed=0, epochs=1)
    with pytest.raises(DataError, match="at least 24 latitudes"):
        SFNO(12, 2, 1).fit(on_sphere(noise(1, 2, 1, 16, 32)), seed=0, epochs=1)
    globe = on_sphere(noise(1, 2, 1, 16, 32))
    regions = [globe.to_xarray().isel(lat=slice(10)), globe.to_xarray().isel(lon=slice(20))]
    for region, reason in zip(regions, ("pole to pole", "whole globe"), strict=True):
        with pytest.raises(DataError, match=reason):
            SFNO(4, 2, 1).fit(type(globe).from_xarray(region), seed=0, epochs=1)
