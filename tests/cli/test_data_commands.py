"""Looking into files, splitting them, making them from arrays; saying when to forecast."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import xarray as xr
from typer.testing import CliRunner

from smore.cli.app import app
from smore.cli.times import parse_times
from smore.data import Clock, Pace, Trajectories
from smore.errors import DataError, SettingsError, UnitsWarning
from smore.model import SMORE


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder; returns what it printed, or its one-line refusal."""
    monkeypatch.chdir(tmp_path)

    def command(*words, refused=False):
        done = CliRunner().invoke(app, [str(word) for word in words])
        if refused:
            assert isinstance(done.exception, DataError | SettingsError), done.output
            assert "\n" not in str(done.exception)
            return str(done.exception)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return command


def monthly(num_months=24, start="1990-01", **attrs):
    """A record like ERA5's, a level of one entry and a static field beside it."""
    months = (np.datetime64(start, "M") + np.arange(num_months)).astype("M8[s]").astype("i8")
    dims = ("valid_time", "level", "latitude", "longitude")
    fields = np.random.default_rng(0).normal(280, 1, (num_months, 1, 3, 4)).astype("f4")
    return xr.Dataset(
        {
            "t": (dims, fields, {"units": "K"} | attrs),
            "z": (
                dims[2:],
                np.ones((3, 4)),
                {"units": "m**2 s**-2", "standard_name": "geopotential"},
            ),
            "co2": ("valid_time", np.ones(num_months)),
        },
        {
            "valid_time": ("valid_time", months, {"units": "seconds since 1970-01-01"}),
            "level": ("level", [500.0], {"units": "hPa", "positive": "down"}),
            "latitude": ("latitude", [10.0, 0.0, -10.0], {"units": "degrees_north"}),
            "longitude": ("longitude", [0.0, 1.0, 2.0, 3.0], {"units": "degrees_east"}),
        },
    )


def test_info_says_what_was_taken_for_what_and_what_was_left_out(run):
    monthly().to_netcdf("a.nc")
    printed = run("data", "info", "a.nc")
    for words in (
        "1990-01-01 to 1991-12-01, every 1 month",
        "sphere (latitude -10 to 10 degrees_north, longitude 0 to 3 degrees_east)",
        "'level' has a single entry (500) and is left out",
        "its values, which are dates",
        "units 'degrees_north'",
        "over time alone: an input",
        "the same at all times: a static field",
    ):
        assert words in printed
    told = json.loads(run("data", "info", "a.nc", "--json"))
    assert told["time_step"] == "1 month"
    assert {
        "name": "t",
        "part": "channel",
        "why": "over (valid_time, level, latitude, longitude)",
    } in (told["reading"]["taken"])
    assert [each["name"] for each in told["reading"]["left_out"]] == ["z", "co2"]


def test_info_about_land_is_information(run):
    land = monthly()
    land["t"][:, :, 1, 1] = np.nan
    land.to_netcdf("a.nc")
    assert "missing: 8.33% of all values; fit and evaluate take them with --missing mask" in run(
        "data", "info", "a.nc"
    )


def test_what_a_file_says_cannot_draw_on_the_screen(run):
    monthly(units="\x1b[31mK[bold]\n").to_netcdf("a.nc")
    assert "\x1b" not in run("data", "info", "a.nc")


def bytes_read():
    """By this process, of all files."""
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="Linux tells what was read")
def test_info_about_a_large_file_reads_no_fields(run, tmp_path):
    """Ten gigabytes, of which the disk holds none: what is read is of the size of the header."""
    path, sizes = tmp_path / "large.nc", {"time": 1000, "y": 1000, "x": 2500}
    with h5py.File(path, "w") as file:
        for name, size in sizes.items():
            file[name] = np.arange(size) / size
            file[name].make_scale(name)
        header = path.stat().st_size
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plan.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple(tuple(sizes.values()))
        h5py.h5d.create(file.id, b"u", h5py.h5t.IEEE_F32LE, space, plan)
        for axis, name in enumerate(sizes):
            file["u"].dims[axis].attach_scale(file[name])
    assert path.stat().st_size > 10**10
    run("data", "info", path, "--json")  # loads modules
    before = bytes_read()
    told = json.loads(run("data", "info", path, "--json"))
    assert bytes_read() - before < 20 * max(header, 10_000)
    assert told["fields_bytes"] == 10**10
    assert told["points"] == 2_500_000
    assert told["channels"] == [{"name": "u", "units": "", "mean": None, "std": None}]


