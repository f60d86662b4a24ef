"""Model time: calendar months where dates come by the month, else the data's time."""

import cftime
import numpy as np
import pytest
import xarray as xr

from smore.data import Pace, Timeline, Trajectories

DAY = 86400.0


def record(times):
    fields = np.random.default_rng(0).normal(size=(len(times), 1, 4))
    return Trajectories.from_arrays([fields], np.arange(4.0)[:, None], [np.asarray(times)])


def dates(count, start="2003-01", step=1, unit="M", day=0.0):
    """The begin of each month, and some share of the way to the next one."""
    begin = np.datetime64(start, unit) + step * np.arange(count)
    begin, end = begin.astype("datetime64[s]"), (begin + 1).astype("datetime64[s]")
    return begin + ((end - begin) * day).astype("timedelta64[s]")


def months(calendar, count, day=1, step=1):
    return np.array(
        [
            cftime.datetime(1860 + k // 12, k % 12 + 1, day, calendar=calendar)
            for k in range(0, step * count, step)
        ],
        dtype=object,
    )


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (dates(30), "month"),
        (dates(30, day=0.5), "month"),
        (dates(30) + np.timedelta64(15, "D"), "month"),  # the 16th of February is late in it
        (dates(30) - np.timedelta64(1, "D"), "month"),  # the last day, of 28 to 31
        (dates(20, step=3), "3 months"),
        (dates(20, step=12), "year"),
        (dates(20, start="2003-05", step=12, day=0.2), "year"),
        (dates(12, step=120), "10 years"),
        (months("noleap", 30, 15), "month"),
        (months("360_day", 30, 16), "month"),
        (months("standard", 30, step=12), "year"),
    ],
)
def test_months_and_years_are_steps(times, words):
    data = record(times)
    pace = Pace.of(data)
    assert pace.words == words
    timeline = Timeline.of(data, pace)
    assert timeline.uniform
    assert float(timeline.steps[0, 0]) == 1.0


@pytest.mark.parametrize(
    "times",
    [
        0.25 * np.arange(20),
        np.datetime64("2003-01-01") + 5 * np.arange(40) * np.timedelta64(1, "D"),
        np.datetime64("2003-01-01", "s") + 30 * np.arange(40) * np.timedelta64(1, "D"),
        np.arange(20) * np.timedelta64(30, "D"),
    ],
)
def test_other_steps_are_what_they_are(times):
    data = record(times)
    pace = Pace.of(data)
    assert pace.words is None
    assert Timeline.of(data, pace).uniform
    assert pace.scale == pytest.approx(float(np.diff(data.sequences[0].times)[0]))


def test_a_missing_month_is_two_steps():
    data = record(np.delete(dates(24, day=0.5), 7))
    steps = Timeline.of(data, Pace.of(data)).steps[0]
    assert sorted(set(steps.tolist())) == [1.0, 2.0]


@pytest.mark.parametrize(
    "times",
    [dates(24), dates(24, day=0.5), months("noleap", 24), dates(24, step=12), np.arange(24.0) / 4],
)
def test_later_steps_are_the_dates_that_the_record_goes_on_with(times):
    whole, part = record(times), record(times[:10])
    pace, clock = Pace.of(part), part.clock
    expected = part.clock.to_numbers(whole.clock.to_values(whole.sequences[0].times))[10:]
    found = pace.later(float(part.sequences[0].times[-1]), np.arange(1.0, 15.0), clock)
    np.testing.assert_allclose(found, expected, atol=1800 if clock.kind == "datetime" else 1e-9)
    np.testing.assert_allclose(np.diff(pace(found, clock)), 1.0, atol=0 if pace.months else 1e-9)


def test_a_day_between_months_is_a_share_of_one():
    data = record(dates(24))
    pace = Pace.of(data)
    found = pace(data.clock.to_numbers(np.array("2003-06-16", "datetime64[us]")), data.clock)
    assert found - pace(data.sequences[0].times[:1], data.clock)[0] == pytest.approx(5.5)


def test_files_of_months_are_read_as_months(tmp_path):
    times = dates(30, day=0.5)
    data = xr.Dataset(
        {"sst": (("time", "x"), np.random.default_rng(0).normal(size=(30, 5)))},
        {"time": times.astype("datetime64[ns]"), "x": np.arange(5.0)},
    )
    data.to_netcdf(tmp_path / "monthly.nc")
    assert Pace.of(Trajectories.open(tmp_path / "monthly.nc")).words == "month"
