"""What a page can be asked for, and that the answers are those of the library."""

import math
import shlex

import numpy as np
import pytest
import torch
import xarray as xr

from exploring import forecast_at, placed, rows_of
from smore.errors import DataError, SettingsError
from smore.explore._explorer import Explorer
from smore.explore._exports import command_line, forecast_file, sensors_table
from smore.explore._pictures import BESIDE, Pictures
from smore.explore._truth import Truth
from smore.model import SMORE


def test_the_number_at_the_marked_point_is_that_of_a_forecast(explorer):
    placed(explorer, (0.1, 0.2), (-0.4, 0.5))
    explorer.view.mark(np.array([0.31, -0.47]))
    values, deviations = forecast_at(explorer, explorer.view.marked)
    for explorer.channel in range(2):
        for explorer.step in range(len(values)):
            reading = explorer.read()
            expected = values[explorer.step, explorer.channel]
            assert reading.value == pytest.approx(expected, rel=1e-5, abs=1e-6)
            expected = deviations[explorer.step, explorer.channel]
            assert reading.deviation == pytest.approx(expected, rel=1e-4)


def test_a_sensor_that_was_dragged_is_a_sensor_that_was_placed_there(explorer, grid_model):
    placed(explorer, (0.1, 0.2), (-0.4, 0.5))
    for share in (0.3, 0.7, 1.0):
        rows = rows_of(explorer)
        rows[0] = (rows[0][0], [0.1 + 0.5 * share, 0.2 - 0.6 * share])
        explorer.draw_sensors(rows, moving=share < 1)
    other = placed(Explorer(grid_model, explorer.truth), (0.6, -0.4), (-0.4, 0.5))
    np.testing.assert_array_equal(explorer.sensors.places, other.sensors.places)
    torch.testing.assert_close(explorer.knowledge.mean, other.knowledge.mean)


def test_sensors_that_are_no_longer_drawn_are_gone(explorer):
    placed(explorer, (0.1, 0.2), (-0.4, 0.5), (0.8, 0.8))
    explorer.draw_sensors([row for row in rows_of(explorer) if row[0] != 2])
    assert [row.number for row in explorer.sensors.rows] == [1, 3]
    explorer.remove(1)
    assert [row.number for row in explorer.sensors.rows] == [3]
    explorer.remove(0)
    assert len(explorer.sensors) == 0
    assert explorer.knowledge.num_values == 0


@pytest.mark.parametrize("there", [0, 3])
def test_more_sensors_leave_less_open_than_random_ones(explorer, there):
    random = np.random.default_rng(0)
    placed(explorer, *random.uniform(-0.9, 0.9, (there, 2)).tolist())
    before = rows_of(explorer)
    explorer.place_more(3)
    assert len(explorer.sensors) == there + 3
    assert len(np.unique(explorer.sensors.places, axis=0)) == there + 3
    left = explorer.knowledge.variance_left
    others = []
    for _ in range(10):
        explorer.draw_sensors(before)
        placed(explorer, *random.uniform(-0.9, 0.9, (3, 2)).tolist())
        others.append(explorer.knowledge.variance_left)
    assert left < np.median(others)


def test_what_more_sensors_promise_is_what_they_do(alone):
    placed(alone, (0.1, 0.1))
    bar = alone.forecast.deviation(alone.view.places, 0, 0) ** 2
    alone.place_more(2)
    after = alone.forecast.deviation(alone.view.places, 0, 0) ** 2
    assert after.mean() < bar.mean()
    assert 0 < alone.plan.explained < 1


def test_more_sensors_than_places_are_refused():
    coords = np.random.default_rng(0).uniform(size=(20, 2))
    times = np.arange(6.0)
    fields = np.sin(coords.sum(1) + times[:, None])[None, :, None]
    from smore import Trajectories

    data = Trajectories.from_arrays(fields, coords, times, channels=["u"])
    explorer = Explorer(SMORE(latent_dim=2).fit(data, progress=False))
    with pytest.raises(SettingsError, match="from 1 to 20"):
        explorer.place_more(21)


def test_a_typed_sensor_starts_at_what_is_expected_and_takes_what_is_typed(alone):
    placed(alone, (0.2, 0.3))
    (row,) = alone.sensors.rows
    np.testing.assert_allclose(alone.drawn(row), [0.2, 0.3])
    state, mean = alone.forecast.state(0), alone.surrogate.prior.mean
    torch.testing.assert_close(state, mean, rtol=1e-3, atol=1e-3)
    alone.view.mark(np.array([0.2, 0.3]))
    before = alone.read().value
    alone.edit(row.number, 2, before + 2.5)
    assert alone.sensors.values[0, 0] == before + 2.5
    assert before < alone.read().value < before + 2.6
    alone.edit(row.number, 0, -0.4)
    np.testing.assert_allclose(alone.sensors.places, [[-0.4, 0.3]])


