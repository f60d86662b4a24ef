"""The Navier-Stokes benchmark: its random states, and what is recorded of them."""

import numpy as np

from smore.datasets import NavierStokesOptions
from smore.datasets.ensemble import Ensemble
from smore.datasets.navier_stokes import VorticityEquation, simulate
from smore.datasets.navier_stokes.benchmark import gaussian_random_field


def test_random_field_has_the_spectrum_it_is_named_for():
    """E|ω_k|² = τ^(2α-2) (4π²|k|² + τ²)^-α for k ≠ 0, and no mean."""
    stream = np.random.default_rng(0)
    fields = np.stack([gaussian_random_field(stream, 16, 2.5, 7.0) for _ in range(4000)])
    power = (abs(np.fft.fft2(fields) / 16**2) ** 2).mean(0)
    k = np.fft.fftfreq(16, 1 / 16)
    expected = 7.0**3 * (4 * np.pi**2 * (k[:, None] ** 2 + k**2) + 7.0**2) ** -2.5
    assert power[0, 0] < 1e-25
    np.testing.assert_allclose(power.ravel()[1:], expected.ravel()[1:], rtol=0.12)


def test_recording_starts_after_the_spin_up():
    """Snapshots are those of a single run of the equation from the same random state."""
    options = NavierStokesOptions(
        resolution=16, num_train=2, num_test=1, snapshots=2, spin_up=2.0, time_step=0.5
    )
    recorded = simulate(options, Ensemble())
    phase = 2 * np.pi * (recorded.x.values[:, None] + recorded.y.values)
    equation = VorticityEquation(16, options.viscosity, 0.1 * (np.sin(phase) + np.cos(phase)))
    train, test = options.random_streams()
    for index, stream in enumerate(train + test):
        state = equation.analysis(gaussian_random_field(stream, 16, 2.5, 7.0))
        state = equation.advance(state, 0.05, 40)
        for snapshot in recorded.vorticity.values[index]:
            np.testing.assert_allclose(snapshot, equation.synthesis(state), atol=1e-6)
            state = equation.advance(state, 0.05, 10)
    np.testing.assert_array_equal(recorded.time, [2.0, 2.5, 3.0, 3.5])
