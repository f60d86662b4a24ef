"""A model that holds the exact solution of a PDE forecasts exactly that, whatever it is asked.

The model is `waves.planted`: every error here is one of inference, time stepping, decoding or
bookkeeping, never one of training.
"""

import dataclasses
import warnings

import numpy as np
import pytest
import torch
import xarray as xr

from smore import SMORE, Trajectories
from smore.data import Mesh
from smore.errors import DataError, DivergenceError, OutsideDomainWarning, SettingsError
from smore.model_file.surrogate_file import save_surrogate
from smore.surrogate import advance, infer
from waves import CHANNELS, STEP, codes, places, planted, solution, trajectories

TOLERANCE = 2e-5  # float32, fields of order 3


@pytest.fixture(scope="module")
def model() -> SMORE:
    return planted(trajectories())


@pytest.fixture(scope="module")
def unshared() -> SMORE:
    """Trained on meshes that differ: no mesh of its own to forecast on."""
    every, rng = np.arange(40), np.random.default_rng(0)
    index = [np.sort([0, 1, *rng.permutation(every[2:])[:30]]) for _ in range(6)]
    return planted(trajectories().at_points(index))


def fields(dataset: xr.Dataset) -> np.ndarray:
    """(sequences, times, channels, points)."""
    return np.stack([dataset[name].values.reshape(*dataset["u"].shape[:2], -1) for name in "uv"], 2)


TIMES = [0.0, 0.17, STEP, 3 * STEP, 11.3]
COORDS = places()


def test_at_the_points_of_the_data_and_any_time(model):
    forecast = model.forecast(trajectories().leading(1), TIMES)
    np.testing.assert_allclose(fields(forecast), solution(codes(6), COORDS, TIMES), atol=TOLERANCE)


def test_at_points_where_nothing_was_ever_observed(model):
    elsewhere = np.random.default_rng(5).uniform(-1, 1, size=(70, 2))
    forecast = model.forecast(trajectories(), TIMES, points=elsewhere)
    np.testing.assert_allclose(
        fields(forecast), solution(codes(6), elsewhere, TIMES), atol=TOLERANCE
    )
    np.testing.assert_array_equal(forecast["x"], elsewhere[:, 0])
    np.testing.assert_array_equal(forecast["y"], elsewhere[:, 1])


def test_on_a_grid(model):
    axes = {"y": np.linspace(-1, 1, 4), "x": np.linspace(-0.5, 1, 5)}
    grid = xr.Dataset({"u": (("time", "y", "x"), np.zeros((1, 4, 5)))}, {"time": [0.0], **axes})
    mesh = Trajectories.from_xarray(grid).sequences[0].mesh
    forecast = model.forecast(trajectories(), [1.0], points=mesh)
    assert forecast["u"].dims == ("sequence", "time", "y", "x")
    for row, y in enumerate(axes["y"]):
        for column, x in enumerate(axes["x"]):
            expected = solution(codes(6), np.array([[x, y]]), [1.0])[:, 0, 0, 0]
            np.testing.assert_allclose(
                forecast["u"].values[:, 0, row, column], expected, atol=TOLERANCE
            )


@pytest.mark.parametrize(("first", "second"), [(0.4, 0.7), (2 * STEP, 3 * STEP), (0.0, 1.0)])
def test_a_forecast_can_be_forecast_from(model, first, second):
    """t then s is t + s, with a forecast as the observation in between."""
    start = trajectories().leading(1)
    between = model.forecast(start, [first])
    twice = model.forecast(between, [first + second])
    once = model.forecast(start, [first + second])
    np.testing.assert_allclose(fields(twice), fields(once), atol=TOLERANCE)


def test_a_state_is_as_good_as_the_observations_it_came_from(model):
    start = trajectories().leading(1)
    xr.testing.assert_identical(
        model.forecast(model.infer(start), TIMES), model.forecast(start, TIMES)
    )


