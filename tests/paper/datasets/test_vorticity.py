"""The vorticity equation: what it conserves, what it dissipates, and how fast it converges."""

import numpy as np
import pytest
from scipy.integrate import simpson

from smore_paper.datasets.navier_stokes.benchmark import gaussian_random_field
from smore_paper.datasets.navier_stokes.vorticity import VorticityEquation

RESOLUTION = 32
VISCOSITY = 1e-3


@pytest.fixture
def grid():
    axis = np.arange(RESOLUTION) / RESOLUTION
    return np.meshgrid(axis, axis, indexing="ij")


@pytest.fixture
def forcing(grid):
    phase = 2 * np.pi * (grid[0] + grid[1])
    return 0.1 * (np.sin(phase) + np.cos(phase))


@pytest.fixture
def equation(forcing):
    return VorticityEquation(RESOLUTION, VISCOSITY, forcing)


@pytest.fixture
def turbulence(equation):
    """Two random states, already mixed by the flow."""
    stream = np.random.default_rng(1)
    fields = [gaussian_random_field(stream, RESOLUTION, 2.5, 7.0) for _ in range(2)]
    return equation.advance(equation.analysis(np.stack(fields)), 0.05, 100)


def mean(field):
    return field.mean((-2, -1))


def inner(equation, first, second):
    """⟨a b⟩ of two spectra, as a mean over the grid."""
    return mean(equation.synthesis(first) * equation.synthesis(second))


def stream_function(equation, vorticity):
    return vorticity / np.where(
        equation.squared_wavenumber == 0, np.inf, equation.squared_wavenumber
    )


def test_velocity_is_the_rotated_gradient_of_the_stream_function(grid, equation):
    """ψ = sin 2πx cos 4πy: ω = -Δψ = 20π² ψ, u = ∂ψ/∂y, v = -∂ψ/∂x."""
    x, y = 2 * np.pi * grid[0], 4 * np.pi * grid[1]
    u, v = equation.velocity(equation.analysis(20 * np.pi**2 * np.sin(x) * np.cos(y)))
    np.testing.assert_allclose(u, -4 * np.pi * np.sin(x) * np.sin(y), atol=1e-12)
    np.testing.assert_allclose(v, -2 * np.pi * np.cos(x) * np.cos(y), atol=1e-12)


def test_advection_equals_its_textbook_form(grid, equation):
    """-v·∇ω for two plane waves, whose product the grid resolves."""
    x, y = 2 * np.pi * grid[0], 2 * np.pi * grid[1]
    vorticity = np.sin(x) + 2 * np.cos(3 * x + 2 * y)
    u = -2 * (2 / (13 * 2 * np.pi)) * np.sin(3 * x + 2 * y)
    v = -np.cos(x) / (2 * np.pi) + 2 * (3 / (13 * 2 * np.pi)) * np.sin(3 * x + 2 * y)
    omega_x = 2 * np.pi * (np.cos(x) - 6 * np.sin(3 * x + 2 * y))
    omega_y = 2 * np.pi * (-4 * np.sin(3 * x + 2 * y))
    found = equation.tendency(equation.analysis(vorticity)) - equation.forcing
    np.testing.assert_allclose(equation.synthesis(found), -(u * omega_x + v * omega_y), atol=1e-12)


def test_advection_conserves_energy_and_enstrophy(equation, turbulence):
    """⟨ψ v·∇ω⟩ = 0 and ⟨ω v·∇ω⟩ = 0 to round-off, so nothing is lost to aliasing."""
    advection = equation.tendency(turbulence) - equation.forcing
    size = np.sqrt(inner(equation, advection, advection) * inner(equation, turbulence, turbulence))
    stream = stream_function(equation, turbulence)
    assert (abs(inner(equation, turbulence, advection)) < 1e-14 * size).all()
    assert (abs(inner(equation, stream, advection)) < 1e-14 * size).all()


@pytest.mark.parametrize("budget", ["enstrophy", "energy"])
def test_budgets_close(equation, turbulence, budget):
    """d/dt ½⟨ω²⟩ = -ν⟨|∇ω|²⟩ + ⟨fω⟩ and d/dt ½⟨|v|²⟩ = -ν⟨ω²⟩ + ⟨fψ⟩, integrated over a second."""
    weight = 1.0 if budget == "enstrophy" else stream_function(equation, 1.0 + 0j)
    step, content, source = 0.01, [], []
    state = turbulence
    for _ in range(101):
        content.append(inner(equation, weight * state, state) / 2)
        dissipated = VISCOSITY * inner(
            equation, weight * state, equation.squared_wavenumber * state
        )
        source.append(inner(equation, weight * state, equation.forcing) - dissipated)
        state = equation.advance(state, step)
    gained = content[-1] - content[0]
    assert (abs(gained) > 1e-4 * content[0]).all()
    np.testing.assert_allclose(gained, simpson(source, dx=step, axis=0), rtol=1e-6)