def test_a_hundred_names_are_not_a_message(run):
    with h5py.File("many.h5", "w") as file:
        for number in range(120):
            file[f"array_{number}"] = np.zeros((2, 3))
    message = run("data", "info", "many.h5", refused=True)
    assert "and 112 more; name them with smore data convert FILE OUT.nc --axes" in message
    assert len(message) < 600


def test_groups_of_an_hdf5_file(run):
    monthly().to_netcdf("one.h5", group="Grid", engine="h5netcdf")
    assert "variables are in the group 'Grid'" in run("data", "info", "one.h5")
    monthly().to_netcdf("one.h5", group="Other", engine="h5netcdf", mode="a")
    assert "say which with --group Grid" in run("data", "info", "one.h5", refused=True)
    told = json.loads(run("data", "info", "one.h5", "--group", "Other", "--json"))
    assert told["snapshots"] == 24


# Several files


def test_files_that_follow_each_other_are_joined_in_time(run):
    whole = monthly(24)
    whole.isel(valid_time=slice(12, None)).to_netcdf("a.nc")  # the later one comes first
    whole.isel(valid_time=slice(12)).to_netcdf("b.nc")
    whole.to_netcdf("whole.nc")
    printed = run("data", "info", "[ab].nc")
    assert "2 files follow each other in time, b.nc to a.nc" in printed
    assert "the same at all times: a static field" in printed
    joined, expected = Trajectories.open("[ab].nc"), Trajectories.open("whole.nc")
    np.testing.assert_array_equal(joined.sequences[0].fields, expected.sequences[0].fields)
    lazy = Trajectories.open(["a.nc", "b.nc"], lazy=True)
    np.testing.assert_array_equal(lazy.sequences[0].fields, expected.sequences[0].fields)
    assert joined.clock.to_values(joined.sequences[0].times[0]) == np.datetime64("1990-01-01")


def test_files_of_the_same_times_are_runs_and_others_bring_channels(run):
    one, other = monthly(), monthly()
    other["t"] += 1
    one.to_netcdf("run_1.nc")
    other.to_netcdf("run_2.nc")
    assert "2 files are separate runs" in run("data", "info", "run_1.nc", "run_2.nc")
    made = Trajectories.open("run_*.nc")
    assert len(made) == 2
    np.testing.assert_allclose(made.sequences[1].fields, made.sequences[0].fields + 1)
    other.rename(t="q").to_netcdf("run_2.nc")
    printed = run("data", "info", "run_1.nc", "run_2.nc")
    assert "2 files bring channels of their own" in printed
    both = Trajectories.open("run_*.nc")
    assert [channel.name for channel in both.channels] == ["t", "q"]
    np.testing.assert_allclose(both.sequences[0].fields[:, 1], made.sequences[1].fields[:, 0])


def test_files_that_may_belong_together_in_two_ways_are_asked_about(run):
    monthly().to_netcdf("a.nc")
    monthly(start="1995-01").to_netcdf("b.nc")
    message = run("data", "info", "a.nc", "b.nc", refused=True)
    assert "with gaps between them; say --join time" in message
    assert (
        json.loads(run("data", "info", "a.nc", "b.nc", "--join", "sequence", "--json"))["sequences"]
        == 2
    )
    assert (
        json.loads(run("data", "info", "a.nc", "b.nc", "--join", "time", "--json"))["snapshots"]
        == 48
    )
    monthly(start="1991-01").to_netcdf("b.nc")
    assert "overlap in time" in run("data", "info", "a.nc", "b.nc", refused=True)
    moved = monthly(start="1992-01")
    moved = moved.assign_coords(latitude=moved.latitude * 2)
    moved.latitude.attrs["units"] = "degrees_north"
    moved.to_netcdf("b.nc")
    assert "must be on the same points" in run("data", "info", "a.nc", "b.nc", refused=True)
    assert run("data", "info", "none_*.nc", refused=True) == "there is no file none_*.nc"


# Options


