"""Error bars of forecasts, with a model that is exact and noise that is known."""

import warnings
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
import torch
from scipy.linalg import block_diag, expm

from smore import Trajectories
from smore.dynamics import StepError
from smore.errors import DataError, ForecastRangeWarning, SettingsError, UnobservedWarning
from waves import NUM_MODES, RATES, STEP, WAVES, codes, places, planted, solution, trajectories

DEVIATIONS = {"u": 0.3, "v": 0.05}
NUM_STATES = 60


@pytest.fixture(scope="module")
def model():
    return planted(trajectories())


def observations(num_points=25, deviations=DEVIATIONS, num_states=NUM_STATES, seed=3):
    """First snapshots at scattered points, with white noise."""
    coords = np.random.default_rng(seed).uniform(-1, 1, size=(num_points, 2))
    fields = solution(codes(num_states, seed), coords, [0.0])
    noise = np.random.default_rng(seed + 1).normal(size=fields.shape)
    noisy = fields + noise * np.array(list(deviations.values()))[:, None]
    return Trajectories.from_arrays(noisy, coords, [0.0], channels=trajectories().channels)


def waves_at(coords):
    """Modes (points, p) of one channel."""
    phases = coords @ WAVES.T
    return np.concatenate([np.sin(phases), np.cos(phases)], axis=1)


@pytest.mark.parametrize("noise", [DEVIATIONS, None])
def test_intervals_hold_what_they_promise(model, noise):
    """Over many states and points 90% of the truth lies in 90% intervals, noise told or not."""
    times = STEP * np.array([0.5, 1.0, 4.0])
    result = model.forecast(observations(), times, noise=noise)
    truth = solution(codes(NUM_STATES, 3), places(), times)
    width = NormalDist().inv_cdf(0.95)
    for number, name in enumerate(("u", "v")):
        error = np.abs(result[name].values - truth[:, :, number])
        covered = (error <= width * result[f"{name}_std"].values).mean(axis=(0, 2))
        assert (np.abs(covered - 0.9) < 0.05).all(), covered


def test_deviations_are_those_of_conditioning_and_moving_written_out(model):
    """J e^{At} C e^{Aᵀt} Jᵀ with C = (Σ⁻¹ + HᵀR⁻¹H)⁻¹, and what the decoder misses."""
    observed, time = observations(num_points=12), 1.7 * STEP
    result = model.forecast(observed, [time], noise=DEVIATIONS)
    modes = waves_at(observed.sequences[0].mesh.coords)
    design = block_diag(modes, modes)
    variances = np.repeat([d**2 + 1e-12 for d in DEVIATIONS.values()], len(modes))
    factor = np.vstack([np.eye(NUM_MODES), RATES])  # v's code follows from u's
    precision = np.eye(NUM_MODES) + (design @ factor).T / variances @ (design @ factor)
    covariance = factor @ np.linalg.inv(precision) @ factor.T
    flow = block_diag(expm(time * RATES), expm(time * RATES))
    moved = flow @ covariance @ flow.T
    at = waves_at(places())
    for number, name in enumerate(("u", "v")):
        own = slice(number * NUM_MODES, (number + 1) * NUM_MODES)
        variance = np.einsum("xi,ij,xj->x", at, moved[own, own], at) + 1e-12
        found = result[f"{name}_std"].values[0, 0]
        np.testing.assert_allclose(found, np.sqrt(variance), rtol=1e-3, atol=1e-6)


def test_errors_of_the_dynamics_add_to_the_deviation(model):
    dim, step = 2 * NUM_MODES, model.surrogate_.error.step.step
    factor = 0.01 * torch.eye(dim, dtype=torch.float64)
    noisy = planted(trajectories())
    noisy.surrogate_ = replace(
        noisy.surrogate_, error=replace(noisy.surrogate_.error, step=StepError(factor, 0.0, step))
    )
    times = STEP * np.arange(1, 4)
    before, after = (each.forecast(observations(), times) for each in (model, noisy))
    added = after["u_std"].values ** 2 - before["u_std"].values ** 2
    flow = expm(STEP * RATES)
    at, grown = waves_at(places()), np.zeros((NUM_MODES, NUM_MODES))
    for number in range(3):
        grown = flow @ grown @ flow.T + 1e-4 * np.eye(NUM_MODES)
        expected = np.einsum("xi,ij,xj->x", at, grown, at)
        np.testing.assert_allclose(added[0, number], expected, rtol=1e-2, atol=1e-5)


def test_a_forecast_with_deviations_reads_as_the_fields_alone(model):
    result = model.forecast(observations(), [STEP])
    again = Trajectories.from_xarray(result)
    assert [channel.name for channel in again.channels] == ["u", "v"]
    np.testing.assert_array_equal(again.sequences[0].fields[0, 0], result["u"].values[0, 0])
    assert result["u_std"].attrs["units"] == result["u"].attrs["units"]


@pytest.mark.parametrize("options", [{"uncertainty": False}, {"method": "least-squares"}])
def test_without_a_covariance_there_are_no_deviations(model, options):
    assert set(model.forecast(observations(), [STEP], **options).data_vars) == {"u", "v"}