def test_mean_vorticity_stays_zero(equation, turbulence):
    assert (abs(mean(equation.synthesis(turbulence))) < 1e-15).all()


def test_viscous_decay_is_exact(grid):
    """Taylor-Green: ω = cos 2πx cos 2πy · exp(-8π²νt), whatever the step."""
    equation = VorticityEquation(RESOLUTION, VISCOSITY, np.zeros((RESOLUTION, RESOLUTION)))
    start = np.cos(2 * np.pi * grid[0]) * np.cos(2 * np.pi * grid[1])
    end = equation.synthesis(equation.advance(equation.analysis(start), 0.5, 20))
    np.testing.assert_allclose(end, start * np.exp(-8 * np.pi**2 * VISCOSITY * 10), atol=1e-14)


@pytest.mark.parametrize("length", [1.0, 2.0])
@pytest.mark.parametrize("number", [1, 3])
def test_a_mode_decays_by_its_wavenumber_on_this_torus(length, number):
    """ω = cos(2πnx/L) · exp(-ν (2πn/L)² t): on a torus twice as long a quarter of the rate."""
    still = np.zeros((RESOLUTION, RESOLUTION))
    equation = VorticityEquation(RESOLUTION, VISCOSITY, still, length)
    x = length * np.arange(RESOLUTION) / RESOLUTION
    start = np.repeat(np.cos(2 * np.pi * number * x / length)[:, None], RESOLUTION, axis=1)
    end = equation.synthesis(equation.advance(equation.analysis(start), 0.5, 40))
    rate = VISCOSITY * (2 * np.pi * number / length) ** 2
    np.testing.assert_allclose(end, start * np.exp(-20 * rate), atol=1e-13)


def test_velocity_grows_with_the_torus(grid):
    """ψ = sin 2πx cos 2πy on [0, 2)² from the same vorticity: twice the velocity."""
    vorticity = np.sin(2 * np.pi * grid[0]) * np.cos(2 * np.pi * grid[1])
    still = np.zeros_like(vorticity)
    small, large = (VorticityEquation(RESOLUTION, VISCOSITY, still, side) for side in (1.0, 2.0))
    for slow, fast in zip(
        small.velocity(small.analysis(vorticity)),
        large.velocity(large.analysis(vorticity)),
        strict=True,
    ):
        assert abs(slow).max() > 0.01
        np.testing.assert_allclose(fast, 2 * slow, atol=1e-14)


def test_the_unit_torus_is_the_default_bit_by_bit(equation, forcing):
    index = np.fft.fftfreq(RESOLUTION, 1 / RESOLUTION)
    kx, ky = 2 * np.pi * index[:, None], 2 * np.pi * index[None, : RESOLUTION // 2 + 1]
    np.testing.assert_array_equal(equation.squared_wavenumber, kx**2 + abs(ky) ** 2)
    stated = VorticityEquation(RESOLUTION, VISCOSITY, forcing, length=1.0)
    state = equation.analysis(np.random.default_rng(0).standard_normal((RESOLUTION, RESOLUTION)))
    np.testing.assert_array_equal(equation.advance(state, 0.05, 3), stated.advance(state, 0.05, 3))


def test_fourth_order_in_time(equation, turbulence):
    reference = equation.advance(turbulence, 1 / 320, 640)
    steps = np.array([1 / 10, 1 / 20, 1 / 40, 1 / 80])
    errors = [
        np.linalg.norm(equation.advance(turbulence, step, round(2 / step)) - reference)
        for step in steps
    ]
    order, _ = np.polyfit(np.log(steps), np.log(errors), 1)
    assert order == pytest.approx(4.0, abs=0.15)


def test_default_step_agrees_with_half_of_it(equation, turbulence):
    coarse = equation.synthesis(equation.advance(turbulence, 0.05, 400))
    fine = equation.synthesis(equation.advance(turbulence, 0.025, 800))
    assert np.sqrt(mean((coarse - fine) ** 2)).max() < 1e-6


def test_forced_balance_is_steady(forcing):
    """Where f alone drives one wave, ω = f / (8π²ν) neither moves nor grows."""
    equation = VorticityEquation(RESOLUTION, 0.05, forcing)
    steady = equation.analysis(forcing / (8 * np.pi**2 * 0.05))
    later = equation.advance(steady, 0.01, 200)
    np.testing.assert_allclose(later, steady, rtol=0, atol=1e-8 * abs(steady).max())


def test_fields_do_not_influence_each_other(equation, turbulence):
    alone = equation.advance(turbulence[1], 0.05, 10)
    together = equation.advance(turbulence, 0.05, 10)[1]
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-11 * abs(alone).max())