def test_some_members_levels_and_dates(run):
    members = xr.concat([monthly() + k for k in range(5)], "member").assign_coords(member=range(5))
    members.to_netcdf("a.nc")
    how = ["--select", "member=1:3", "--select", "valid_time=1990-03:1990-05", "--json"]
    told = json.loads(run("data", "info", "a.nc", *how))
    assert (told["sequences"], told["snapshots"], told["from"]) == (3, 3, "1990-03-01")
    assert "3 of 5 along 'member' selected: 1:3" in told["reading"]["notes"]
    message = run("data", "info", "a.nc", "--select", "member=9", refused=True)
    assert message == "nothing along 'member' is 9; it has 0, 1, 2, 3, 4"
    assert "no dimension 'depth'" in run(
        "data", "info", "a.nc", "--select", "depth=9", refused=True
    )
    assert "its dates run from" in run(
        "data", "info", "a.nc", "--select", "valid_time=2050-01", refused=True
    )
    assert "takes NAME=VALUE" in run("data", "info", "a.nc", "--select", "member", refused=True)
    assert "one of time, sequence, space" in run(
        "data", "info", "a.nc", "--dims", "member=many", refused=True
    )


def test_a_record_is_split_by_time_and_runs_by_sequence(run):
    monthly().to_netcdf("a.nc")
    run("data", "split", "a.nc", "--at", "75%")
    train, test = (Trajectories.open(f"a-{part}.nc") for part in ("train", "test"))
    whole = Trajectories.open("a.nc")
    assert (train.sequences[0].num_snapshots, test.sequences[0].num_snapshots) == (18, 6)
    parts = [train.sequences[0].fields, test.sequences[0].fields]
    np.testing.assert_array_equal(np.concatenate(parts), whole.sequences[0].fields)
    run("data", "split", "a.nc", "--at", "1991-03", "--first", "x.nc", "--second", "y.nc")
    later = Trajectories.open("y.nc")
    assert later.clock.to_values(later.sequences[0].times[0]) == np.datetime64("1991-03-01")
    xr.concat([monthly() + k for k in range(4)], "member").to_netcdf("m.nc")
    run("data", "split", "m.nc", "--at", "50%")
    assert len(Trajectories.open("m-train.nc")) == len(Trajectories.open("m-test.nc")) == 2
    assert "nothing is left" in run("data", "split", "a.nc", "--at", "2050-01", refused=True)
    assert "between 0% and 100%" in run("data", "split", "a.nc", "--at", "150%", refused=True)


# Arrays


@pytest.fixture
def field():
    return np.random.default_rng(0).normal(size=(6, 3, 4))


def write_mat73(name, arrays):
    with h5py.File(name, "w", userblock_size=512) as file:
        for key, array in arrays.items():
            file[key] = array.T
    with Path(name).open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + bytes(8) + b"\x00\x02IM")


def write_h5(name, arrays):
    with h5py.File(name, "w") as file:
        for key, array in arrays.items():
            file[key] = array


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("u.npy", lambda name, arrays: np.save(name, arrays["u"])),
        ("a.npz", lambda name, arrays: np.savez(name, **arrays)),
        ("a.mat", lambda name, arrays: scipy.io.savemat(name, arrays)),
        ("b.mat", write_mat73),
        ("c.h5", write_h5),
    ],
)
def test_arrays_become_netcdf(run, field, name, write):
    write(name, {"u": field, "xs": np.array([0.0, 1.0, 2.0, 5.0])})
    x = "0,1,2,5" if name == "u.npy" else "xs"
    axes = [
        "--axes",
        "time,y,x",
        "--coord",
        f"x={x}",
        "--coord",
        "y=0:1",
        "--coord",
        "time=2001-01:1M",
    ]
    run("data", "convert", name, "out.nc", *axes, "--units", "u=m/s")
    made = Trajectories.open("out.nc")
    np.testing.assert_allclose(made.sequences[0].fields[:, 0], field.reshape(6, 12))
    np.testing.assert_array_equal(made.sequences[0].mesh.coords[:4, 0], [0, 1, 2, 5])
    np.testing.assert_array_equal(made.sequences[0].mesh.coords[::4, 1], [0, 0.5, 1])
    assert made.channels[0].units == "m/s"
    assert str(made.clock.to_values(made.sequences[0].times)[-1])[:10] == "2001-06-01"


