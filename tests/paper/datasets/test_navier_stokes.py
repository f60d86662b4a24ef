"""The Navier-Stokes benchmark: its random states, and what is recorded of them."""

import numpy as np
import pytest

from smore_paper.datasets.ensemble import Ensemble
from smore_paper.datasets.navier_stokes.benchmark import (
    LiteralNavierStokesOptions,
    NavierStokesOptions,
    gaussian_random_field,
    simulate,
)
from smore_paper.datasets.navier_stokes.vorticity import VorticityEquation


@pytest.mark.parametrize("length", [1.0, 2.0])
def test_random_field_has_the_spectrum_it_is_named_for(length):
    """E|ω_k|² = τ^(2α-2) (4π²|k|²/L² + τ²)^-α / L² for k ≠ 0, and no mean."""
    stream = np.random.default_rng(0)
    fields = np.stack([gaussian_random_field(stream, 16, 2.5, 7.0, length) for _ in range(4000)])
    power = (abs(np.fft.fft2(fields) / 16**2) ** 2).mean(0)
    k = np.fft.fftfreq(16, 1 / 16) / length
    expected = 7.0**3 * (4 * np.pi**2 * (k[:, None] ** 2 + k**2) + 7.0**2) ** -2.5 / length**2
    assert power[0, 0] < 1e-25
    np.testing.assert_allclose(power.ravel()[1:], expected.ravel()[1:], rtol=0.12)


def test_random_field_has_the_same_variance_on_every_large_torus():
    """Σ_k of the spectrum above is a Riemann sum of ∫ τ³ (|k|² + τ²)^-2.5 dk / 4π² = 1/6π."""
    stream = np.random.default_rng(0)
    fields = [gaussian_random_field(stream, 256, 2.5, 7.0, length=8.0) for _ in range(40)]
    assert np.var(fields) == pytest.approx(1 / (6 * np.pi), rel=0.03)


def test_random_field_on_the_unit_torus_is_the_default_bit_by_bit():
    def draws(**options):
        return gaussian_random_field(np.random.default_rng(3), 16, 2.5, 7.0, **options)

    k = 2 * np.pi * np.fft.fftfreq(16, 1 / 16)
    deviation = 7.0**1.5 * (k[:, None] ** 2 + abs(k[None, :9]) ** 2 + 7.0**2) ** -1.25
    deviation[0, 0] = 0.0
    white = np.fft.rfft2(np.random.default_rng(3).standard_normal((16, 16)))
    expected = 16 * np.fft.irfft2(deviation * white, s=(16, 16))
    np.testing.assert_array_equal(draws(), expected)
    np.testing.assert_array_equal(draws(length=1.0), expected)


@pytest.mark.parametrize("kind", [NavierStokesOptions, LiteralNavierStokesOptions])
def test_recording_starts_after_the_spin_up(kind):
    """Snapshots are those of a single run of the equation from the same random state."""
    options = kind(resolution=16, num_train=2, num_test=1, snapshots=2, spin_up=2.0, time_step=0.5)
    length = {NavierStokesOptions: 1.0, LiteralNavierStokesOptions: 2.0}[kind]
    recorded = simulate(options, Ensemble())
    phase = 2 * np.pi * (recorded.x.values[:, None] + recorded.y.values)
    forcing = 0.1 * (np.sin(phase) + np.cos(phase))
    equation = VorticityEquation(16, options.viscosity, forcing, length)
    train, test = options.random_streams()
    for index, stream in enumerate(train + test):
        state = equation.analysis(gaussian_random_field(stream, 16, 2.5, 7.0, length))
        state = equation.advance(state, 0.05, 40)
        for snapshot in recorded.vorticity.values[index]:
            np.testing.assert_allclose(snapshot, equation.synthesis(state), atol=1e-6)
            state = equation.advance(state, 0.05, 10)
    np.testing.assert_array_equal(recorded.time, [2.0, 2.5, 3.0, 3.5])


def test_the_literal_domain_is_the_texts():
    small = {"resolution": 16, "num_train": 1, "num_test": 1, "snapshots": 2, "spin_up": 0.0}
    literal = simulate(LiteralNavierStokesOptions(**small), Ensemble())
    plain = simulate(NavierStokesOptions(**small), Ensemble())
    np.testing.assert_array_equal(literal.x, -1 + np.arange(16) / 8)
    np.testing.assert_array_equal(plain.x, np.arange(16) / 16)
    assert LiteralNavierStokesOptions().model_dump() == NavierStokesOptions().model_dump()


def test_the_literal_forcing_has_two_periods_along_each_side():
    """From rest and for a moment, ω = f t, and f = 0.1 (sin 2π(x+y) + cos 2π(x+y)) on [-1, 1)²."""
    options = LiteralNavierStokesOptions(
        resolution=16,
        num_train=1,
        num_test=1,
        snapshots=2,
        spin_up=0.0,
        time_step=1e-3,
        solver_step=1e-3,
        inverse_length=1e-6,  # τ^(2α-2): no initial field to speak of
    )
    recorded = simulate(options, Ensemble()).vorticity.values[0]
    spectrum = abs(np.fft.fft2(recorded[1] - recorded[0]) / 16**2)
    assert np.unravel_index(spectrum.argmax(), spectrum.shape) in [(2, 2), (14, 14)]
    assert spectrum.max() == pytest.approx(1e-4 / np.sqrt(2), rel=1e-3)
