"""The example of the demo: exact waves, scaled alike in training and test data."""

import numpy as np

from smore.waves import example, solution


def test_the_example_solves_the_wave_equation():
    """u_tt = c² Δu, with derivatives of a spectrum in space and of a difference in time."""
    training, _ = example(2, 1, resolution=32)
    u = training["u"].values.astype(float)
    wavenumbers = 2 * np.pi * np.fft.fftfreq(32, 2 / 32)
    square = wavenumbers[:, None] ** 2 + wavenumbers**2
    laplacian = np.fft.ifft2(-square * np.fft.fft2(u)).real
    acceleration = (u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2]) / 0.25**2
    expected = laplacian[:, 1:-1] / 16**2
    assert np.abs(acceleration - expected).max() < 0.01 * np.abs(expected).max()


def test_both_parts_have_the_scale_of_the_training_data():
    few, many = example(3, 1, resolution=8), example(3, 2, resolution=8)
    np.testing.assert_allclose([few[0][name].std() for name in ("u", "u_t")], 1, rtol=1e-5)
    for name in ("u", "u_t"):
        np.testing.assert_array_equal(few[1][name], many[1][name][:2])
    assert few[1].sizes["sequence"] == 2
    np.testing.assert_array_equal(few[0]["trajectory"], [0, 0, 1, 1, 2, 2])


def test_the_second_sequence_goes_on_where_the_first_ends():
    (training, _), random = example(1, 1, resolution=16), np.random.default_rng(0)
    amplitude, centre, width = (
        random.uniform(2, 4),
        random.uniform(-1, 1, 2),
        random.uniform(0.25, 0.3),
    )
    axis = -1 + 2 * np.arange(16) / 16
    coords = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    u, _ = solution(amplitude, centre, width, coords, 0.25 * np.arange(40), 1 / 16)
    found = training["u"].values.reshape(40, -1)
    np.testing.assert_allclose(found / found.std(), u / u.std(), atol=1e-5)
