"""Modes of a model whose waves are known exactly, and of dynamics built to be awkward."""

import dataclasses
import math

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.linalg import expm

from smore import SMORE, Trajectories
from smore.analysis.mode_fields import mode_fields
from smore.analysis.modes import LINEAR, LINEARISED, DynamicModes, _same_rates, dynamic_modes
from smore.data import Channel, Clock, Mesh
from smore.dynamics import (
    FullConservative,
    FullQuadratic,
    LinearDynamics,
    LowRankConservative,
    LowRankQuadratic,
    MLPDynamics,
)
from smore.errors import DataError, SettingsError
from smore.inference import LatentPrior
from smore.plotting import Ground, overview_figure, spectrum_figure
from smore.surrogate import decode, decoding
from smore.surrogate.surrogate import Surrogate
from waves import CHANNELS, DAMPING, NUM_MODES, STEP, VELOCITY, WAVES, places, planted, trajectories
from waves import solution as wave_solution

DIM = 2 * NUM_MODES
# The waves by amplitude: v = ∂u/∂t is part of the state, so the fastest is the largest.
SPEEDS = WAVES @ VELOCITY
ORDER = np.argsort(-SPEEDS)
EXPECTED_RATES = -DAMPING + 1j * SPEEDS[ORDER]
# A code (z_sin, z_cos) ~ N(0, I) of u and its derivative: E|z|² + E|∂z/∂t|² = 2 + 2 |λ|².
EXPECTED_AMPLITUDES = np.sqrt(2 + 2 * np.abs(EXPECTED_RATES) ** 2)


@pytest.fixture(scope="module")
def model() -> SMORE:
    return planted(trajectories())


@pytest.fixture(scope="module")
def surrogate(model) -> Surrogate:
    return model.surrogate_


def with_matrix(surrogate: Surrogate, matrix: np.ndarray, mean: float = 0.0) -> Surrogate:
    """The surrogate with linear dynamics `matrix` per unit of the data's time, and N(mean, I)."""
    dynamics = LinearDynamics(DIM).double()
    with torch.no_grad():
        scale = surrogate.description.settings.time_scale
        dynamics.linear.copy_(torch.tensor(matrix * scale))
    prior = LatentPrior(
        torch.full((DIM,), mean, dtype=torch.float64), torch.eye(DIM, dtype=torch.float64)
    )
    return dataclasses.replace(surrogate, dynamics=dynamics, priors=(prior,))


def dense(seed: int = 0) -> np.ndarray:
    """A matrix with real and complex eigenvalues and eigenvectors far from orthogonal."""
    return np.random.default_rng(seed).normal(size=(DIM, DIM)) / 4 - np.eye(DIM)


def periodic_grid(size: int = 12) -> Mesh:
    """A grid over a full period of every wave: sines and cosines are orthogonal on it."""
    axis = -1 + 2 * np.arange(size) / size
    grid = xr.Dataset(
        {"u": (("time", "y", "x"), np.zeros((1, size, size)))},
        {"time": [0.0], "y": axis, "x": axis},
    )
    return Trajectories.from_xarray(grid).sequences[0].mesh


def complex_fields(dataset: xr.Dataset) -> np.ndarray:
    """(modes, channels, points) complex."""
    stacked = np.stack([dataset[name].values for name in dataset.attrs["channel_names"]], axis=2)
    flat = stacked.reshape(*stacked.shape[:3], -1)
    return flat[0] + 1j * flat[1]


# Rates and amplitudes


@pytest.mark.parametrize("time_scale", [None, 1.0, 3.7])
def test_waves_have_the_rates_and_amplitudes_of_the_equation(time_scale):
    modes = dynamic_modes(planted(trajectories(), time_scale=time_scale).surrogate_)
    used = slice(0, len(WAVES))
    np.testing.assert_allclose(modes.rates[used], EXPECTED_RATES, atol=1e-5)
    np.testing.assert_allclose(modes.amplitudes[used], EXPECTED_AMPLITUDES, rtol=1e-5)
    np.testing.assert_allclose(modes.period[used], 2 * np.pi / SPEEDS[ORDER], rtol=1e-5)
    np.testing.assert_allclose(modes.frequency[used], SPEEDS[ORDER] / (2 * np.pi), rtol=1e-5)
    np.testing.assert_allclose(modes.growth_rate[used], -DAMPING, rtol=1e-5)
    np.testing.assert_allclose(modes.efolding_time[used], 1 / DAMPING, rtol=1e-5)
    np.testing.assert_allclose(
        modes.damping_ratio[used], DAMPING / np.abs(EXPECTED_RATES), rtol=1e-5
    )
    assert modes.pair.all()
    assert modes.about == "linear dynamics"
    assert modes.cautions() == []