@pytest.mark.parametrize("method", ["posterior", "least-squares", "adam"])
def test_every_method_finds_the_codes(method):
    model = planted(trajectories(), final_fit_steps=3000)
    state = model.infer(trajectories(), method=method)
    np.testing.assert_allclose(
        state.mean[:, 0], codes(6), atol=2e-2 if method == "adam" else TOLERANCE
    )


def test_adam_keeps_its_best_iterate_or_the_last_as_asked():
    """At a rate of 1 Adam overshoots: some iterate before the last has a smaller residual."""
    start = trajectories()
    states = {
        keeps: planted(start, final_fit_steps=12, fit_rate=1.0, fit_keeps=keeps).infer(
            start, method="adam"
        )
        for keeps in ("best", "last")
    }
    longer = planted(start, final_fit_steps=13, fit_rate=1.0).infer(start, method="adam")
    best, last = (states[keeps].residual.square().sum(1) for keeps in ("best", "last"))
    assert (best <= last).all()
    assert (best < last).any()
    assert (longer.residual.square().sum(1) <= best).all()


def test_from_some_of_the_points(model):
    for index in (np.arange(10), np.arange(25, 40), np.arange(0, 40, 3)):
        some = trajectories().at_points(index).leading(1)
        forecast = model.forecast(some, TIMES)
        expected = solution(codes(6), COORDS, TIMES)
        np.testing.assert_allclose(fields(forecast), expected, atol=1e-3)


@pytest.mark.parametrize("name", ["u", "v"])
def test_from_one_of_the_channels(model, name):
    """The prior knows how the other follows from it."""
    some = trajectories().select_channels([name]).leading(1)
    forecast = model.forecast(some, TIMES)
    assert list(forecast.data_vars) == ["u", "v", "u_std", "v_std"]
    np.testing.assert_allclose(fields(forecast), solution(codes(6), COORDS, TIMES), atol=1e-3)


def test_from_different_points_of_each_channel_and_sequence(model):
    values = solution(codes(6), COORDS, [0.0])
    values[np.random.default_rng(3).uniform(size=values.shape) < 0.5] = np.nan
    dataset = Trajectories.from_arrays(
        values, COORDS, [0.0], channels=CHANNELS, missing="mask"
    ).to_xarray()
    with pytest.raises(DataError, match="finite"):
        model.forecast(dataset, TIMES)
    forecast = model.forecast(dataset, TIMES, missing="mask")
    np.testing.assert_allclose(fields(forecast), solution(codes(6), COORDS, TIMES), atol=1e-3)


def test_sequences_that_start_at_different_times(model):
    """All are forecast to the same instants, each from its own start."""
    starts = [0.0, 1.0, -2.5]
    values = solution(codes(3), COORDS, [0.0])
    data = Trajectories.from_arrays(
        list(values), COORDS, [np.array([start]) for start in starts], channels=CHANNELS
    )
    forecast = fields(model.forecast(data, [1.0, 4.0]))
    for number, start in enumerate(starts):
        expected = solution(codes(3)[number : number + 1], COORDS, [1.0 - start, 4.0 - start])
        np.testing.assert_allclose(forecast[number], expected[0], atol=TOLERANCE)
    with pytest.raises(DataError, match="before the observations"):
        model.forecast(data, [0.5, 4.0])


@pytest.mark.parametrize("chunk_size", [1, 7, 39])
def test_chunks_of_points_change_nothing_but_round_off(model, chunk_size):
    chunked = planted(trajectories(), chunk_size=chunk_size)
    one, other = (each.forecast(trajectories(), TIMES) for each in (model, chunked))
    np.testing.assert_allclose(fields(one), fields(other), atol=1e-5)
    assert chunked.evaluate(trajectories()).persistence_mse == pytest.approx(
        model.evaluate(trajectories()).persistence_mse
    )


# Names, units, clocks


