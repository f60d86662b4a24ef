"""A table gives the observations that its cells say, whatever its order and dialect."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from smore.data import Channel, Clock, Space, Trajectories
from smore.data.reading.tables import read_observations
from smore.errors import DataError

BOX = Space(names=("x", "y"), units=("km", "km"))
GLOBE = Space(names=("lat", "lon"), units=("degrees_north", "degrees_east"), geometry="sphere")
CHANNELS = (Channel(name="u", units="m/s"), Channel(name="v"), Channel(name="ω'"))
SECONDS = Clock(units="s")
DATES = Clock(kind="datetime", units="s", reference="2021-03-01T00:00:00.000000")

TABLE = "x,y,u,v\n0.5,1,10,-1e3\n0.25,2,20,0\n-3,4,30,7\n"


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Trajectories]:
    def from_text(
        text: str | bytes,
        space: Space = BOX,
        channels: tuple[Channel, ...] = CHANNELS,
        clock: Clock = SECONDS,
    ) -> Trajectories:
        path = tmp_path / "points.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_observations(path, space=space, channels=channels, clock=clock)

    return from_text


def test_cells_are_found_where_the_header_says(read: Callable) -> None:
    observations = read(TABLE)
    assert observations.channels == CHANNELS[:2]
    assert observations.space == BOX
    assert observations.clock == SECONDS
    (sequence,) = observations
    np.testing.assert_array_equal(sequence.times, [0.0])
    np.testing.assert_array_equal(sequence.mesh.coords, [[0.5, 1], [0.25, 2], [-3, 4]])
    np.testing.assert_array_equal(sequence.fields, [[[10, 20, 30], [-1000, 0, 7]]])
    assert sequence.fields.dtype == np.float64
    assert sequence.observed is None
    assert sequence.mesh.dims == ("point",)


def test_the_mesh_is_that_of_the_same_arrays(read: Callable, assert_same: Callable) -> None:
    """But for the units, which plain arrays do not tell."""
    space = Space(names=("x", "y"), units=("", ""))
    channels = (Channel(name="u"), Channel(name="v"))
    from_arrays = Trajectories.from_arrays(
        np.array([[[[10.0, 20, 30], [-1000, 0, 7]]]]),
        np.array([[0.5, 1], [0.25, 2], [-3, 4]]),
        np.zeros(1),
        channels=channels,
    )
    assert_same(read(TABLE, space, channels, Clock()), from_arrays)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TABLE.replace(",", ";"), id="semicolons"),
        pytest.param(TABLE.replace(",", "\t"), id="tabs"),
        pytest.param(TABLE.replace(",", " ,  "), id="spaces"),
        pytest.param(TABLE.replace("\n", "\r\n"), id="Windows"),
        pytest.param(b"\xef\xbb\xbf" + TABLE.encode(), id="byte-order mark"),
        pytest.param(TABLE.rstrip(), id="no end of line"),
        pytest.param(TABLE.replace("\n", "\n\n# a; comment; of; many\n ,,,\n"), id="comments"),
        pytest.param("# from a buoy\n" + TABLE, id="comment first"),
        pytest.param(TABLE.replace("x,y", "X, Y "), id="capitals"),
        pytest.param(TABLE.replace("x,y", '"x","y"'), id="quotes"),
        pytest.param("v,y,u,x\n-1e3,1,10,.5\n0,2,20,.25\n7,4,30,-3\n", id="order of columns"),
        pytest.param("t,x,y,u,v\n0,.5,1,10,-1e3\n0.0,.25,2,20,0\n0,-3,4,30,7\n", id="time"),
        pytest.param("x,y,u,v,Sequence\n.5,1,10,-1e3,a\n.25,2,20,0,a\n-3,4,30,7,a", id="label"),
    ],
)
def test_a_table_means_the_same_in_every_dialect(
    text: str | bytes, read: Callable, assert_same: Callable
) -> None:
    assert_same(read(text), read(TABLE))


@pytest.mark.parametrize("blank", ["", "  ", "nan", "NaN", "NA", "na"])
def test_a_blank_cell_is_not_observed(blank: str, read: Callable) -> None:
    (sequence,) = read(f"x,y,u,v\n0,0,1,{blank}\n1,0,{blank},2\n2,0,{blank},{blank}\n")
    expected = [[[True, False, False], [False, True, False]]]
    np.testing.assert_array_equal(sequence.observed, expected)
    np.testing.assert_array_equal(sequence.fields, [[[1, 0, 0], [0, 2, 0]]])


def test_only_the_channels_of_the_table_in_the_order_of_the_model(read: Callable) -> None:
    observations = read("x,ω',y,u\n0,1,0,2\n")
    assert [channel.name for channel in observations.channels] == ["u", "ω'"]
    np.testing.assert_array_equal(observations.sequences[0].fields, [[[2], [1]]])


@pytest.mark.parametrize("names", ["lat,lon", "Latitude,Longitude", "LAT,longitude"])
def test_usual_names_on_a_sphere(names: str, read: Callable) -> None:
    for space in (GLOBE, GLOBE.model_copy(update={"names": ("phi", "lambda")})):
        (sequence,) = read(f"u,{names}\n1,-45,200\n2,90,-10\n", space)
        np.testing.assert_array_equal(sequence.mesh.coords, [[-45, 200], [90, -10]])
        np.testing.assert_allclose(sequence.mesh.weights.sum(), 4 * np.pi)
    with pytest.raises(DataError, match=r"unknown column 'l[ao]"):
        read(f"x,y,{names.lower()},u\n0,0,0,0,0\n")


def test_a_coordinate_keeps_its_own_name(read: Callable) -> None:
    space = GLOBE.model_copy(update={"names": ("phi", "lambda")})
    (sequence,) = read("Lambda,PHI,u\n200,-45,1\n", space)
    np.testing.assert_array_equal(sequence.mesh.coords, [[-45, 200]])


def test_a_channel_comes_before_the_usual_names(read: Callable) -> None:
    """Temperature is often called t."""
    channels = (Channel(name="t"), Channel(name="X"))
    observations = read("time,t,x,y,X\n5,280,1,2,3\n5,281,2,2,4\n", channels=channels)
    (sequence,) = observations
    assert observations.channels == channels
    np.testing.assert_array_equal(sequence.times, [5.0])
    np.testing.assert_array_equal(sequence.fields, [[[280, 281], [3, 4]]])
    np.testing.assert_array_equal(sequence.mesh.coords, [[1, 2], [2, 2]])


def test_sequences_come_in_order_of_first_appearance(read: Callable) -> None:
    text = "sequence,time,x,y,u\nnight,3,0,0,1\nday,1,0,0,2\nnight,3.0,1,1,3\nday,1,1,1,4\n"
    observations = read(text + "noon,2,0,0,5\n")
    night, day, noon = observations
    assert [float(sequence.times[0]) for sequence in observations] == [3.0, 1.0, 2.0]
    np.testing.assert_array_equal(night.fields, [[[1, 3]]])
    np.testing.assert_array_equal(day.fields, [[[2, 4]]])
    np.testing.assert_array_equal(noon.fields, [[[5]]])
    assert night.mesh is day.mesh
    assert observations.groups == (0, 1, 2)


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("2021-03-01", 0.0),
        ("2021-03-01T01:30", 5400.0),
        ("2021-02-28 23:59:59.5", -0.5),
        ("2021-03-01T01:30:00Z", 5400.0),
        ("2021-03-01T01:30:00+02:00", -1800.0),
        ("2021-03-01T00:00:01.000000000", 1.0),
    ],
)
def test_dates_are_told_on_the_clock(date: str, seconds: float, read: Callable) -> None:
    observations = read(f"x,y,time,u\n0,0,{date},1\n", clock=DATES)
    assert observations.clock == DATES
    np.testing.assert_array_equal(observations.sequences[0].times, [seconds])


def test_durations_are_seconds(read: Callable) -> None:
    clock = Clock(kind="timedelta", units="s")
    observations = read("x,y,time,u\n0,0,90,1\n", clock=clock)
    times = observations.clock.to_values(observations.sequences[0].times)
    np.testing.assert_array_equal(times, [np.timedelta64(90, "s")])
    np.testing.assert_array_equal(read(TABLE, clock=clock).sequences[0].times, [0.0])


def test_points_on_a_line(read: Callable) -> None:
    """Also when there is but one place, told twice: its weight is that of a single point."""
    line = Space(names=("x",), units=("",))
    (sequence,) = read("x;u\n0.5;1\n0.5;1\n", line)
    np.testing.assert_array_equal(sequence.mesh.coords, [[0.5], [0.5]])
    np.testing.assert_array_equal(sequence.mesh.weights, [0.5, 0.5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"no observations in .*points.csv, it is empty"),
        ("# x,y,u\n\n", r"no observations in .*points.csv, it is empty"),
        ("x,y,u\n", r"no observations in .*points.csv, only a header"),
        ("x,u\n0,1\n", r"line 1: expected a column for coordinate 'y', got x, u;"),
        ("x,y\n0,1\n", r"at least one of the channels u, v, ω', got x, y;"),
        (
            "# buoys\nx,y,u,Wind\n0,0,0,0\n",
            r"line 2: unknown column 'Wind'; .*coordinates x, y, .*channels u, v, ω', .*time and s",
        ),
        ("x,y,U\n0,0,0\n", r"unknown column 'U'"),
        ("x,y,u,\n0,0,0,\n", r"unknown column ''"),
        ("x,y,u,X\n0,0,0,0\n", r"expected one column for 'x', got 'x' and 'X'; remove"),
        ("x,y,u,u\n0,0,0,0\n", r"expected one column for 'u', got 'u' and 'u'"),
        ("x,y,t,u,time\n0,0,0,0,0\n", r"expected one column for 'time', got 't' and 'time'"),
        ("x,y,u\n0,0,1\n\n0,0,1O\n", r"line 4, column 'u': expected a number.*, got '1O';.*blank"),
        ("x;y;u\n0;0;0,5\n", r"line 2, column 'u': .*point before its decimals, got '0,5'"),
        ("x,y,u\n0,0,-inf\n", r"line 2, column 'u': expected a finite number, got '-inf'"),
        ("x,y,u\n0,0,1e999\n", r"line 2, column 'u': expected a finite number, got '1e999'"),
        ("x,Y,u\n0,north,1\n", r"line 2, column 'Y': expected a number.*, got 'north'; .*row"),
        ("x,y,u\n0,,1\n", r"line 2, column 'y': expected a number.*, got a blank cell"),
        ("x,y,u\nnan,0,1\n", r"line 2, column 'x': expected a finite number, got 'nan'"),
        ("x,y,t,u\n0,0,,1\n", r"line 2, column 't': .* got a blank cell; .*times as numbers in s"),
        ("x,y,t,u\n0,0,2021-01-01,1\n", r"column 't': expected a number.*, got '2021-01-01'"),
        ("x,y,u\n0,0,1\n0,0\n", r"line 3: expected 3 cells as in the header, got 2"),
        ("x,y,u\n0,0,1,5\n", r"line 2: expected 3 cells as in the header, got 4"),
        ("x,y,u,sequence\n0,0,1,a\n0,0,1,\n", r"line 3: expected a label in column 'sequence'"),
        ("x,y,u,v\n0,0,,\n1,0,NA,nan\n", r"no observations in .*points.csv: every cell .* blank"),
        ("x,y,u,sequence\n0,0,1,a\n1,0,,b\n", r"no observations in sequence 'b' of .*points.csv"),
        (
            "x,y,u,time\n0,0,1,0.5\n0,0,1,0\n1,0,1,1.5\n0,0,1,0.5\n",
            r"one time are expected, .*csv has 3 times: 0.0, 0.5, 1.5; keep .* one.* 'sequence'",
        ),
        (
            "x,y,u,time,sequence\n0,0,1,1,a\n0,0,1,1,b\n0,0,1,2,b\n",
            r"one time are expected, sequence 'b' of .* has 2 times: 1.0, 2.0; keep the rows of on",
        ),
        (
            "x,y,u,time\n" + "".join(f"0,0,1,{time}\n" for time in range(9)),
            r"has 9 times: 0.0, 1.0, 2.0, 3.0, 4.0, \.\.\.; .* or give all of them to `smore as",
        ),
    ],
)
def test_refusals(text: str, message: str, read: Callable) -> None:
    with pytest.raises(DataError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y,u\n0,0,1\n", r"line 1: expected a column 'time', .* dates; .*such as 2021-03-01T"),
        ("x,y,u,time\n0,0,1,3600\n", r"line 2, column 'time': .*ISO date such .*, got '3600'"),
        ("x,y,u,t\n0,0,1,\n", r"line 2, column 't': expected an ISO date .*, got a blank cell"),
        (
            "x,y,u,t\n0,0,1,2021-03-02\n0,0,1,2021-03-01\n",
            r"has 2 times: 2021-03-01T00:00:00\S*, 2021-03-02T00:00:00",
        ),
    ],
)
def test_refused_dates(text: str, message: str, read: Callable) -> None:
    with pytest.raises(DataError, match=message):
        read(text, clock=DATES)


def test_latitudes_end_at_the_poles(read: Callable) -> None:
    with pytest.raises(DataError, match=r"latitude 'lat' .* is 170 at point 1"):
        read("lat,lon,u\n10,0,1\n170,45,2\n", GLOBE)


def test_files_that_are_no_tables(read: Callable, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*absent\.csv"):
        read_observations(tmp_path / "absent.csv", space=BOX, channels=CHANNELS, clock=SECONDS)
    with pytest.raises(DataError, match=r"there is no file"):
        read_observations(tmp_path, space=BOX, channels=CHANNELS, clock=SECONDS)
    with pytest.raises(DataError, match=r"cannot read .*points\.csv as a table .*in UTF-8"):
        read(TABLE.encode("utf-16"))
    with pytest.raises(DataError, match=r"cannot read .*points\.csv as a table .*field"):
        read('x,y,u\n"' + TABLE * 5000)
