"""Dates of climate models, whose years may have no leap days and whose months may have 30 days."""

import cftime
import numpy as np
import pytest
import xarray as xr

from smore import SMORE, Trajectories
from smore.cli.times import parse_times
from smore.data.calendars import CALENDARS, read_date
from smore.data.reading.tables import read_observations
from smore.data.space import Channel, Clock, Space
from smore.errors import DataError

DAY = 86400.0


def dates(count, calendar="noleap", start="2000-02-27"):
    return cftime.num2date(np.arange(count), f"days since {start}", calendar)


@pytest.mark.parametrize("calendar", CALENDARS)
def test_dates_come_back_as_they_came(calendar):
    values = dates(1500, calendar) + np.timedelta64(1250, "ms").item()
    clock, times = Clock.from_values(values)
    np.testing.assert_array_equal(times, DAY * np.arange(1500))
    np.testing.assert_array_equal(clock.to_values(times), values)
    assert clock == Clock.model_validate_json(clock.model_dump_json())


def test_there_is_no_leap_day():
    clock, times = Clock.from_values(dates(3))
    assert str(clock.to_values(times[-1])) == "2000-03-01 00:00:00"
    assert clock.to_numbers(clock.read(["2000-03-01", "2000-03-02T12:00"])).tolist() == [
        2 * DAY,
        3.5 * DAY,
    ]


@pytest.mark.parametrize("text", ["2000-02-29", "2000-13-01", "yesterday", "", "2000-02", "NaT"])
def test_dates_that_are_none_are_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        read_date(text, "noleap")


def test_dates_of_two_calendars_do_not_mix():
    clock, _ = Clock.from_values(dates(3))
    with pytest.raises(DataError, match=r"'noleap' as before, got datetime values of .* '360_day'"):
        clock.to_numbers(dates(3, "360_day"))
    with pytest.raises(DataError, match=r"'noleap' as before, got datetime values;"):
        clock.to_numbers(np.array(["2000-03-01"], "M8[D]"))
    with pytest.raises(DataError, match=r"one calendar, got 360_day, noleap"):
        Clock.from_values(np.concatenate([dates(2), dates(2, "360_day")]))


def test_a_stored_clock_must_make_sense():
    for changes in ({"calendar": "lunar"}, {"reference": "2000-02-29"}, {"reference": "import os"}):
        told = {"kind": "datetime", "units": "s", "reference": "2000-01-01", "calendar": "noleap"}
        with pytest.raises(ValueError, match=r".+"):
            Clock.model_validate(told | changes)


def test_a_table_tells_dates_of_the_models_calendar(tmp_path):
    clock, _ = Clock.from_values(dates(3))
    space, channels = Space(names=("x",), units=("",)), (Channel(name="u"),)
    table = tmp_path / "sensors.csv"
    table.write_text("time,x,u\n2000-03-01,0.5,1.0\n2000-03-01,0.7,2.0\n")
    read = read_observations(table, space=space, channels=channels, clock=clock)
    assert read.sequences[0].times.tolist() == [2 * DAY]
    table.write_text("time,x,u\n2000-02-29,0.5,1.0\n")
    with pytest.raises(DataError, match=r"line 2.*'2000-02-29'.*calendar 'noleap'"):
        read_observations(table, space=space, channels=channels, clock=clock)


def test_from_file_to_forecast(tmp_path):
    """A damped wave over the end of a February that has 28 days in every year."""
    times, x = np.arange(40), np.linspace(0, 1, 50, endpoint=False)
    phase = 2 * np.pi * (x - 0.03 * times[:, None])
    path, model_file = tmp_path / "run.nc", tmp_path / "model.smore"
    xr.Dataset(
        {"u": (("time", "x"), 0.99 ** times[:, None] * np.sin(phase))},
        {"time": dates(40), "x": x},
    ).to_netcdf(path, engine="h5netcdf")
    data = Trajectories.open(path)
    model = SMORE(latent_dim=4, hidden_dim=24, decoder_steps=400, device="cpu", seed=0)
    model.fit(data, progress=False).save(model_file)
    model = SMORE.load(model_file)
    assert model.surrogate_.description.time_step == DAY
    asked = parse_times("2000-03-01,2000-03-11", model.surrogate_.description.clock)
    forecast = model.forecast(path, asked)
    same = model.forecast(path, ["2000-03-01", "2000-03-11"])
    xr.testing.assert_identical(forecast, same)
    truth = xr.open_dataset(path).u.sel(time=forecast.time.values)
    np.testing.assert_allclose(forecast.u.squeeze(), truth, atol=0.02)
    forecast.to_netcdf(tmp_path / "forecast.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "forecast.nc") as written:
        assert [str(each) for each in written.time.values.ravel()] == [
            "2000-03-01 00:00:00",
            "2000-03-11 00:00:00",
        ]