def test_names_units_and_coordinates_come_back():
    data = trajectories().to_xarray()
    data["time"].attrs["units"] = "h"
    data["x"].attrs["units"] = "km"
    model = planted(Trajectories.from_xarray(data))
    forecast = model.forecast(data.isel(time=[0]), [0.5, 2.0])
    assert forecast["u"].attrs == {
        "units": "m",
        "long_name": "height",
        "ancillary_variables": "u_std",
    }
    assert forecast["v"].attrs == {"units": "m/s", "ancillary_variables": "v_std"}
    assert forecast["time"].attrs == {"units": "h"}
    assert forecast["x"].attrs == {"units": "km"}
    np.testing.assert_array_equal(forecast["time"], [0.5, 2.0])
    for name in "xy":
        xr.testing.assert_equal(forecast[name].variable, data[name].variable)
    again = Trajectories.from_xarray(forecast)
    assert again.channels == model.surrogate_.description.channels
    assert again.space == model.surrogate_.description.space
    assert again.clock == model.surrogate_.description.clock


HOURS = np.timedelta64(3600, "s")
START = np.datetime64("2024-02-28T18:00", "us")


def dated(start):
    """The same solution with half an hour for every STEP."""
    data = trajectories()
    values = np.stack([sequence.fields for sequence in data])
    return Trajectories.from_arrays(
        values, COORDS, start + np.arange(6) * (HOURS // 2), channels=CHANNELS
    )


@pytest.mark.parametrize("start", [START, START - 5 * HOURS, START + 1000 * HOURS])
def test_dates_go_in_and_come_out(start):
    """Also when the observations start on another day than the training data."""
    model = planted(dated(START))
    when = start + np.array([0, 45, 330]) * np.timedelta64(60, "s")
    forecast = model.forecast(dated(start).leading(1), when)
    np.testing.assert_array_equal(forecast["time"].values, when.astype("M8[ns]"))
    elapsed = STEP * np.array([0.0, 1.5, 11.0])
    np.testing.assert_allclose(
        fields(forecast), solution(codes(6), COORDS, elapsed), atol=TOLERANCE
    )
    assert model.evaluate(dated(start)).full_nmse < 1e-10


def test_durations_go_in_and_come_out():
    model = planted(dated(np.timedelta64(0, "s")))
    when = np.array([0, 45, 330]) * np.timedelta64(60, "s")
    forecast = model.forecast(dated(np.timedelta64(0, "s")).leading(1), when)
    np.testing.assert_array_equal(forecast["time"].values, when.astype("m8[ns]"))
    np.testing.assert_allclose(
        fields(forecast),
        solution(codes(6), COORDS, STEP * np.array([0.0, 1.5, 11.0])),
        atol=TOLERANCE,
    )


def test_dates_and_numbers_are_not_mixed(model):
    with pytest.raises(DataError, match=r"expected number.*got datetime"):
        model.forecast(dated(START), [1.0])
    with pytest.raises(DataError, match=r"expected number.*got datetime"):
        model.forecast(trajectories(), [START])
    with pytest.raises(DataError, match=r"expected datetime.*got number"):
        planted(dated(START)).forecast(dated(START), [1.0])


# Where, when nobody says


def test_the_default_place_is_the_training_mesh(model):
    some = trajectories().at_points(np.arange(12))
    np.testing.assert_array_equal(model.forecast(some, [1.0])["x"], COORDS[:, 0])


def test_without_a_training_mesh_the_observed_points(unshared):
    forecast = unshared.forecast(trajectories(), [1.0])
    np.testing.assert_array_equal(forecast["y"], COORDS[:, 1])
    np.testing.assert_allclose(fields(forecast), solution(codes(6), COORDS, [1.0]), atol=TOLERANCE)
    with pytest.raises(DataError, match="points"):
        unshared.forecast(unshared.infer(trajectories()), [1.0])


def test_observed_points_are_the_same_in_whatever_order_their_coordinates_are_named(unshared):
    turned = trajectories().order_coordinates(("y", "x"))
    forecast = unshared.forecast(turned, [1.0])
    np.testing.assert_array_equal(forecast["x"], COORDS[:, 0])
    np.testing.assert_array_equal(forecast["y"], COORDS[:, 1])
    np.testing.assert_allclose(fields(forecast), solution(codes(6), COORDS, [1.0]), atol=TOLERANCE)


def test_each_sequence_is_forecast_at_its_own_observed_points(unshared):
    index = [np.arange(0, 20), np.arange(15, 40)]
    data = trajectories().select([0, 1]).at_points(index)
    forecast = Trajectories.from_xarray(unshared.forecast(data, [1.0]))
    for number, sequence in enumerate(forecast):
        np.testing.assert_array_equal(sequence.mesh.coords, COORDS[index[number]])
        expected = solution(codes(6)[number : number + 1], COORDS[index[number]], [1.0])
        np.testing.assert_allclose(sequence.fields, expected[0], atol=1e-3)


# Scores


def literal_mse(model, data, **options):
    """Mean squared error of `forecast` against `data`, one sequence at a time."""
    errors = []
    for number, sequence in enumerate(data):
        forecast = model.forecast(
            data.select([number]),
            data.clock.to_values(sequence.times[1:]),
            points=sequence.mesh,
            **options,
        )
        errors.append((fields(forecast)[0] - sequence.fields[1:]).ravel())
    return float(np.mean(np.concatenate(errors) ** 2))


def with_noise(data: Trajectories) -> Trajectories:
    """Data that the model cannot explain, so that its errors are not round-off."""
    rng = np.random.default_rng(9)
    noisy = [
        dataclasses.replace(each, source=each.fields + 0.1 * rng.normal(size=each.fields.shape))
        for each in data
    ]
    return dataclasses.replace(data, sequences=tuple(noisy))


def ragged() -> Trajectories:
    """Sequences with points, lengths and steps of their own."""
    steps = [0.5, 0.2, 0.9]
    coords = [places(20 + 5 * number, seed=number) for number in range(3)]
    times = [step * np.arange(3 + number) + number for number, step in enumerate(steps)]
    values = [
        solution(codes(3)[number : number + 1], coords[number], times[number] - times[number][0])[0]
        for number in range(3)
    ]
    return Trajectories.from_arrays(values, coords, times, channels=CHANNELS)


@pytest.mark.parametrize("make", [trajectories, ragged])
@pytest.mark.parametrize("method", ["posterior", "least-squares"])
def test_evaluation_scores_what_forecast_returns(model, make, method):
    data = with_noise(make())
    options = {"method": method, "noise": 0.1}  # estimated, it would be that of all sequences
    found = model.evaluate(data, **options).full_mse
    assert found == pytest.approx(literal_mse(model, data, **options), rel=1e-4)


def test_an_exact_model_is_found_to_be_one(model):
    evaluation = model.evaluate(trajectories(num_times=15, seed=4))
    assert evaluation.full_nmse < 1e-10
    assert evaluation.beats_references
    assert max(evaluation.relative_l2.values()) < 1e-5
    kept = trajectories(num_times=15, seed=4)
    changes = [sequence.fields[1:] - sequence.fields[:1] for sequence in kept]
    assert evaluation.persistence_mse == pytest.approx(np.mean(np.square(changes)))


def test_scores_do_not_depend_on_the_order_of_coordinates_channels_or_sequences(model):
    data = with_noise(trajectories())
    expected = model.evaluate(data).to_dict()
    turned = data.order_coordinates(("y", "x"))
    swapped = data.select_channels(["v", "u"])
    shuffled = data.select([3, 1, 0, 5, 4, 2])
    for other in (turned, swapped, shuffled, data.to_xarray()):
        found = model.evaluate(other).to_dict()
        for name, value in expected.items():
            same = value if value is None else pytest.approx(value, rel=1e-6)
            assert found[name] == same, name


def test_channels_beyond_the_models_are_not_scored(model):
    data = trajectories().to_xarray()
    wider = data.assign(w=data["u"] * 0 + 7.0)
    assert model.evaluate(wider).full_mse == pytest.approx(model.evaluate(data).full_mse)


def test_a_score_needs_every_channel(model):
    with pytest.raises(DataError, match="u, v"):
        model.evaluate(trajectories().select_channels(["u"]))


def test_scores_from_some_of_the_points_are_those_of_a_forecast_from_them(model):
    data = with_noise(trajectories())
    some = data.at_points(np.arange(15)).leading(1)
    found = model.evaluate(data, observations=some)
    forecast = fields(model.forecast(some, data.sequences[0].times[1:]))
    truth = np.stack([sequence.fields[1:] for sequence in data])
    assert found.full_mse == pytest.approx(float(np.mean((forecast - truth) ** 2)), rel=1e-4)
    assert found.persistence_mse == model.evaluate(data).persistence_mse
    with pytest.raises(DataError, match="6 sequences, got 5"):
        model.evaluate(data, observations=some.select(range(5)))


def test_observations_of_another_time_are_no_observations_of_the_first_snapshot(model):
    data = trajectories()
    late = dataclasses.replace(
        data, sequences=tuple(sequence.snapshots(slice(2, 3)) for sequence in data)
    )
    with pytest.raises(DataError, match="time"):
        model.evaluate(data, observations=late)


@pytest.mark.parametrize(("settings", "horizon"), [({"train_length": 3}, 3), ({"window": 4}, 4)])
def test_the_horizon_is_the_length_the_model_was_trained_on(settings, horizon):
    evaluation = planted(trajectories(num_times=6), **settings).evaluate(trajectories(num_times=9))
    assert evaluation.horizon == horizon


def test_the_horizon_is_no_longer_than_the_training_sequences():
    evaluation = planted(trajectories(num_times=4)).evaluate(trajectories(num_times=9))
    assert evaluation.horizon == 4
    assert evaluation.extrapolation_mse is not None


def test_a_constant_channel_does_not_spoil_the_normalised_errors():
    values = np.stack([sequence.fields for sequence in trajectories()])
    values[:, :, 1] = 0.0
    data = Trajectories.from_arrays(values, COORDS, trajectories().sequences[0].times)
    evaluation = (
        SMORE(latent_dim=4, hidden_dim=8, decoder_steps=2).fit(data, progress=False).evaluate(data)
    )
    for name in ("full_nmse", "persistence_nmse", "climatology_nmse"):
        assert np.isfinite(getattr(evaluation, name)), name


# Refusals


@pytest.mark.parametrize(
    "times",
    [
        [],
        [-0.1],
        [2.0, 1.0],
        [1.0, 1.0],
        [np.nan],
        [1.0, np.nan],
        [np.inf],
        [[1.0, 2.0], [3.0, 4.0]],
        ["tomorrow"],
    ],
)
def test_times_that_cannot_be_forecast_are_refused(model, times):
    with pytest.raises(DataError, match="times"):
        model.forecast(trajectories(), times)


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ([], r"one after the other, got an array of shape \(0,\)"),
        ([1.0, np.nan], "must be finite, got nan"),
        ([1.0, 3.0, 2.0], r"must increase, got 2\.0 after 3\.0"),
        ([-0.5], r"not lie before the observations at 0\.0, got -0\.5"),
    ],
)
def test_times_are_refused_by_the_rule_they_break(model, times, says):
    with pytest.raises(DataError, match=says):
        model.forecast(trajectories(), times)