def test_values_of_the_data_cannot_be_typed_over_but_kept_and_changed(explorer):
    placed(explorer, (0.2, 0.3))
    told = explorer.sensors.values.copy()
    explorer.edit(1, 2, 9.0)
    np.testing.assert_array_equal(explorer.sensors.values, told)
    explorer.take_values(False)
    np.testing.assert_array_equal(explorer.sensors.values, told)
    explorer.edit(1, 2, 9.0)
    assert explorer.sensors.values[0, 0] == 9.0


def test_two_typed_values_at_one_place_are_refused_as_the_border_does(alone):
    placed(alone, (0.2, 0.3), (0.5, 0.5))
    alone.edit(1, 2, 1.0)
    alone.edit(2, 0, 0.2)
    with pytest.raises(DataError, match="expected one value"):
        alone.edit(2, 1, 0.3)


def test_times_are_steps_of_the_training_data_from_the_observations(explorer):
    explorer.start_from(1, 2)
    truth = explorer.truth
    assert explorer.start == truth.times(1)[2]
    explorer.look_ahead(4)
    np.testing.assert_allclose(np.diff(explorer.instants), explorer.description.time_step)
    assert len(explorer.instants) == 5
    assert [explorer.truth_index(step) for step in range(5)] == [2, 3, 4, 5, 6]
    explorer.step = 4
    explorer.look_ahead(2)
    assert explorer.step == 2


def test_without_data_the_start_is_told(alone):
    alone.start_at("2.5")
    assert alone.instants[0] == 2.5
    for text in ("yesterday", "nan", ""):
        with pytest.raises(SettingsError, match=r"such as 2\.5"):
            alone.start_at(text)


def test_noise_that_is_no_size_is_refused(explorer):
    for size in (-1.0, math.inf, math.nan):
        with pytest.raises(SettingsError, match="standard deviation"):
            explorer.tell_noise(0, size)
    with pytest.raises(SettingsError, match="at least one"):
        explorer.measure_channels([])


@pytest.mark.parametrize("what", BESIDE)
def test_every_picture_has_a_number_for_every_pixel(explorer, what):
    placed(explorer, (0.2, 0.3))
    picture = Pictures(explorer).beside(what, 1)
    assert np.isfinite(picture.canvas.image(picture.values)).all()
    assert picture.low < picture.high
    if what in ("unseen", "mode", "error"):
        assert picture.low == -picture.high


def test_pictures_of_the_data_and_of_errors_are_made_of_the_data(explorer):
    placed(explorer, (0.2, 0.3))
    explorer.step = 3
    pictures = Pictures(explorer)
    true = explorer.truth.data.sequences[0].fields[3, 0]
    np.testing.assert_allclose(pictures.beside("data", 1).values, true)
    missed = pictures.field().values - true
    np.testing.assert_allclose(pictures.beside("error", 1).values, missed, atol=1e-6)
    explorer.look_ahead(20)
    explorer.step = 20
    assert np.isnan(pictures.beside("data", 1).values).all()


def test_what_is_unseen_is_what_sensors_do_not_see(explorer):
    placed(explorer, (0.2, 0.3), (-0.5, 0.1))
    picture = Pictures(explorer).beside("unseen", 1)
    mesh = explorer.view.canvas.mesh
    there = [int((mesh.coords == place).all(1).argmax()) for place in explorer.sensors.places]
    assert np.square(picture.values[there]).mean() < 0.1 * np.square(picture.values).mean()


def test_worth_tells_when_a_forecast_ends(explorer):
    placed(explorer, *np.random.default_rng(0).uniform(-0.9, 0.9, (12, 2)).tolist())
    worth = explorer.worth()
    told = [explorer.told_time(int(step)) for step in worth.steps]
    assert told[0] == "0 s"
    true = explorer.truth.data.sequences[0].fields[:, 0].astype(float)
    for at, step in enumerate(worth.steps[:8]):
        found = explorer.view.places.field(0, explorer.forecast.state(int(step)))
        expected = np.sqrt(np.mean((found - true[step]) ** 2))
        assert worth.measured[at] == pytest.approx(expected, rel=1e-4)
        expected = np.sqrt(np.mean((true[0] - true[step]) ** 2))
        assert worth.persistence[at] == pytest.approx(expected, rel=1e-6)
    assert np.isnan(worth.measured[8:]).all()
    assert (worth.expected > 0).all()
    assert any("worth" in line.lower() for line in worth.words(explorer.told_time))