def test_a_repeated_rate_gives_one_mode_to_what_the_states_do(surrogate):
    """u and v move at the same rates, but v = ∂u/∂t: half of the modes are never excited."""
    modes = dynamic_modes(surrogate)
    assert len(modes) == 2 * len(WAVES)
    np.testing.assert_allclose(modes.amplitudes[len(WAVES) :], 0, atol=1e-6)
    np.testing.assert_allclose(modes.amplitude_share.sum(), 1)


def test_on_a_calendar_rates_are_in_the_words_of_the_data():
    """Steps of three hours: rates per hour."""
    hours = 3 * np.arange(6)
    dates = np.datetime64("2001-02-03", "us") + hours.astype("timedelta64[h]")
    waves = wave_solution(np.eye(NUM_MODES), places(), STEP * np.arange(6))
    data = Trajectories.from_arrays(waves, places(), dates, channels=CHANNELS)
    modes = dynamic_modes(planted(data).surrogate_)
    assert modes.time_units == "hours"
    per_hour = STEP / 3
    np.testing.assert_allclose(modes.rates[:4], EXPECTED_RATES * per_hour, rtol=1e-5)


def test_real_modes_and_pairs_are_told_apart(surrogate):
    matrix = np.diag(-np.arange(1.0, DIM + 1))
    matrix[:2, :2] = [[-0.5, 2.0], [-2.0, -0.5]]
    modes = dynamic_modes(with_matrix(surrogate, matrix))
    assert len(modes) == DIM - 1
    assert modes.pair.sum() == 1
    assert modes.pair[0]  # two of the latents against one
    np.testing.assert_allclose(modes.rates[0], -0.5 + 2j)
    np.testing.assert_allclose(modes.period[0], np.pi)
    np.testing.assert_allclose(np.sort(modes.rates[1:].real), -np.arange(DIM, 2.0, -1))
    assert np.isinf(modes.period[1:]).all()
    np.testing.assert_allclose(modes.damping_ratio[1:], 1)
    np.testing.assert_allclose(modes.amplitudes, [math.sqrt(2)] + [1] * (DIM - 2))
    assert not modes.vectors[:, 1:].imag.any()


def test_with_one_rate_for_all_the_modes_are_the_principal_axes(surrogate):
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(DIM, DIM, generator=generator, dtype=torch.float64)
    turn = np.linalg.qr(dense())[0]
    same = with_matrix(surrogate, turn @ (-0.3 * np.eye(DIM)) @ turn.T)
    prior = LatentPrior(torch.zeros(DIM, dtype=torch.float64), factor)
    modes = dynamic_modes(dataclasses.replace(same, priors=(prior,)))
    np.testing.assert_allclose(modes.rates, -0.3)
    np.testing.assert_allclose(modes.amplitudes, torch.linalg.svdvals(factor))


def test_a_rate_that_round_off_made_complex_is_real(surrogate):
    """-1 ± 1e-9 i is -1 twice, with real modes, and not an oscillation of period 6e9."""
    matrix = -np.diag(np.arange(1.0, DIM + 1))
    matrix[:2, :2] = [[-1, 1e-9], [-1e-9, -1]]
    modes = dynamic_modes(with_matrix(surrogate, matrix))
    assert len(modes) == DIM
    assert not modes.pair.any()
    assert not modes.rates.imag.any()
    assert not modes.vectors.imag.any()
    assert not modes.left.imag.any()
    np.testing.assert_allclose(modes.contributions(np.ones(DIM)).sum(0), 1)