@pytest.mark.parametrize(
    "points",
    [
        np.zeros(2),
        np.zeros((3, 1)),
        np.zeros((3, 3)),
        np.zeros((0, 2)),
        [[0.0, np.nan]],
        [[0.0, np.inf]],
        [["here", "there"]],
        Mesh.scattered(np.zeros((2, 3)), np.ones(2)),
    ],
)
def test_points_of_no_use_are_refused(model, points):
    with pytest.raises(DataError, match="points"):
        model.forecast(trajectories(), [1.0], points=points)


def test_unknown_names_are_refused_with_the_known_ones(model):
    other = trajectories().to_xarray().rename(u="w")
    for ask in (model.infer, model.evaluate, lambda data: model.forecast(data, [1.0])):
        with pytest.raises(DataError, match="u, v"):
            ask(other)
    other = trajectories().to_xarray().rename(x="longitude_of_nothing")
    for ask in (model.infer, model.evaluate, lambda data: model.forecast(data, [1.0])):
        with pytest.raises(DataError, match="x, y"):
            ask(other)
    with pytest.raises(SettingsError, match="posterior, least-squares, adam"):
        model.infer(trajectories(), method="guess")


def test_points_outside_the_domain_are_warned_about_with_how_far(model):
    with pytest.warns(OutsideDomainWarning, match=r"25\.0% of its extent along 'y'"):
        model.forecast(trajectories(), [1.0], points=[[0.0, 1.5]])