def test_worth_in_words():
    from smore.explore._worth import Worth

    steps = np.arange(5)
    lost = Worth(steps, np.array([0.1, 0.5, 0.9, 1.1, 1.2]), 1.0)
    (words,) = lost.words(lambda step: f"step {step}")
    assert "nothing from step 3 on" in words
    assert "Half of its worth is gone by step 2" in words
    kept = Worth(steps, np.full(5, 0.1), 1.0)
    (words,) = kept.words(lambda step: f"step {step}")
    assert "Still worth something at step 4" in words
    assert "99%" in words
    (words,) = kept.words(str, furthest=True)
    assert "look further" not in words
    swinging = Worth(steps, np.array([0.1, 0.9, 1.1, 0.9, 0.1]), 1.0)
    (words,) = swinging.words(str)
    assert "Still worth something" in words
    assert "Half" not in words
    never = Worth(steps, np.full(5, 1.0), 1.0)
    assert "Not worth anything" in never.words(str)[0]
    measured = Worth(
        steps,
        np.full(5, 0.1),
        1.0,
        np.array([0.1, 0.2, 0.9, 1.5, 1.6]),
        np.zeros(5),
        np.ones(5),
    )
    assert "better than climatology until step 2" in measured.words(lambda s: f"step {s}")[1]


def test_the_forecast_file_is_the_forecast(explorer, tmp_path):
    placed(explorer, (0.1, 0.2), (-0.4, 0.5))
    explorer.tell_noise(1, 0.01)
    explorer.look_ahead(3)
    path = tmp_path / "forecast.nc"
    path.write_bytes(forecast_file(explorer))
    table = tmp_path / "sensors.csv"
    table.write_bytes(sensors_table(explorer))
    words = shlex.split(command_line(explorer, "wave.smore", None))
    assert words[:4] == ["smore", "forecast", "wave.smore", "sensors.csv"]
    assert words[words.index("--steps") + 1] == "3"
    assert words[words.index("--noise") + 1] == "u_t=0.01"
    expected = explorer.model.forecast(
        table, explorer.description.clock.to_values(explorer.instants[1:]), noise={"u_t": 0.01}
    )
    with xr.open_dataset(path) as found:
        xr.testing.assert_allclose(found.load(), expected)


def test_without_sensors_there_is_nothing_to_take_away(explorer):
    for export in (sensors_table, forecast_file):
        with pytest.raises(SettingsError, match="no sensors"):
            export(explorer)


def test_a_stream_is_followed_and_forecast_from_its_end(grid_model, grid_data):
    few = grid_data.select([0]).at_points(np.arange(0, 256, 25))
    analysis = grid_model.assimilate(few)
    explorer = Explorer(grid_model, Truth(grid_data, grid_model.surrogate_), analysis)
    explorer.look_ahead(3)
    explorer.follow(True)
    times = explorer.shown.instants
    assert len(times) == 8 + 3
    fields = analysis.fields(explorer.description.clock.to_values(times))
    field, bar = (fields[name].values.reshape(len(times), -1) for name in ("u", "u_std"))
    for step in (0, 4, 10):
        found = explorer.view.places.field(0, explorer.shown.state(step))
        np.testing.assert_allclose(found, field[step], rtol=1e-4, atol=1e-5)
        found = explorer.shown.deviation(explorer.view.places, 0, step)
        np.testing.assert_allclose(found, bar[step], rtol=1e-3, atol=1e-6)
    places, taken = explorer.followed.readings(4)
    assert {tuple(place) for place in places} == {tuple(c) for c in few.sequences[0].mesh.coords}
    assert taken.any()
    words = shlex.split(command_line(explorer, "wave.smore", "stream.csv"))
    assert words[:4] == ["smore", "assimilate", "wave.smore", "stream.csv"]
    explorer.follow(False)
    assert explorer.shown is explorer.forecast


def test_sensors_do_not_stand_on_land():
    x, y = np.linspace(0, 3, 12), np.linspace(-1, 1, 10)
    times = np.arange(8.0)
    values = np.exp(-0.1 * times)[:, None, None] * np.sin(
        x[:, None] + 0.3 * y + times[:, None, None]
    )
    values[:, :4] = np.nan
    dataset = xr.Dataset({"u": (("time", "x", "y"), values)}, {"time": times, "x": x, "y": y})
    model = SMORE(latent_dim=2).fit(dataset, missing="mask", progress=False)
    for explorer in (
        Explorer(model),
        Explorer(model, Truth(model.observations(dataset, missing="mask"), model.surrogate_)),
    ):
        placed(explorer, (0.1, 0.0))
        assert explorer.sensors.places[0, 0] >= x[4]
        explorer.place_more(3)
        assert (explorer.sensors.places[:, 0] >= x[4]).all()
