"""The front door: what `fit` learns, keeps, repeats and refuses."""

import json
import math
import random

import numpy as np
import pytest
import torch
import xarray as xr

from smore import SMORE, Trajectories
from smore.errors import (
    DataError,
    DivergenceError,
    ModelFileError,
    NotFittedError,
    SettingsError,
)
from smore.model_file.container import save_file
from waves import CHANNELS, STEP, codes, places, solution, trajectories

SIZES = {"latent_dim": 4, "hidden_dim": 8, "num_hidden": 1}
QUICK = SIZES | {"recipe": "paper", "epochs": 3, "fit_steps": 20}
FAST = SIZES | {"decoder_steps": 12, "dynamics_steps": 3}
KINDS = {
    "koopman": {"dynamics": "koopman"},
    "exact": {"dynamics": "koopman", "integrator": "exact"},
    "lrlq": {"dynamics": "lrlq", "rank": 2},
    "quadratic": {"dynamics": "quadratic"},
    "mlp": {"dynamics": "mlp", "dynamics_hidden_dim": 6},
    "fast": {"recipe": "fast"},
    "fast lrlq": {"recipe": "fast", "dynamics": "lrlq", "rank": 2},
    "fast conservative": {"recipe": "fast", "dynamics": "conservative"},
}


def fitted(data=None, select_on=None, missing="refuse", **settings):
    quick = FAST if settings.get("recipe") == "fast" else QUICK
    model = SMORE(**(quick | settings))
    data = trajectories() if data is None else data
    assert model.fit(data, select_on=select_on, missing=missing, progress=False) is model
    return model


def weights(model):
    surrogate = model.surrogate_
    return {**surrogate.decoder.state_dict(), **surrogate.dynamics.state_dict()}


def same_bits(one, other):
    ours, theirs = weights(one), weights(other)
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def difference(one, other):
    """Largest difference between two models' forecasts, in units of the field."""
    points = np.random.default_rng(0).uniform(-0.9, 0.9, size=(20, 2))
    first, second = (
        model.forecast(trajectories(), [STEP, 4 * STEP], points=points) for model in (one, other)
    )
    return max(float(np.abs(first[name] - second[name]).max()) for name in first.data_vars)


# Learning


@pytest.fixture(scope="module")
def trained():
    """Trained for real, if not for long."""
    return SMORE(
        latent_dim=10,
        hidden_dim=32,
        num_hidden=1,
        frequency_scale=16.0,
        recipe="paper",
        epochs=400,
        evaluate_every=100,
        fit_steps=100,
        teacher_forcing_decay=0.98,
        latent_rate=1e-2,
        dynamics_rate=1e-2,
    ).fit(trajectories(24, 8), progress=False)


def test_a_model_learns_to_forecast_initial_states_it_has_not_seen(trained):
    evaluation = trained.evaluate(trajectories(8, 12, seed=7))
    assert evaluation.beats_references
    assert evaluation.full_nmse < 0.005 * evaluation.persistence_nmse
    assert evaluation.full_nmse < 0.005 * evaluation.climatology_nmse


def test_it_forecasts_between_the_points_it_was_trained_on(trained):
    elsewhere = np.random.default_rng(3).uniform(-0.95, 0.95, size=(200, 2))
    start = trajectories(8, 1, seed=7)
    forecast = trained.forecast(start, [2 * STEP], points=elsewhere)
    truth = solution(codes(8, seed=7), elsewhere, [2 * STEP])
    error = np.mean((forecast["u"].values - truth[:, :, 0]) ** 2)
    assert error < 0.05 * np.mean(truth[:, :, 0] ** 2)


def test_it_forecasts_from_few_points(trained):
    start = trajectories(8, 1, seed=7)
    truth = solution(codes(8, seed=7), places(), [2 * STEP])[:, :, 0]
    errors = []
    for count in (40, 20):
        forecast = trained.forecast(start.at_points(np.arange(count)), [2 * STEP])
        errors.append(np.mean((forecast["u"].values - truth) ** 2) / np.mean(truth**2))
    assert errors[0] < 0.005
    assert errors[1] < 0.01