def test_amplitudes_are_the_rms_over_states_and_phases(surrogate):
    """Against samples of the prior, each turned through a cycle without growth."""
    built = with_matrix(surrogate, dense(), mean=0.5)
    modes = dynamic_modes(built)
    random = np.random.default_rng(1)
    states = 0.5 + random.normal(size=(20_000, DIM))
    weight = np.where(modes.pair, 2.0, 1.0)
    total = np.zeros(len(modes))
    for phase in 2 * np.pi * np.arange(8) / 8:
        turned = np.where(modes.pair, np.exp(1j * phase), 1.0) * (states @ modes.left.T)
        for index in range(len(modes)):
            part = weight[index] * (turned[:, index, None] * modes.vectors[:, index]).real
            total[index] += np.mean(np.sum(part**2, axis=1)) / 8
    np.testing.assert_allclose(modes.amplitudes, np.sqrt(total), rtol=0.02)
    assert (np.diff(modes.amplitudes) <= 0).all()


# Modes and states


def test_modes_make_up_any_state_and_its_decoded_field():
    surrogate = planted(trajectories(), normalization="standard").surrogate_
    with torch.no_grad():
        surrogate.decoder.biases[1].fill_(0.3)  # an offset that the modes must not count
    built = with_matrix(surrogate, dense(), mean=1.0)
    modes = dynamic_modes(built)
    states = np.random.default_rng(2).normal(size=(3, DIM))
    parts = modes.contributions(states)
    assert parts.shape == (3, len(modes), DIM)
    np.testing.assert_allclose(parts.sum(1), states, atol=1e-10)

    def decode(latents):
        codes = torch.tensor(latents, dtype=torch.float32).unflatten(-1, (2, -1))
        return decoding.decode(built, codes, built.mesh)

    offset = decode(np.zeros(DIM))
    assert np.abs(offset).min() > 1e-3
    np.testing.assert_allclose((decode(parts) - offset).sum(1) + offset, decode(states), atol=1e-4)


def test_each_part_of_a_state_moves_by_itself(surrogate):
    """The flow of a sum of modes is the sum of c e^{λt} v."""
    matrix = dense()
    modes = dynamic_modes(with_matrix(surrogate, matrix))
    state, elapsed = np.random.default_rng(3).normal(size=DIM), 1.7
    weight = np.where(modes.pair, 2.0, 1.0)
    coordinates = weight * np.exp(modes.rates * elapsed) * (modes.left @ state)
    np.testing.assert_allclose(
        (modes.vectors @ coordinates).real, expm(matrix * elapsed) @ state, atol=1e-10
    )


def test_modes_of_repeated_rates_make_up_any_state_too(surrogate):
    modes = dynamic_modes(surrogate)
    states = np.random.default_rng(2).normal(size=(3, DIM))
    np.testing.assert_allclose(modes.contributions(states).sum(1), states, atol=1e-10)
    turn = np.linalg.qr(dense())[0]
    linear = surrogate.dynamics.linear.detach().double().numpy()
    scale = surrogate.description.settings.time_scale
    turned = with_matrix(surrogate, turn @ (linear / scale) @ turn.T, mean=1.0)
    turned_parts = dynamic_modes(turned).contributions(states)
    np.testing.assert_allclose(turned_parts.sum(1), states, atol=1e-10)


# Dynamics that are not linear


@pytest.mark.parametrize(
    "dynamics",
    [
        lambda: LowRankQuadratic(DIM, 3),
        lambda: FullQuadratic(DIM),
        lambda: LowRankConservative(DIM, 3),
        lambda: FullConservative(DIM, dissipative=True),
        lambda: MLPDynamics(DIM, 7),
    ],
    ids=["lrlq", "quadratic", "low-rank conservative", "conservative", "mlp"],
)
def test_others_are_linearised_at_the_mean(surrogate, dynamics):
    generator = torch.Generator().manual_seed(0)
    dynamics = dynamics()
    with torch.no_grad():
        for parameter in dynamics.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    mean = torch.linspace(-1, 1, DIM, dtype=torch.float64)
    prior = LatentPrior(mean, torch.eye(DIM, dtype=torch.float64))
    modes = dynamic_modes(dataclasses.replace(surrogate, dynamics=dynamics, priors=(prior,)))
    assert modes.about == "linearised at the mean of the training states"
    np.testing.assert_array_equal(modes.centre, mean)
    weight = np.where(modes.pair, 2.0, 1.0)
    rebuilt = ((modes.vectors * (weight * modes.rates)) @ modes.left).real
    dynamics.double()
    step = 1e-5
    with torch.no_grad():
        slopes = [
            (dynamics(mean + step * e) - dynamics(mean - step * e)) / (2 * step)
            for e in torch.eye(DIM, dtype=torch.float64)
        ]
    scale = surrogate.description.settings.time_scale
    np.testing.assert_allclose(rebuilt * scale, torch.stack(slopes, 1), atol=1e-6)


