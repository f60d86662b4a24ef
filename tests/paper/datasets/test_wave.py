"""The Wave benchmark against the equation it claims to solve."""

import numpy as np
import pytest

from smore.waves import solution
from smore_paper.datasets.ensemble import Ensemble
from smore_paper.datasets.wave import LiteralWaveOptions, WaveOptions, simulate

PULSE = {"amplitude": 3.0, "center": (0.7, -0.2), "width": 0.27}
SPEED = 1 / 16


def periodised_gaussian(coords, amplitude, center, width):
    """The initial state summed over images in real space, an oracle without Fourier modes."""
    periods = 2.0 * np.arange(-5, 6)
    shifts = np.stack(np.meshgrid(periods, periods), -1).reshape(-1, 2)
    distance = coords[:, None] - np.asarray(center) + shifts
    return amplitude * np.exp(-(distance**2).sum(-1) / (2 * width**2)).sum(1)


@pytest.fixture
def points():
    return np.random.default_rng(0).uniform(-1, 1, size=(50, 2))


@pytest.mark.parametrize("width", [0.02, 0.27, 0.8])
def test_starts_as_a_periodised_gaussian_at_rest(points, width):
    pulse = PULSE | {"width": width}
    u, u_t = solution(**pulse, coords=points, times=[0.0], speed=SPEED)
    np.testing.assert_allclose(u[0], periodised_gaussian(points, **pulse), atol=1e-13)
    np.testing.assert_array_equal(u_t[0], 0.0)


def test_solves_the_wave_equation(points):
    """u_tt - c² Δu vanishes, each derivative a central difference of sixth order."""
    stencil = np.array([1 / 90, -3 / 20, 3 / 2, -49 / 18, 3 / 2, -3 / 20, 1 / 90])
    offsets = np.arange(-3, 4)
    time, space = 0.4, 0.02

    def u(coords, times):
        return solution(**PULSE, coords=coords, times=times, speed=SPEED)[0]

    u_tt = stencil @ u(points, 5.0 + time * offsets) / time**2
    laplacian = sum(
        weight * u(points + offset * space * axis, [5.0])[0] / space**2
        for axis in np.eye(2)
        for weight, offset in zip(stencil, offsets, strict=True)
    )
    np.testing.assert_allclose(u_tt, SPEED**2 * laplacian, atol=1e-6 * abs(u_tt).max())


def test_second_channel_is_the_time_derivative(points):
    step = 1e-3
    u, _ = solution(**PULSE, coords=points, times=[7 - step, 7 + step], speed=SPEED)
    _, u_t = solution(**PULSE, coords=points, times=[7.0], speed=SPEED)
    np.testing.assert_allclose((u[1] - u[0]) / (2 * step), u_t[0], atol=1e-7)


@pytest.mark.parametrize("speed", [1 / 16, 2.0])
def test_energy_is_conserved(speed):
    """∫ u_t² + c² |∇u|² does not change in time."""
    axis = -1 + 2 * np.arange(32) / 32
    coords = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    u, u_t = solution(**PULSE, coords=coords, times=np.linspace(0, 30, 7), speed=speed)
    k = np.pi * np.fft.fftfreq(32, 1 / 32)
    squared_wavenumber = k[:, None] ** 2 + k**2
    spectrum = abs(np.fft.fft2(u.reshape(-1, 32, 32)) / 32**2) ** 2
    energy = (u_t**2).mean(1) + speed**2 * (squared_wavenumber * spectrum).sum((1, 2))
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


@pytest.mark.parametrize(("kind", "speed"), [(WaveOptions, 1 / 16), (LiteralWaveOptions, 2.0)])
def test_recorded_fields_are_the_solution_in_units_of_the_training_deviation(kind, speed):
    options = kind(resolution=12, num_train=3, num_test=2, snapshots=4, time_step=0.5)
    trajectories = simulate(options, Ensemble())
    axes = np.meshgrid(trajectories.x, trajectories.y, indexing="ij")
    coords = np.stack(axes, -1).reshape(-1, 2)
    for index in range(5):
        one = trajectories.isel(trajectory=index)
        exact = solution(
            float(one.amplitude),
            (float(one.center_x), float(one.center_y)),
            float(one.width),
            coords,
            one.time.values,
            speed,
        )
        for channel, values in zip((one.u, one.u_t), exact, strict=True):
            physical = channel.values.reshape(8, -1) * channel.attrs["scale"]
            np.testing.assert_allclose(physical, values, atol=1e-6)
    train = trajectories.isel(trajectory=slice(3))
    np.testing.assert_allclose([train.u.std(), train.u_t.std()], 1.0, rtol=1e-5)


def test_pulses_are_drawn_from_their_ranges():
    options = WaveOptions(resolution=4, num_train=400, amplitude=(1.0, 5.0), width=(0.3, 0.5))
    pulses = simulate(options, Ensemble())
    for name, low, high in [
        ("amplitude", 1.0, 5.0),
        ("width", 0.3, 0.5),
        ("center_x", -1.0, 1.0),
        ("center_y", -1.0, 1.0),
    ]:
        drawn = pulses[name].values
        assert low <= drawn.min() < low + 0.02 * (high - low)
        assert high - 0.02 * (high - low) < drawn.max() <= high
        assert abs(drawn.mean() - (low + high) / 2) < 0.05 * (high - low)


def test_only_the_literal_wave_is_back_after_a_second():
    """The mean over y consists of plane waves, which cross a domain of length 2 in 2/c seconds."""
    for kind, periodic in ((WaveOptions, False), (LiteralWaveOptions, True)):
        recorded = simulate(kind(resolution=12, num_train=2, num_test=1), Ensemble())
        plane = recorded.u.mean("y").values
        change = abs(plane[:, 4:] - plane[:, :-4]).max() / abs(plane).max()  # 4 · 0.25 s
        assert (change < 1e-5) == periodic, change
        assert periodic or change > 0.05


def test_literal_options_differ_in_the_speed_only():
    assert LiteralWaveOptions().model_dump() == WaveOptions(speed=2.0).model_dump()