def test_complex_values_and_axes_of_channels(run, field):
    np.save("w.npy", field * (1 + 2j))
    axes = ["--axes", "time,y,x", "--coord", "x=0:1", "--coord", "y=0:1", "--coord", "time=0:1"]
    run("data", "convert", "w.npy", "out.nc", *axes)
    made = Trajectories.open("out.nc")
    assert [channel.name for channel in made.channels] == ["w_real", "w_imag"]
    np.testing.assert_allclose(made.sequences[0].fields[:, 1], 2 * field.reshape(6, 12))
    np.save("c.npy", field)
    where = ["--coord", "x(point)=0,1,3,4", "--coord", "time=0:1"]
    run(
        "data",
        "convert",
        "c.npy",
        "c.nc",
        "--axes",
        "time,channel,point",
        "--channels",
        "a,b,c",
        *where,
    )
    made = Trajectories.open("c.nc")
    np.testing.assert_allclose(made.sequences[0].fields, field)


def test_arrays_that_cannot_be_converted(run, field):
    np.save("o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "'o' in o.npy holds objects, not numbers" in run(
        "data", "convert", "o.npy", "out.nc", "--axes", "time", refused=True
    )
    np.savez("o.npz", fine=field, bad=np.array([None], dtype=object))
    assert "'bad' in o.npz holds objects" in run(
        "data", "convert", "o.npz", "out.nc", "--axes", "time,y,x", refused=True
    )
    np.save("u.npy", field)
    assert "with --axes time,y,x; it has u (6, 3, 4)" in run(
        "data", "convert", "u.npy", "out.nc", refused=True
    )
    assert "got u (6, 3, 4); name all axes" in run(
        "data", "convert", "u.npy", "out.nc", "--axes", "time,x", refused=True
    )
    assert "points along dimension 'x'" in run(
        "data",
        "convert",
        "u.npy",
        "out.nc",
        "--axes",
        "time,y,x",
        "--coord",
        "time=0:1",
        "--coord",
        "y=0:1",
        refused=True,
    )
    assert "there is no axis 'q'" in run(
        "data", "convert", "u.npy", "out.nc", "--axes", "time,y,x", "--coord", "q=0:1", refused=True
    )
    assert "smore data convert" in run("fit", "u.npy", refused=True)
    assert not Path("out.nc").exists()


def test_a_table_of_fields(run):
    rows = [
        "time,x,y,u",
        *(
            f"{t},{x},{y},{100 * t + 10 * x + y}"
            for t in (0, 1, 2)
            for x in (1, 2)
            for y in (3, 4, 5)
        ),
    ]
    Path("t.csv").write_text("\n".join([rows[0], *rows[:0:-1]]))
    run("data", "convert", "t.csv", "out.nc")
    sequence = Trajectories.open("out.nc").sequences[0]
    expected = 100 * sequence.times[:, None] + sequence.mesh.coords @ [10, 1]
    np.testing.assert_array_equal(sequence.fields[:, 0], expected)
    for missing, told in ((18, "x = 2, y = 5 at time 2"), (3, "x = 1, y = 5 at time 0")):
        Path("t.csv").write_text("\n".join(rows[:missing] + rows[missing + 1 :]))
        message = run("data", "convert", "t.csv", "out2.nc", refused=True)
        assert "expected 18 rows, one for each of 6 points at each of 3 times, got 17; " in message
        assert f"the first that is missing is for {told}; add rows" in message
    Path("t.csv").write_text("\n".join([*rows, rows[9], rows[1]]))
    message = run("data", "convert", "t.csv", "out2.nc", refused=True)
    assert "there are two rows for x = 1, y = 5 at time 1; keep one" in message