def test_a_forecast_that_overflows_is_no_forecast():
    model = planted(trajectories())
    with torch.no_grad():
        model.surrogate_.dynamics.linear += torch.eye(16)  # growth by e in every time step
    assert np.isfinite(fields(model.forecast(trajectories(), [10 * STEP]))).all()
    with pytest.raises(DivergenceError, match="forecast") as caught:
        model.forecast(trajectories(), [200 * STEP])
    assert caught.value.part == "forecast"
    assert caught.value.epoch is None


# Storage


@pytest.mark.parametrize("which", ["model", "unshared"])
def test_a_loaded_model_forecasts_the_same_bits(which, request, tmp_path):
    model = request.getfixturevalue(which)
    model.save(tmp_path / "waves.smore")
    loaded = SMORE.load(tmp_path / "waves.smore")
    points = np.random.default_rng(0).uniform(-1, 1, size=(9, 2))
    for options in ({"points": points}, {"points": points, "method": "least-squares"}, {}):
        xr.testing.assert_identical(
            loaded.forecast(trajectories(), TIMES, **options),
            model.forecast(trajectories(), TIMES, **options),
        )
    assert loaded.evaluate(trajectories()) == model.evaluate(trajectories())
    assert torch.equal(
        loaded.infer(trajectories()).covariance, model.infer(trajectories()).covariance
    )
    assert loaded.surrogate_.description == model.surrogate_.description