def test_linearised_modes_are_departures_from_the_mean(surrogate):
    """The mean is not an oscillation about itself: only the covariance counts."""
    dynamics = LowRankQuadratic(DIM, 1)
    with torch.no_grad():
        for parameter in dynamics.parameters():
            parameter.zero_()
        dynamics.linear.copy_(torch.diag(-torch.arange(1.0, DIM + 1)))
    prior = LatentPrior(
        torch.full((DIM,), 9.0, dtype=torch.float64), torch.eye(DIM, dtype=torch.float64)
    )
    modes = dynamic_modes(dataclasses.replace(surrogate, dynamics=dynamics, priors=(prior,)))
    np.testing.assert_allclose(modes.amplitudes, 1)
    np.testing.assert_allclose(modes.contributions(prior.mean), 0)


# Cautions


def defective() -> np.ndarray:
    matrix = -np.diag(np.arange(1.0, DIM + 1))
    matrix[:2, :2] = [[-1, 1], [0, -1]]
    return matrix


def test_a_defective_matrix_gets_a_caution(surrogate):
    modes = dynamic_modes(with_matrix(surrogate, defective()))
    assert modes.condition > 1e8
    assert np.isfinite(modes.amplitudes).all()
    (caution,) = modes.cautions()
    assert "not meaningful" in caution


@pytest.mark.parametrize("seed", range(4))
def test_so_does_one_that_rounding_has_split(surrogate, seed):
    """As float32 weights in any basis, it has distinct rates and two modes that cancel."""
    turn = np.linalg.qr(dense(seed))[0]
    rounded = (turn @ defective() @ turn.T).astype(np.float32).astype(float)
    modes = dynamic_modes(with_matrix(surrogate, rounded))
    assert modes.condition < 1e8
    (caution,) = modes.cautions()
    assert "cancel" in caution


def test_the_spread_bounds_the_modes_of_a_normal_matrix(surrogate):
    modes = dynamic_modes(with_matrix(surrogate, dense() - dense().T, mean=0.5))
    np.testing.assert_allclose(modes.spread**2, DIM * (1 + 0.5**2))
    np.testing.assert_allclose((modes.amplitudes**2).sum(), modes.spread**2)


def made_up(rates=(-1.0,), amplitudes=None, **changes) -> DynamicModes:
    count = len(rates)
    known = {
        "rates": np.array(rates, dtype=complex),
        "vectors": np.eye(count, dtype=complex),
        "left": np.eye(count, dtype=complex),
        "amplitudes": np.ones(count) if amplitudes is None else np.array(amplitudes),
        "pair": np.zeros(count, dtype=bool),
        "centre": np.zeros(count),
        "spread": 2.0,
        "condition": 1.0,
        "about": LINEAR,
        "time_units": "days",
    }
    return DynamicModes(**(known | changes))


def test_eigenvectors_are_close_to_dependent_from_a_hundred_million_on():
    assert not made_up(condition=0.9e8).cautions()
    (caution,) = made_up(condition=1.1e8).cautions()
    assert "close to dependent (condition number 1.1e+08)" in caution


def test_modes_cancel_where_one_is_three_times_as_large_as_the_states():
    assert not made_up(amplitudes=[5.9]).cautions()
    (caution,) = made_up(amplitudes=[6.4]).cautions()
    assert "the strongest is 3.2 times as large as the training states" in caution


@pytest.mark.parametrize(("growth", "caution"), [(0.9e-5, False), (1.1e-5, True)])
def test_growth_below_a_millionth_of_the_fastest_rate_is_none(growth, caution):
    assert bool(made_up([-10.0, growth]).cautions()) == caution


@pytest.mark.parametrize(("amplitude", "caution"), [(0.045, False), (0.055, True)])
def test_growth_of_a_mode_below_a_hundredth_of_the_strongest_does_no_harm(amplitude, caution):
    assert bool(made_up([-10.0, 0.5], [5.0, amplitude]).cautions()) == caution


