"""The shallow-water equations: steady flows, conservation and the benchmark's jets."""

import numpy as np
import pytest

from smore_paper.datasets.ensemble import Ensemble
from smore_paper.datasets.shallow_water.benchmark import (
    LiteralShallowWaterOptions,
    ShallowWaterOptions,
    damping,
    simulate,
)
from smore_paper.datasets.shallow_water.earth import GRAVITY, METRE, ROTATION, SECOND
from smore_paper.datasets.shallow_water.equations import ShallowWaterEquations
from smore_paper.datasets.shallow_water.galewsky import initial_state, jet
from smore_paper.datasets.shallow_water.sphere import Sphere

METRE_PER_SECOND = METRE / SECOND
TEN_MINUTES = 1 / 6


@pytest.fixture(scope="module")
def sphere():
    return Sphere(64)


@pytest.fixture(scope="module")
def angles(sphere):
    return np.meshgrid(sphere.latitude, sphere.longitude, indexing="ij")


@pytest.fixture
def inviscid(sphere):
    return ShallowWaterEquations(sphere, np.zeros_like(sphere.laplacian))


@pytest.fixture
def diffusive(sphere):
    return ShallowWaterEquations(sphere, damping(sphere, ShallowWaterOptions()))


@pytest.mark.parametrize("tilt", [0.0, 0.05, np.pi / 2 - 0.05, np.pi / 2])
def test_williamson_2_stays_steady(inviscid, sphere, angles, tilt):
    """Solid-body flow about a tilted axis, in balance: ζ = 2u₀ s, gh = -(Ωu₀ + u₀²/2) s².

    s is the sine of the latitude about the tilted axis, and so is the Coriolis parameter 2Ω s.
    """
    latitude, longitude = angles
    sine = np.sin(latitude) * np.cos(tilt) - np.cos(longitude) * np.cos(latitude) * np.sin(tilt)
    inviscid.coriolis = 2 * ROTATION * sine
    speed = 2 * np.pi / (12 * 24)
    start = inviscid.balanced(sphere.analysis(2 * speed * sine))
    expected = -(ROTATION * speed + speed**2 / 2) * (sine**2 - 1 / 3)
    np.testing.assert_allclose(sphere.synthesis(start[2]), expected, atol=1e-13 * GRAVITY)
    end = inviscid.advance(start, TEN_MINUTES, 5 * 24 * 6 // 5)
    np.testing.assert_allclose(end, start, rtol=0, atol=1e-11 * abs(start).max())


def test_jet_balance_is_that_of_the_gradient_wind():
    """∂(gh)/∂φ = -u (f + u tan φ) for a zonal flow, up to what the truncation cuts off."""
    sphere = Sphere(256)
    equations = ShallowWaterEquations(sphere, np.zeros_like(sphere.laplacian))
    speed = 80 * METRE_PER_SECOND
    geopotential = initial_state(equations, speed, height=0.0)[2]
    divergence = sphere.laplacian * geopotential
    southward, eastward = sphere.vector(divergence, np.zeros_like(divergence))
    wind = jet(sphere.latitude, speed)
    expected = wind * (2 * ROTATION * np.sin(sphere.latitude) + wind * np.tan(sphere.latitude))
    np.testing.assert_allclose(southward[:, 0], expected, atol=1e-6 * expected.max())
    assert np.ptp(southward, axis=1).max() < 1e-10 * expected.max()
    assert abs(eastward).max() < 1e-10 * expected.max()


def test_jets_peak_at_their_speed_and_end_at_their_edges():
    latitude = np.linspace(-np.pi / 2, np.pi / 2, 100_001)
    wind = jet(latitude, 70.0)
    np.testing.assert_allclose(wind, wind[::-1], atol=1e-10)
    assert wind.max() == pytest.approx(70.0)
    assert abs(latitude[wind.argmax()]) == pytest.approx(np.pi / 4, abs=1e-4)
    outside = (abs(latitude) < np.pi / 7) | (abs(latitude) > np.pi / 2 - np.pi / 7)
    assert (wind[outside] == 0).all()


def test_unperturbed_jet_stays_zonal(diffusive, sphere):
    state = initial_state(diffusive, 80 * METRE_PER_SECOND, height=0.0)
    vorticity, divergence, _ = diffusive.advance(state, TEN_MINUTES, 144)
    southward, eastward = sphere.vector(divergence, vorticity)
    assert np.ptp(eastward, axis=1).max() < 1e-10 * METRE_PER_SECOND
    assert np.ptp(southward, axis=1).max() < 1e-10 * METRE_PER_SECOND


def test_mass_and_circulation_are_conserved_to_round_off(diffusive):
    start = initial_state(diffusive, 80 * METRE_PER_SECOND, height=120 * METRE)
    vorticity, divergence, geopotential = diffusive.advance(start, TEN_MINUTES, 144)
    assert abs(geopotential[0] - start[2, 0]) < 1e-14 * abs(start[2]).max()
    assert abs(vorticity[0]) < 1e-14 * abs(vorticity).max()
    assert abs(divergence[0]) < 1e-14 * abs(vorticity).max()


def test_second_order_in_time(diffusive):
    start = initial_state(diffusive, 80 * METRE_PER_SECOND, height=120 * METRE)
    reference = diffusive.advance(start, 1 / 96, 192)
    steps = np.array([1 / 6, 1 / 12, 1 / 24])
    errors = [
        np.linalg.norm(diffusive.advance(start, step, round(2 / step))[0] - reference[0])
        for step in steps
    ]
    order, _ = np.polyfit(np.log(steps), np.log(errors), 1)
    assert order == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("degree", [8, 32, 40])
@pytest.mark.parametrize("kind", [ShallowWaterOptions, LiteralShallowWaterOptions])
def test_a_harmonic_decays_as_its_diffusion_says(sphere, degree, kind):
    """ζ of order 0 without rotation: a faint zonal flow, which nothing but diffusion changes.

    The text's ν Δ takes exp(-ν l(l+1) t/R²) off it, the benchmark's exp(-ν (l(l+1))² t/(32 R)²).
    """
    equations = ShallowWaterEquations(sphere, damping(sphere, kind()))
    equations.coriolis = np.zeros_like(equations.coriolis)
    start = np.zeros((3, sphere.laplacian.size), complex)
    start[0, degree] = 1e-9  # coefficients of order 0 come first
    hours, radius = 12, 6.37122e6
    vorticity = equations.advance(start, TEN_MINUTES, 6 * hours)[0]
    squared = degree * (degree + 1)
    power = squared if kind is LiteralShallowWaterOptions else squared**2 / 32**2
    expected = 1e-9 * np.exp(-1e5 * power * hours * 3600 / radius**2)
    assert vorticity[degree].real == pytest.approx(expected, rel=1e-4)
    assert abs(np.delete(vorticity, degree)).max() < 1e-14


def test_literal_options_differ_in_the_order_of_diffusion_only():
    literal = LiteralShallowWaterOptions().model_dump()
    assert literal == ShallowWaterOptions(diffusion_order=2).model_dump()


def test_implicit_terms_are_inverted(diffusive, sphere):
    """(1 - τL) solve(Y, τ) = Y with L written out."""
    stream = np.random.default_rng(0)
    given = stream.standard_normal((3, sphere.laplacian.size)) + 0j
    vorticity, divergence, geopotential = found = diffusive.solve(given, 0.3)
    linear = np.stack(
        [0 * vorticity, -sphere.laplacian * geopotential, -GRAVITY * 1e4 * METRE * divergence]
    )
    restored = found - 0.3 * (linear - diffusive.damping * found)
    np.testing.assert_allclose(restored, given, atol=1e-9)


@pytest.mark.parametrize("order", [2, 4])
def test_diffusion_of_either_order_is_equally_strong_at_degree_32(sphere, order):
    """ν (32/R)² = 1e5 m²/s · 32² / R², per hour."""
    rate = damping(sphere, ShallowWaterOptions(diffusion_order=order))
    at_32 = np.interp(32**2, -sphere.laplacian[:43], rate[:43])
    assert at_32 == pytest.approx(1e5 * 3600 * (32 / 6.37122e6) ** 2, rel=1e-2)
    assert rate[0] == 0


def test_recorded_channels_are_scaled_height_and_vorticity():
    options = ShallowWaterOptions(
        resolution=32, num_train=1, num_test=1, hours=5, keep_last=4, snapshots=2
    )
    recorded = simulate(options, Ensemble())
    sphere = Sphere(32)
    equations = ShallowWaterEquations(sphere, damping(sphere, options))
    for index in range(2):
        one = recorded.isel(trajectory=index)
        speed = float(one.jet_speed) * METRE_PER_SECOND
        state = initial_state(equations, speed, height=120 * METRE)
        vorticity, _, geopotential = equations.advance(state, TEN_MINUTES, 30)
        height = sphere.synthesis(geopotential) / GRAVITY
        np.testing.assert_allclose(one.height[-1], 3e3 * height[::2, ::2], atol=1e-6)
        np.testing.assert_allclose(
            one.vorticity[-1], 2 * sphere.synthesis(vorticity)[::2, ::2], atol=1e-6
        )
        in_metres = one.height[-1] * one.height.attrs["scale"]
        np.testing.assert_allclose(in_metres, height[::2, ::2] / METRE, rtol=1e-4, atol=1e-2)
    np.testing.assert_array_equal(recorded.time, [2, 3, 4, 5])
    np.testing.assert_allclose(recorded.lat, np.rad2deg(sphere.latitude)[::2])
    np.testing.assert_allclose(recorded.lon, np.arange(32) * 360 / 32)