@pytest.mark.parametrize("error", [float("nan"), float("inf")])
def test_a_model_that_once_forecast_nonsense_can_be_loaded(model, error, tmp_path):
    """An evaluation stage that overflowed is part of the history, not the end of the file."""
    surrogate = model.surrogate_
    record = surrogate.description.training.model_copy(update={"history": ((0, error), (1, 0.5))})
    description = surrogate.description.model_copy(update={"training": record})
    save_surrogate(dataclasses.replace(surrogate, description=description), tmp_path / "m")
    history = SMORE.load(tmp_path / "m").surrogate_.description.training.history
    assert len(history) == 2
    assert history[1] == (1, 0.5)


def test_leaving_the_certified_set_is_told(model):
    """A certificate that holds up to a radius says nothing about states beyond."""
    surrogate = model.surrogate_
    certificate = surrogate.certificate
    assert certificate.claims.certified
    state = infer(surrogate, trajectories(1), "posterior")
    distance = float(certificate.distance(state.flat.numpy())[0])
    steps = np.full((1, 3), surrogate.description.time_step)
    for radius, told in ((0.5 * distance, True), (2 * distance, False), (None, False)):
        claims = certificate.claims.model_copy(update={"radius": radius})
        local = dataclasses.replace(certificate, claims=claims)
        bounded = dataclasses.replace(surrogate, certificate=local)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            advance(bounded, state, steps)
        assert any("outside the set" in str(each.message) for each in caught) == told