def test_of_growing_modes_the_fastest_is_named():
    rates, amplitudes = [-1.0, 0.1, 0.25, -2.0], [4.0, 3.0, 2.0, 1.0]
    (caution,) = made_up(rates, amplitudes).cautions()
    assert caution == (
        "2 of the modes that matter grow, the fastest (mode 3) by a factor e every 4 days: "
        "trust no forecast much longer than that"
    )
    (caution,) = made_up(rates, amplitudes, about=LINEARISED).cautions()
    assert caution.endswith("near the mean state; only the nonlinear terms can stop it")


def test_whoever_is_on_a_threshold_has_not_crossed_it():
    assert not made_up(condition=1e8).cautions()
    assert not made_up(amplitudes=[6.0]).cautions()
    assert not made_up([-1.0, 1e-6]).cautions()
    assert not made_up([-1.0, 0.5], [1.0, 0.01]).cautions()
    assert len(_same_rates(np.array([-1.0, 0.0, 1e-6]))) == 2
    assert [len(group) for group, _ in _same_rates(np.array([-1.0, 1e-6j, -1e-6j]))] == [1, 2]


def test_a_mode_that_does_nothing_is_not_damped():
    with np.errstate(all="raise"):
        found = made_up([0.0, -2.0, 3.0, 1j]).damping_ratio
    np.testing.assert_allclose(found, [0.0, 1.0, -1.0, 0.0])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_rates_within_a_millionth_of_the_largest_are_one(size):
    """And complex ones that close to the real axis are real."""
    near, far = 0.9e-6 * size, 1.1e-6 * size
    assert len(_same_rates(np.array([-size, -size + near, 0.1 * size]))) == 2
    assert len(_same_rates(np.array([-size, -size + far, 0.1 * size]))) == 3
    real = _same_rates(np.array([-size, 0.5 * size + 1j * near, 0.5 * size - 1j * near]))
    assert [(group, rate.imag) for group, rate in real] == [([0], 0.0), ([1, 2], 0.0)]
    pair = _same_rates(np.array([-size, 0.5 * size + 1j * far, 0.5 * size - 1j * far]))
    assert [group for group, _ in pair] == [[0], [1]]
    assert pair[1][1].imag == pytest.approx(far)


def test_growth_with_amplitude_gets_a_caution(surrogate):
    matrix = np.diag([0.25, 0.125] + [-1.0] * (DIM - 2))
    (caution,) = dynamic_modes(with_matrix(surrogate, matrix)).cautions()
    assert "2 of the modes" in caution
    assert "every 4:" in caution


def test_growth_without_amplitude_or_below_round_off_gets_none(surrogate):
    factor = torch.eye(DIM, dtype=torch.float64)
    factor[0, 0] = 1e-6
    grows = with_matrix(surrogate, np.diag([0.5] + [-1.0] * (DIM - 1)))
    prior = LatentPrior(torch.zeros(DIM, dtype=torch.float64), factor)
    assert dynamic_modes(dataclasses.replace(grows, priors=(prior,))).cautions() == []
    nearly = with_matrix(surrogate, np.diag([1e-9] + [-1.0] * (DIM - 1)))
    assert dynamic_modes(nearly).cautions() == []


# Fields


def test_fields_are_the_plane_waves_of_the_equation(surrogate):
    """∂φ/∂t = λφ = -c·∇φ - γφ: φ = √2 e^{-ik·x} for a wave of rms 1, up to its phase."""
    mesh = Mesh.scattered(np.random.default_rng(0).uniform(-1, 1, size=(50, 2)), np.full(50, 0.08))
    dataset = mode_fields(surrogate, dynamic_modes(surrogate), mesh, len(WAVES))
    fields = complex_fields(dataset)
    for field, wave, rate in zip(fields, WAVES[ORDER], EXPECTED_RATES, strict=True):
        plane = math.sqrt(2) * np.exp(-1j * mesh.coords @ wave)
        phase = np.vdot(plane, field[0])
        np.testing.assert_allclose(field[0], phase / abs(phase) * plane, atol=1e-5)
        np.testing.assert_allclose(field[1], rate * field[0], atol=1e-5)  # v = ∂u/∂t