def test_states_carry_what_was_found_about_the_observations(model):
    few = model.infer(observations(num_points=7), noise=DEVIATIONS)
    assert few.num_values.tolist() == [14] * NUM_STATES
    assert float(few.observability.max()) == 0  # fewer points than modes
    many = model.infer(observations(num_points=25), noise=DEVIATIONS)
    assert float(many.observability.min()) > 0
    assert float(few.prior_share[0]) > float(many.prior_share[0])
    assert float(few.determined[0]) < float(many.determined[0]) <= NUM_MODES + 1e-9
    expected = [d**2 + 1e-12 for d in DEVIATIONS.values()]
    np.testing.assert_allclose(many.noise.numpy(), expected)


def test_an_answer_that_rests_on_the_prior_comes_with_a_warning(model):
    with pytest.warns(UnobservedWarning, match="2 observed values determine"):
        model.infer(observations(num_points=1), noise=DEVIATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.infer(observations(num_points=30))


def test_unseen_fields_vanish_at_the_sensors(model):
    """What exact sensors do not see, they read as zero."""
    observed = observations(num_points=3, deviations={"u": 0.0, "v": 0.0})
    with pytest.warns(UnobservedWarning):
        state = model.infer(observed, noise=1e-6)
    coords = observed.sequences[0].mesh.coords
    unseen = model.unseen(state, points=coords)
    everywhere = model.unseen(state, points=places())
    assert unseen.sizes["direction"] == NUM_MODES - 6 == len(everywhere["left"])  # 3 of u, 3 of v
    assert float(np.abs(unseen["u"]).max()) < 1e-2 * float(np.abs(everywhere["u"]).max())
    assert (everywhere["left"] > 0.99).all()


def test_unseen_needs_a_posterior(model):
    state = model.infer(observations(num_points=30), method="least-squares")
    with pytest.raises(SettingsError, match="posterior"):
        model.unseen(state)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (-1.0, "not negative, got -1"),
        ({"u": float("nan")}, "'u' is a standard deviation"),
        ({"w": 1.0}, "w; the model knows the channels u, v"),
    ],
)
def test_noise_that_makes_no_sense_is_refused(model, noise, message):
    with pytest.raises(SettingsError, match=message):
        model.infer(observations(), noise=noise)


def test_a_table_is_as_good_as_arrays(model, tmp_path):
    observed = observations(num_points=30, num_states=1)
    sequence = observed.sequences[0]
    rows = [
        f"{x:.17g},{y:.17g},{u:.17g},{'' if number == 4 else format(v, '.17g')}"
        for number, ((x, y), u, v) in enumerate(
            zip(sequence.mesh.coords, *sequence.fields[0], strict=True)
        )
    ]
    coordinates = ",".join(observed.space.names)
    table = tmp_path / "sensors.csv"
    table.write_text("\n".join([f"{coordinates},u,v", *rows]))
    state = model.infer(table, noise=DEVIATIONS)
    assert state.num_values.tolist() == [59]  # one was blank
    mask = np.ones(sequence.fields.shape, dtype=bool)
    mask[0, 1, 4] = False
    known = replace(observed, sequences=(replace(sequence, mask=mask),))
    expected = model.infer(known, noise=DEVIATIONS)
    torch.testing.assert_close(state.mean, expected.mean, rtol=1e-5, atol=1e-6)


def test_a_point_far_outside_is_refused_before_any_work(model):
    far = Trajectories.from_arrays(
        np.ones((1, 1, 2, 2)), np.array([[0.0, 0.0], [30.0, 0.0]]), [0.0], channels=["u", "v"]
    )
    with pytest.raises(DataError, match="30"):
        model.infer(far)


def spoiled(amount):
    """Observations of one state, one of which is wrong by `amount`."""
    observed = observations(num_points=25, num_states=1)
    sequence = observed.sequences[0]
    fields = sequence.fields.copy()
    fields[0, 0, 3] += amount
    return replace(observed, sequences=(replace(sequence, source=fields),))


def test_a_broken_sensor_is_noticed(model):
    with pytest.warns(UnobservedWarning, match="observations of 'u' do not fit any state"):
        model.infer(spoiled(50.0), noise=DEVIATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.infer(spoiled(0.0), noise=DEVIATIONS)


def test_instruments_that_nobody_spoke_of_are_spoken_of(model):
    """With 10 points for 8 latents there is nothing to see the noise in."""
    few = observations(num_points=10)
    with pytest.warns(UnobservedWarning, match="the noise of u, v was not told"):
        model.infer(few)
    with pytest.warns(UnobservedWarning, match="the noise of v was not told"):
        model.infer(few, noise={"u": 0.3})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.infer(few, noise=DEVIATIONS)


def test_observations_in_other_units_are_told_from_unstable_dynamics(model):
    observed = observations(num_points=30, num_states=1)
    sequence = observed.sequences[0]
    scaled = replace(observed, sequences=(replace(sequence, source=1000 * sequence.fields),))
    with pytest.warns(ForecastRangeWarning, match="check units, offsets and fill values"):
        model.forecast(scaled, [STEP], noise=0.3)
