"""Sensors of a page: what they measure, and the table that `smore forecast` reads."""

import numpy as np
import pytest

from exploring import placed, rows_of
from smore.data import read_observations
from smore.explore._sensors import Sensors


def test_with_data_sensors_stand_at_points_of_the_data_and_say_what_it_says(explorer):
    placed(explorer, (0.11, 0.26), (-0.77, 0.4))
    mesh = explorer.truth.mesh(0)
    fields = explorer.truth.data.sequences[0].fields[0]
    for row in explorer.sensors.rows:
        (point,) = np.flatnonzero((mesh.coords == row.place).all(axis=1))
        np.testing.assert_array_equal(row.values, fields[:, point].astype(np.float64))
    far = np.linalg.norm(mesh.coords - [0.11, 0.26], axis=1).min()
    assert np.linalg.norm(explorer.sensors.places[0] - [0.11, 0.26]) == pytest.approx(far)


def test_noise_has_its_size_and_belongs_to_the_place(explorer):
    mesh = explorer.truth.mesh(0)
    placed(explorer, *mesh.coords.tolist())
    exact = explorer.sensors.values
    explorer.tell_noise(0, 0.5)
    noisy = explorer.sensors.values
    assert np.std(noisy[:, 0] - exact[:, 0]) == pytest.approx(0.5, rel=0.2)
    np.testing.assert_array_equal(noisy[:, 1], exact[:, 1])
    first = rows_of(explorer)[0]
    explorer.draw_sensors([(first[0], [0.9, 0.9]), *rows_of(explorer)[1:]])
    explorer.draw_sensors([first, *rows_of(explorer)[1:]])
    np.testing.assert_array_equal(explorer.sensors.values, noisy)
    explorer.draw_noise()
    assert (explorer.sensors.values[:, 0] != noisy[:, 0]).all()


def test_sensors_measure_the_channels_they_are_told_to(explorer):
    placed(explorer, (0.1, 0.2))
    explorer.measure_channels([1])
    assert np.isnan(explorer.sensors.values[0, 0])
    assert np.isfinite(explorer.sensors.values[0, 1])
    assert explorer.knowledge.num_values == 1


@pytest.mark.parametrize("measured", [[0, 1], [1]])
def test_the_table_is_read_back_to_the_last_digit(explorer, tmp_path, measured):
    explorer.start_from(0, 2)
    placed(explorer, (0.1, 0.2), (-0.5, 0.7))
    explorer.measure_channels(measured)
    path = tmp_path / "sensors.csv"
    path.write_text(explorer.sensors.to_csv(explorer.description, explorer.start))
    told = explorer.description
    back = read_observations(path, space=told.space, channels=told.channels, clock=told.clock)
    (sequence,) = back.sequences
    assert sequence.times[0] == explorer.start
    np.testing.assert_array_equal(sequence.mesh.coords, explorer.sensors.places)
    assert [channel.name for channel in back.channels] == [
        told.channels[number].name for number in measured
    ]
    np.testing.assert_array_equal(sequence.fields[0].T, explorer.sensors.values[:, measured])


def test_a_sensor_that_is_gone_cannot_be_changed():
    sensors = Sensors(1)
    one, two = sensors.add(np.zeros(2)), sensors.add(np.ones(2))
    sensors.keep([two.number])
    sensors.change(one.number, place=np.full(2, 5.0))
    np.testing.assert_array_equal(sensors.places, [[1.0, 1.0]])
    assert sensors.add(np.zeros(2)).number == 3


def test_without_values_there_are_no_observations(alone):
    assert alone.sensors.observations(alone.description, 0.0) is None
    placed(alone, (0.0, 0.0))
    for column in (2, 3):
        alone.edit(1, column, float("nan"))
    assert alone.sensors.observations(alone.description, 0.0) is None
    assert alone.knowledge.num_values == 0