@pytest.mark.filterwarnings("ignore::smore.errors.ForecastRangeWarning")
def test_fields_advance_as_the_model_does(model):
    """From the real part of a mode, the model forecasts Re(φ e^{λt})."""
    surrogate = model.surrogate_
    modes = dynamic_modes(surrogate)
    fields = complex_fields(mode_fields(surrogate, modes, surrogate.mesh, 4))
    start = Trajectories.from_arrays(
        fields.real[:, None], surrogate.mesh.coords, [0.0], channels=CHANNELS
    )
    elapsed = np.array([0.3, 2.0])
    forecast = model.forecast(start, elapsed, method="least-squares")
    for number, rate in enumerate(modes.rates[:4]):
        expected = (fields[number, 0] * np.exp(rate * elapsed)[:, None]).real
        np.testing.assert_allclose(forecast["u"].values[number], expected, atol=1e-4)


def test_parts_are_orthogonal_and_the_real_part_is_the_larger(surrogate):
    built = with_matrix(surrogate, dense(), mean=1.0)
    weights = np.random.default_rng(4).uniform(0.5, 1.5, size=40)
    mesh = Mesh.scattered(places(), weights)
    modes = dynamic_modes(built)
    fields = complex_fields(mode_fields(built, modes, mesh, DIM))
    assert len(fields) == len(modes)
    for field, pair in zip(fields, modes.pair, strict=True):
        real, imaginary = ((part**2 * weights).sum() for part in (field.real, field.imag))
        inner = (field.real * field.imag * weights).sum()
        assert abs(inner) < 1e-5 * real
        assert real >= imaginary
        assert (imaginary > 0) == pair
        assert field.real.flat[np.abs(field.real).argmax()] > 0


def test_in_an_orthonormal_gauge_the_amplitude_is_the_rms_of_the_field(surrogate):
    """Here sines and cosines have mean square 1/2: the latent norm is √2 times the field's."""
    mesh = periodic_grid()
    built = with_matrix(surrogate, dense(), mean=1.0)
    modes = dynamic_modes(built)
    fields = complex_fields(mode_fields(built, modes, mesh, DIM))
    for field, pair, amplitude in zip(fields, modes.pair, modes.amplitudes, strict=True):
        over_phases = np.mean(np.abs(field) ** 2, axis=-1).sum() / (2 if pair else 1)
        np.testing.assert_allclose(math.sqrt(2 * over_phases), amplitude, rtol=1e-4)


def test_neither_offset_nor_shift_enters_but_the_scale_does():
    """In the data's units the fields are differences of decoded states."""
    surrogate = planted(trajectories(), normalization="standard").surrogate_
    assert max(map(abs, surrogate.description.normalization.shift)) > 0.01
    with torch.no_grad():
        surrogate.decoder.biases[1].fill_(0.3)
    modes = dynamic_modes(surrogate)
    fields = complex_fields(mode_fields(surrogate, modes, surrogate.mesh, 2))
    for field, vector, amplitude in zip(fields, modes.vectors.T, modes.amplitudes, strict=False):
        parts = torch.tensor(np.stack([0 * vector.real, vector.real, vector.imag])).float()
        zero, real, imaginary = decode(surrogate, parts.unflatten(1, (2, -1)), surrogate.mesh)
        expected = math.sqrt(2) * amplitude * ((real - zero) + 1j * (imaginary - zero))
        phase = np.vdot(expected, field)
        np.testing.assert_allclose(field, phase / abs(phase) * expected, atol=1e-4)


def test_a_field_does_not_depend_on_the_other_points_but_for_its_phase(surrogate):
    modes = dynamic_modes(surrogate)
    whole = complex_fields(mode_fields(surrogate, modes, surrogate.mesh, 4))
    some = surrogate.mesh.subset(np.arange(10))
    part = complex_fields(mode_fields(surrogate, modes, some, 4))
    np.testing.assert_allclose(np.abs(part), np.abs(whole[..., :10]), rtol=1e-4)


@pytest.mark.parametrize("chunk_size", [7, 1000])
def test_chunks_of_points_make_no_difference(surrogate, chunk_size):
    modes = dynamic_modes(surrogate)
    settings = surrogate.description.settings.replace(chunk_size=chunk_size)
    description = surrogate.description.model_copy(update={"settings": settings})
    chunked = dataclasses.replace(surrogate, description=description)
    xr.testing.assert_allclose(
        mode_fields(chunked, modes, surrogate.mesh, 3),
        mode_fields(surrogate, modes, surrogate.mesh, 3),
        atol=1e-5,
    )


# Names and units