def test_titles_of_a_table_of_fields_may_have_units(run):
    rows = [f"{t},{x},{t + x}" for t in range(3) for x in range(4)]
    Path("t.csv").write_text("\n".join(["time [h],x (km),ozone [ug m-3]", *rows]))
    run("data", "convert", "t.csv", "out.nc")
    made = Trajectories.open("out.nc")
    assert [(each.name, each.units) for each in made.channels] == [("ozone", "ug m-3")]
    assert (made.space.units, made.clock.units) == (("km",), "h")
    np.testing.assert_array_equal(made[0].fields[:, 0], np.add.outer(range(3), range(4)))
    run("data", "convert", "t.csv", "out.nc", "--channels", "ozone [ug m-3]")
    assert Trajectories.open("out.nc").channels == made.channels
    Path("t.csv").write_text("\n".join(["time,x,x [km]", *rows]))
    message = run("data", "convert", "t.csv", "out.nc", refused=True)
    assert "line 1: expected one column for 'x', got 'x' and 'x [km]'; rename" in message


def test_a_column_of_text_is_no_channel(run):
    rows = [f"{t},{x},station {x},{t + x},1" for t in range(3) for x in range(4)]
    Path("t.csv").write_text("\n".join(["time,x,station,u,v", *rows]))
    message = run("data", "convert", "t.csv", "out.nc", refused=True)
    assert "column 'station': expected numbers, got text such as 'station 0'; remove" in message
    assert message.endswith("or name the others by --channels u,v")
    rows[2] = rows[2].replace("station 2", "")
    Path("t.csv").write_text("\n".join(["time,x,station,u,v", *rows]))
    assert run("data", "convert", "t.csv", "out.nc", refused=True) == message
    run("data", "convert", "t.csv", "out.nc", "--channels", "u,v")
    assert [each.name for each in Trajectories.open("out.nc").channels] == ["u", "v"]


def test_a_grid_without_coordinates_gets_some(run):
    xr.Dataset({"u": (("time", "x"), np.ones((3, 4)))}, {"time": [0.0, 1.0, 2.0]}).to_netcdf(
        "bare.nc"
    )
    assert "smore data convert FILE OUT.nc --coord x=0:1" in run(
        "data", "info", "bare.nc", refused=True
    )
    run("data", "convert", "bare.nc", "out.nc", "--coord", "x=0:3")
    np.testing.assert_array_equal(
        Trajectories.open("out.nc").sequences[0].mesh.coords[:, 0], range(4)
    )


# Times

DATES = Clock(kind="datetime", units="s", reference="1979-12-16T12:00:00")
MIDDLE = Pace(scale=30.436875 * 86400, months=1, phase=0.5)


def told(text, clock=DATES, pace=MIDDLE, start=None):
    return [str(value).removesuffix(".000000") for value in parse_times(text, clock, pace, start)]


def test_months_are_those_of_the_data():
    assert told("1980-01:1980-04:1M") == [
        "1980-01-16T12:00:00", "1980-02-15T12:00:00", "1980-03-16T12:00:00", "1980-04-16T00:00:00",
    ]  # fmt: skip
    assert told("1980-01:1982-01:1Y")[-1] == "1982-01-16T12:00:00"
    first = Pace(scale=MIDDLE.scale, months=1, phase=0.0)
    assert told("1980-01:1980-03:1M", pace=first)[-1] == "1980-03-01T00:00:00"
    noleap = DATES.model_copy(update={"calendar": "noleap"})
    assert told("1980-02", clock=noleap, pace=first) == ["1980-02-01 00:00:00"]


def test_days_hours_and_times_after_the_observations():
    daily = Pace(scale=86400.0)
    assert told("1980-01-01:1980-01-02:6h", pace=daily)[1] == "1980-01-01T06:00:00"
    assert len(told("1980-01-01T00:00:1980-01-02T00:00:6h", pace=daily)) == 5
    assert told("+10d:1d", pace=daily, start=0.0)[-1] == "1979-12-26T12:00:00"
    assert len(told("+10d:1d", pace=daily, start=0.0)) == 10
    assert len(told("+10d", pace=daily, start=0.0)) == 10
    assert told("+2M:1M", start=0.0) == ["1980-01-16T12:00:00", "1980-02-15T12:00:00"]