# Repeating


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_bits(kind):
    first = fitted(**KINDS[kind], seed=5)
    torch.manual_seed(123)
    np.random.seed(123)  # noqa: NPY002
    random.seed(123)
    assert same_bits(first, fitted(**KINDS[kind], seed=5))
    assert not same_bits(first, fitted(**KINDS[kind], seed=6))


def test_the_users_random_numbers_are_left_alone():
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    fitted().evaluate(trajectories())
    assert torch.equal(torch.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_forecasts_the_same_bits(kind, tmp_path):
    scaling = "scale" if "conservative" in kind else "standard"
    model = fitted(**KINDS[kind], normalization=scaling)
    model.save(tmp_path / "model")
    loaded = SMORE.load(tmp_path / "model")
    xr.testing.assert_identical(
        loaded.forecast(trajectories(), [0.2, 2.0]), model.forecast(trajectories(), [0.2, 2.0])
    )
    assert loaded.num_parameters == model.num_parameters
    assert loaded.settings == model.surrogate_.description.settings
    assert loaded.surrogate_.description == model.surrogate_.description


def test_a_model_file_of_something_else_is_refused(tmp_path):
    save_file(tmp_path / "m", {"weight": torch.ones(2)}, json.dumps({"settings": {}}))
    with pytest.raises(ModelFileError, match="does not describe a model"):
        SMORE.load(tmp_path / "m")
    model = fitted()
    text = model.surrogate_.description.model_dump_json()
    save_file(tmp_path / "m", {"weight": torch.ones(2)}, text)
    with pytest.raises(ModelFileError, match="does not describe a model"):
        SMORE.load(tmp_path / "m")


def test_fitting_again_starts_afresh():
    model = fitted(seed=1)
    first = {name: value.clone() for name, value in weights(model).items()}
    model.fit(trajectories(seed=3), progress=False)
    assert not torch.equal(weights(model)["linear"], first["linear"])
    model.fit(trajectories(), progress=False)
    assert all(torch.equal(weights(model)[name], first[name]) for name in first)


def test_nothing_that_is_passed_in_is_modified():
    dataset = trajectories().to_xarray()
    dataset["u"][0, 2, 5] = np.nan
    before = dataset.copy(deep=True)
    times, points = np.array([0.5, 1.0]), np.zeros((3, 2))
    model = fitted(dataset, select_on=dataset, missing="mask")
    model.evaluate(dataset, missing="mask")
    state = model.infer(dataset, missing="mask")
    mean = state.mean.clone()
    model.forecast(state, times, points=points)
    model.forecast(dataset, times, points=points, missing="mask")
    xr.testing.assert_identical(dataset, before)
    assert torch.equal(state.mean, mean)
    np.testing.assert_array_equal(times, [0.5, 1.0])
    np.testing.assert_array_equal(points, 0.0)


@pytest.mark.parametrize("chunk_size", [1, 7])
def test_chunks_of_points_change_nothing_but_round_off(chunk_size):
    whole, chunked = fitted(), fitted(chunk_size=chunk_size)
    assert difference(whole, chunked) < 1e-4
    assert chunked.evaluate(trajectories()).full_mse == pytest.approx(
        whole.evaluate(trajectories()).full_mse, rel=1e-4
    )


def test_files_datasets_and_trajectories_are_the_same_data(tmp_path):
    data = trajectories()
    data.save(tmp_path / "waves.nc")
    model = fitted(data)
    for other in (data.to_xarray(), tmp_path / "waves.nc", str(tmp_path / "waves.nc")):
        assert same_bits(fitted(other), model)
        assert model.evaluate(other) == model.evaluate(data)


# All kinds of data


def test_a_point_that_is_never_observed_might_as_well_not_be_there():
    data = trajectories()
    values = np.stack([sequence.fields for sequence in data])
    values[..., 30:] = np.nan
    times, coords = data.sequences[0].times, data.sequences[0].mesh.coords
    masked = Trajectories.from_arrays(values, coords, times, channels=CHANNELS, missing="mask")
    assert difference(fitted(masked), fitted(data.at_points(np.arange(30)))) < 1e-4


def test_missing_values_are_refused_unless_declared():
    dataset = trajectories().to_xarray()
    dataset["v"][1, 3, 7] = np.nan
    with pytest.raises(DataError, match=r"'v' must be a finite.*sequence 1.*time index 3.*point 7"):
        fitted(dataset)
    evaluation = fitted(dataset, missing="mask").evaluate(dataset, missing="mask")
    assert math.isfinite(evaluation.full_mse)


def ragged():
    """Sequences with points, lengths and steps of their own."""
    coords = [places(20 + 5 * number, seed=number) for number in range(4)]
    times = [
        step * np.arange(3 + number) + number for number, step in enumerate([0.5, 0.2, 0.9, 0.5])
    ]
    values = [
        solution(codes(4)[number : number + 1], coords[number], times[number] - times[number][0])[0]
        for number in range(4)
    ]
    return Trajectories.from_arrays(values, coords, times, channels=CHANNELS)


@pytest.mark.parametrize("kind", KINDS)
def test_meshes_lengths_and_steps_may_differ(kind):
    """The score is that of each sequence forecast on its own."""
    data = ragged()
    model = fitted(data, **KINDS[kind])
    assert model.surrogate_.mesh is None
    errors = []
    for number, sequence in enumerate(data):
        forecast = model.forecast(
            data.select([number]), sequence.times[1:], points=sequence.mesh, noise=0.0
        )
        for channel, name in enumerate(["u", "v"]):
            errors.append((forecast[name].values[0] - sequence.fields[1:, channel]).ravel())
    expected = float(np.mean(np.concatenate(errors) ** 2))
    assert model.evaluate(data, noise=0.0).full_mse == pytest.approx(expected, rel=1e-3)


def test_a_single_long_sequence_is_cut_and_its_end_selects():
    data = trajectories(1, 64)
    record = fitted(data, window=8, validation_fraction=0.25).surrogate_.description.training
    assert (record.num_sequences, record.num_snapshots) == (6, 48)
    assert record.selection == "validation split"
    dataset = data.to_xarray().isel(sequence=0)
    assert same_bits(fitted(data, window=8), fitted(dataset, window=8))


def test_a_sphere_is_as_good_as_a_box():
    rng = np.random.default_rng(0)
    coords = np.stack([rng.uniform(-90, 90, 50), rng.uniform(0, 360, 50)], axis=1)
    height = np.sin(np.deg2rad(coords[:, 0])) * np.arange(1.0, 5.0)[:, None, None]
    data = Trajectories.from_arrays(
        np.stack([height, 2 * height]), coords, np.arange(4.0), geometry="sphere"
    )
    model = fitted(data)
    forecast = model.forecast(data, [5.0], points=[[10.0, 20.0], [10.0, 380.0], [10.0, -340.0]])
    np.testing.assert_allclose(forecast["u0"][..., 0], forecast["u0"][..., 1], rtol=1e-5)
    np.testing.assert_allclose(forecast["u0"][..., 0], forecast["u0"][..., 2], rtol=1e-5)


def test_every_open_size_is_chosen_from_the_data():
    model = SMORE(recipe="paper", epochs=1).fit(trajectories(), progress=False)
    chosen = model.surrogate_.description.settings
    assert model.settings.latent_dim is None
    assert chosen.latent_dim in (8, 9)  # the waves have 8 modes, and channels two means
    assert chosen.hidden_dim is not None
    assert chosen.time_scale == STEP
    assert model.surrogate_.description.time_step == STEP


# Selection


def test_the_checkpoint_is_selected_on_the_data_given_for_it():
    """The error in the record is that of the kept model on these data, fitted by Adam."""
    options = {"epochs": 9, "evaluate_every": 1, "decoder_rate": 0.1, "final_fit_steps": 20}
    other = trajectories(3, 9, seed=8)
    model = fitted(select_on=other, **options)
    record = model.surrogate_.description.training
    assert record.selection == "given data"
    assert record.num_sequences == 6
    epoch, lowest = min(record.history, key=lambda entry: entry[1])
    assert record.selected_epoch == epoch
    assert model.evaluate(other, method="adam").full_mse == pytest.approx(lowest, rel=1e-4)


def test_what_is_selected_on_is_not_learned_from():
    """Another selection may keep another epoch, but every epoch is the same."""
    options = {"epochs": 4, "evaluate_every": 4}
    first = fitted(select_on=trajectories(2, seed=8), **options)
    second = fitted(select_on=trajectories(3, seed=9), **options)
    assert same_bits(first, second)
    assert first.surrogate_.description.training.history[0][1] != pytest.approx(
        second.surrogate_.description.training.history[0][1], rel=1e-3
    )


def test_by_default_a_share_of_the_trajectories_is_held_out():
    record = fitted(trajectories(10), validation_fraction=0.3).surrogate_.description.training
    assert record.num_sequences == 7
    assert record.selection == "validation split"
    record = fitted(trajectories(10), validation_fraction=0.0).surrogate_.description.training
    assert record.num_sequences == 10
    assert record.selection == "last epoch"
    assert record.selected_epoch == 2


# Refusing


def test_a_model_that_was_not_fitted_says_so(tmp_path):
    model = SMORE(**QUICK)
    data = trajectories()
    for ask in (
        lambda: model.infer(data),
        lambda: model.forecast(data, [1.0]),
        lambda: model.evaluate(data),
        lambda: model.save(tmp_path / "model"),
        lambda: model.num_parameters,
    ):
        with pytest.raises(NotFittedError, match="fit"):
            ask()
    assert not list(tmp_path.iterdir())


def test_data_that_cannot_be_learned_from_are_refused():
    with pytest.raises(DataError, match="at least 2 snapshots"):
        fitted(trajectories().leading(1))
    with pytest.raises(DataError, match="at least 2 snapshots"):
        fitted().evaluate(trajectories().leading(1))
    with pytest.raises(DataError, match="no file"):
        fitted("nowhere.nc")
    with pytest.raises(DataError, match="expected channels"):
        fitted(select_on=trajectories().select_channels(["v"]))


def test_a_device_that_is_not_there_is_refused_by_name():
    with pytest.raises(SettingsError, match="'warp'"):
        fitted(device="warp")


DIVERGING = {
    "decoder": {"decoder_rate": 1e6},
    "wild decoder": {"decoder_rate": 1e12, "num_hidden": 3},
    "latents": {"latent_rate": 1e25},
    "dynamics": {"dynamics_rate": 1e3},
    "wild dynamics": {"dynamics_rate": 1e12},
}


@pytest.mark.parametrize("part", DIVERGING)
@pytest.mark.parametrize("validation_fraction", [0.0, 0.2])
def test_a_run_that_diverges_says_when_and_keeps_a_usable_state(
    part, validation_fraction, tmp_path
):
    """The kept model can be saved, loaded, asked for states and scored for what it is."""
    model = SMORE(
        **QUICK
        | {"epochs": 60, "evaluate_every": 1, "clip_norm": None}
        | {"validation_fraction": validation_fraction}
        | DIVERGING[part]
    )
    with pytest.raises(DivergenceError, match="epoch") as caught:
        model.fit(trajectories(), progress=False)
    assert 0 <= caught.value.epoch < 60
    assert f"epoch {caught.value.epoch}" in str(caught.value)
    assert caught.value.part
    record = model.surrogate_.description.training
    assert record.epochs_run == caught.value.epoch
    assert all(torch.isfinite(value).all() for value in weights(model).values())
    model.save(tmp_path / "model")
    loaded = SMORE.load(tmp_path / "model")
    state = loaded.infer(trajectories())
    assert torch.isfinite(state.mean).all()
    assert np.isfinite(loaded.forecast(state, [0.0])["u"].values).all()


def test_a_run_that_goes_well_first_keeps_its_best_epoch():
    settings = {"dynamics_rate": 3.0, "epochs": 500, "teacher_forcing_start": 0.0}
    model = SMORE(**QUICK | settings | {"clip_norm": None, "evaluate_every": 1})
    with pytest.raises(DivergenceError):
        model.fit(trajectories(), progress=False)
    record = model.surrogate_.description.training
    finite = [entry for entry in record.history if math.isfinite(entry[1])]
    assert record.selected_epoch == min(finite, key=lambda entry: entry[1])[0]
    assert math.isfinite(model.evaluate(trajectories()).full_mse)