def test_a_dataset_has_the_names_units_and_layout_of_the_data(surrogate):
    description = surrogate.description.model_copy(
        update={"clock": Clock(units="days since 2001-01-01")}
    )
    told = dataclasses.replace(surrogate, description=description)
    modes = dynamic_modes(told)
    dataset = mode_fields(told, modes, periodic_grid(), 3)
    assert dataset["u"].dims == ("part", "mode", "y", "x")
    assert list(dataset["part"].values) == ["real", "imaginary"]
    assert list(dataset["mode"].values) == [1, 2, 3]
    assert dataset["u"].attrs == {"units": "m", "long_name": "height"}
    assert dataset["v"].attrs == {"units": "m/s"}
    assert dataset["period"].attrs["units"] == "days"
    assert dataset["frequency"].attrs["units"] == "1/days"
    assert dataset["growth_rate"].attrs["units"] == "1/days"
    assert "units" not in dataset["amplitude"].attrs
    for name in ("growth_rate", "frequency", "period"):
        np.testing.assert_array_equal(dataset[name], getattr(modes, name)[:3])
    np.testing.assert_array_equal(dataset["amplitude"], modes.amplitudes[:3])
    assert dataset.attrs["about"] == "linear dynamics"
    wave = dataset["u"].sel(part="real", mode=1).values  # k = π (1, 1): alike in x and y
    np.testing.assert_allclose(wave, wave.T, atol=1e-5)


def test_unknown_units_are_left_out(surrogate):
    dataset = mode_fields(surrogate, dynamic_modes(surrogate), surrogate.mesh, 1)
    assert "units" not in dataset["period"].attrs
    assert dataset["u"].dims == ("part", "mode", "point")
    np.testing.assert_array_equal(dataset["x"], surrogate.mesh.coords[:, 0])


def test_what_cannot_be_asked_for_is_refused(surrogate):
    modes = dynamic_modes(surrogate)
    with pytest.raises(SettingsError, match="at least one mode"):
        mode_fields(surrogate, modes, surrogate.mesh, 0)
    channels = (CHANNELS[0], Channel(name="period"))
    description = surrogate.description.model_copy(update={"channels": channels})
    clash = dataclasses.replace(surrogate, description=description)
    with pytest.raises(DataError, match="period"):
        mode_fields(clash, modes, surrogate.mesh, 1)


# Pictures


def labels(figure) -> str:
    """Everything written along axes and above them."""
    return " ".join(
        text for axes in figure.axes for text in (axes.get_xlabel(), axes.get_ylabel())
    ) + " ".join(axes.get_title() for axes in figure.axes)


def test_pictures_say_what_they_show(surrogate):
    description = surrogate.description.model_copy(update={"clock": Clock(units="h")})
    told = dataclasses.replace(surrogate, description=description)
    modes = dynamic_modes(told)
    ground = Ground(periodic_grid(), description.space)
    fields = mode_fields(told, modes, ground.mesh, 6)
    spectrum = labels(spectrum_figure(modes))
    assert "growth rate (1/h)" in spectrum
    assert "frequency (1/h)" in spectrum
    assert "linear dynamics" in spectrum
    overview = overview_figure(modes, fields, ground, description.channels)
    assert "period 4 h" in labels(overview)
    assert "imaginary part" in labels(overview)
    # The spectrum, then two parts and a colour bar for each of four modes of two channels.
    assert len(overview.axes) == 1 + 2 * 4 * 3


@pytest.mark.parametrize(
    "rates", [np.zeros(2), np.array([1e-9 + 1j, -1e-9 + 1.0001j]), np.array([3.0, -1e5])]
)
def test_any_spectrum_can_be_drawn(rates):
    rates = rates.astype(complex)
    modes = DynamicModes(
        rates=rates,
        vectors=np.eye(2, dtype=complex),
        left=np.eye(2, dtype=complex),
        amplitudes=np.array([1.0, 0.001]),
        pair=rates.imag > 0,
        centre=np.zeros(2),
        spread=1.0,
        condition=1.0,
        about="linear dynamics",
        time_units="",
    )
    figure = spectrum_figure(modes)
    figure.draw_without_rendering()
    (low, high), (bottom, top) = figure.axes[0].get_xlim(), figure.axes[0].get_ylim()
    assert low < 0 < high  # the imaginary axis is in sight
    assert low < rates[0].real < high
    assert bottom < rates[0].imag / (2 * np.pi) < top