def test_numbers_with_and_without_units():
    clock, pace = Clock(units="h"), Pace(scale=0.5)
    assert parse_times("0.5:2:0.5", clock).tolist() == [0.5, 1.0, 1.5, 2.0]
    assert parse_times("1,3", clock).tolist() == [1.0, 3.0]
    assert parse_times("+1d:6h", clock, pace, 2.0).tolist() == [8.0, 14.0, 20.0, 26.0]
    assert parse_times("+2", clock, pace, 0.0).tolist() == [0.5, 1.0, 1.5, 2.0]
    assert parse_times("1:3:1", Clock(kind="timedelta", units="s")).astype(float).tolist() == [
        1e6,
        2e6,
        3e6,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "1980-13",
        "1980-01:1981",
        "1980-01:1980-05:0.5M",
        "",
        "1980-01:1979-01:1M",
        "+0d",
        "+x",
    ],
)
def test_times_that_cannot_be_understood(text):
    with pytest.raises(SettingsError, match=r"--times|whole months"):
        parse_times(text, DATES, MIDDLE, 0.0)


# From a plan of sensors to a forecast


@pytest.fixture(scope="module")
def station_folder(tmp_path_factory):
    """A model of monthly temperatures on a line, dated in the middle of months, and its file."""
    folder = tmp_path_factory.mktemp("stations")
    months = np.arange(120)
    begin = (np.datetime64("1970-01", "M") + months).astype("M8[s]")
    end = (np.datetime64("1970-02", "M") + months).astype("M8[s]")
    x = np.linspace(0, 100, 20)
    wave = np.sin(2 * np.pi * (months[:, None] / 12 - x / 100)) * 10 + 280
    data = xr.Dataset(
        {"t": (("time", "x"), wave.astype("f4"), {"units": "K"})},
        {"time": begin + (end - begin) // 2, "x": ("x", x, {"units": "km"})},
    )
    data.to_netcdf(folder / "t.nc")
    SMORE(device="cpu", seed=0).fit(data.isel(time=slice(96)), progress=False).save(
        folder / "t.smore"
    )
    return folder


@pytest.mark.filterwarnings("ignore::smore.errors.UnobservedWarning")
@pytest.mark.filterwarnings("ignore::smore.errors.UncertainIntervalsWarning")
def test_a_plan_of_sensors_is_filled_in_and_forecast(run, station_folder):
    model, truth = station_folder / "t.smore", xr.open_dataset(station_folder / "t.nc")
    run("sensors", model, "--count", "6", "-o", "s.csv")
    header, *rows = Path("s.csv").read_text().split()
    assert header == "x,time,t"
    message = run("forecast", model, "s.csv", refused=True)
    assert "s.csv, line 2, column 'time': expected an ISO date" in message
    assert "got a blank cell" in message
    start = truth.isel(time=96)
    date = str(start.time.values)[:19]
    places = [float(row.split(",")[0]) for row in rows]
    filled = [f"{x},{date},{float(start.t.interp(x=x)) - 273.15}" for x in places]
    filled[2] = filled[2].rsplit(",", 1)[0] + ","  # a sensor that failed
    Path("s.csv").write_text("\n".join(["x [km],time,t [degC]", *filled]))
    with pytest.warns(UnitsWarning, match="'t' is converted from 'degC' to the model's 'K'"):
        run("forecast", model, "s.csv", "--times", "1978-02:1979-12:1M", "-o", "f.nc")
    with xr.open_dataset("f.nc") as forecast:
        np.testing.assert_array_equal(forecast.time, truth.time[97:])
        error = np.abs(forecast.t.isel(sequence=0).values - truth.t[97:].values)
        assert error.max() < 0.5
    run(
        "forecast",
        model,
        station_folder / "t.nc",
        "--select",
        "time=1977-12",
        "--steps",
        "24",
        "-o",
        "g.nc",
    )
    with xr.open_dataset("g.nc") as forecast:
        np.testing.assert_array_equal(forecast.time, truth.time[96:])
    Path("s.csv").write_text("x,time,t\n1,,3\n")
    assert "line 2, column 'time'" in run("forecast", model, "s.csv", refused=True)
    Path("s.csv").write_text("x,time,t [s]\n1,1978-01-16,3\n")
    assert "which cannot be converted" in run("forecast", model, "s.csv", refused=True)


def test_periods_are_in_the_words_of_the_data(run, station_folder):
    printed = run("modes", station_folder / "t.smore", "--count", "2")
    assert "period (months)" in printed
    rows = json.loads(run("modes", station_folder / "t.smore", "--json"))
    assert rows["time_units"] == "months"
