"""Observations as they come, from every kind of file, or refused with a reason."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from smore.assimilation import Stream, read_stream
from smore.data import Trajectories
from smore.errors import DataError, UnitsWarning
from waves import CHANNELS


def same(one: Stream, other: Stream) -> None:
    """The same values, whatever the order of sensors within a time."""

    def listed(stream: Stream) -> list[tuple]:
        columns = (stream.times, stream.sensors, stream.channels, stream.values, stream.coords)
        return sorted(
            (float(time), stream.names[sensor], int(channel), float(value), *place.tolist())
            for time, sensor, channel, value, place in zip(*columns, strict=True)
        )

    assert listed(one) == listed(other)


@pytest.fixture
def surrogate(exact):
    return exact.surrogate_


@pytest.fixture
def table(rows):
    times, coords, values, sensors = rows(4, 3, moving=True)
    values[1, 0] = values[7, 1] = np.nan
    return times, coords, values, sensors


def write(path, table, *, order=slice(None), header="time,sensor,x,y,u,v"):
    lines = [header]
    for t, (x, y), (u, v), name in list(zip(*table, strict=True))[order]:
        cells = ["" if np.isnan(each) else repr(float(each)) for each in (u, v)]
        lines.append(f"{float(t)!r},{name},{float(x)!r},{float(y)!r},{','.join(cells)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_in_any_order_is_the_stream(tmp_path, surrogate, table):
    wanted = Stream.of(*table, surrogate)
    assert len(wanted) == 4 * 3 * 2 - 2
    assert (np.diff(wanted.times) >= 0).all()
    same(read_stream(write(tmp_path / "a.csv", table), surrogate), wanted)
    backwards = read_stream(
        write(tmp_path / "b.csv", table, order=slice(None, None, -1)), surrogate
    )
    np.testing.assert_array_equal(backwards.times, wanted.times)
    assert sorted(backwards.values) == sorted(wanted.values)


def test_cf_points_time_series_and_trajectories_are_the_stream(tmp_path, surrogate, table):
    times, coords, values, sensors = table
    wanted = Stream.of(*table, surrogate)
    names = np.array(sensors)
    points = xr.Dataset(
        {"u": ("obs", values[:, 0], {"units": "m"}), "v": ("obs", values[:, 1])},
        coords={
            "time": ("obs", times),
            "x": ("obs", coords[:, 0]),
            "y": ("obs", coords[:, 1]),
            "station": ("obs", names, {"cf_role": "timeseries_id"}),
        },
        attrs={"featureType": "point"},
    )
    same(read_stream(points, surrogate), wanted)
    points.to_netcdf(tmp_path / "points.nc", engine="h5netcdf")
    same(read_stream(tmp_path / "points.nc", surrogate), wanted)
    shape = (4, 3)
    tracks = xr.Dataset(
        {
            "u": (("trajectory", "obs"), values[:, 0].reshape(shape).T),
            "v": (("trajectory", "obs"), values[:, 1].reshape(shape).T),
            "time": ("obs", times[::3]),
            "x": (("trajectory", "obs"), coords[:, 0].reshape(shape).T),
            "y": (("trajectory", "obs"), coords[:, 1].reshape(shape).T),
            "trajectory": ("trajectory", names[:3], {"cf_role": "trajectory_id"}),
        },
        attrs={"featureType": "trajectory"},
    )
    same(read_stream(tracks, surrogate), wanted)
    order = np.argsort(names, kind="stable")
    ragged = xr.Dataset(
        {
            "u": ("obs", values[order, 0]),
            "v": ("obs", values[order, 1]),
            "time": ("obs", times[order]),
            "x": ("obs", coords[order, 0]),
            "y": ("obs", coords[order, 1]),
            "row_size": ("drifter", [4, 4, 4], {"sample_dimension": "obs"}),
            "drifter_name": ("drifter", names[:3], {"cf_role": "trajectory_id"}),
        }
    )
    same(read_stream(ragged, surrogate), wanted)
    index = np.array([int(name[1:]) for name in names])
    indexed = ragged.drop_vars(["row_size"]).isel(obs=np.argsort(order))
    indexed["which"] = ("obs", index, {"instance_dimension": "drifter"})
    same(read_stream(indexed, surrogate), wanted)


def test_fields_with_gaps_are_a_stream_of_their_points(surrogate, rows):
    times, coords, values, _ = rows(4, 3)
    fields = values.reshape(4, 3, 2).transpose(0, 2, 1).copy()
    fields[2, 0, 1] = np.nan
    sequence = Trajectories.from_arrays(
        fields[None], coords[:3], times[::3], channels=CHANNELS, missing="mask"
    )
    found = read_stream(sequence, surrogate)
    assert len(found) == 4 * 3 * 2 - 1
    assert len(found.names) == 3


def test_what_is_said_twice_counts_once_and_contradictions_are_refused(surrogate, table):
    twice = [np.concatenate([each, each[:2]]) for each in table[:3]]
    names = [*table[3], *table[3][:2]]
    found = Stream.of(*twice, names, surrogate)
    assert len(found) == 22
    assert found.repeated == 3  # one of the four is blank
    twice[2][-2] += 1.0
    with pytest.raises(DataError, match=r"one value of 'u' of a sensor at a time.*s0"):
        Stream.of(*twice, names, surrogate)


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("sensor,x,y,u", "a,0,0,1", "column 'time'"),
        ("time,sensor,x,y", "0,a,0,0", "at least one of the channels"),
        ("time,sensor,x,u", "0,a,0,1", "coordinate 'y'"),
        ("time,sensor,x,y,u,w", "0,a,0,0,1,1", "unknown column 'w'"),
        ("time,sensor,x,y,u", "0,,0,0,1", "name of a sensor"),
        ("time,sensor,x,y,u", "0,a,0,0,", "at least one observed value"),
        ("time,sensor,x,y,u", "0,a,5,0,1", "domain"),
        ("time,sensor,x,y,u", "soon,a,0,0,1", "expected a number"),
        ("time,sensor,x,y,u", "0,a,0,0,inf", "finite"),
        ("time,sequence,x,y,u", "0,1,0,0,1", "one sequence at a time"),
    ],
)
def test_tables_that_make_no_stream_say_why(tmp_path, surrogate, header, row, message):
    path = tmp_path / "stream.csv"
    path.write_text(f"{header}\n{row}\n")
    with pytest.raises(DataError, match=message):
        read_stream(path, surrogate)


@pytest.mark.parametrize("kind", ["dataset", "table"])
def test_units_that_fit_are_converted(surrogate, table, tmp_path, kind):
    times, coords, values, _ = table
    known = ~np.isnan(values[:, 0])
    times, coords, kilometres = times[known], coords[known], values[known, 0] / 1000
    if kind == "dataset":
        stream = xr.Dataset(
            {"u": ("obs", kilometres, {"units": "km"})},
            coords={"time": ("obs", times), "x": ("obs", coords[:, 0]), "y": ("obs", coords[:, 1])},
        )
    else:
        stream = tmp_path / "stream.csv"
        rows = [
            f"{t},{x},{y},{float(u)!r}"
            for t, (x, y), u in zip(times, coords, kilometres, strict=True)
        ]
        stream.write_text("\n".join(["time,x,y,u [km]", *rows]))
    with pytest.warns(UnitsWarning, match="'km' to the model's 'm'"):
        found = read_stream(stream, surrogate)
    plain = xr.Dataset(
        {"u": ("obs", 1000 * kilometres, {"units": "m"})},
        coords={"time": ("obs", times), "x": ("obs", coords[:, 0]), "y": ("obs", coords[:, 1])},
    )
    expected = read_stream(plain, surrogate)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    np.testing.assert_array_equal(found.times, expected.times)


def test_other_units_and_missing_places_are_refused(surrogate, table):
    times, coords, values, _ = table
    points = xr.Dataset(
        {"u": ("obs", values[:, 0], {"units": "kg"})},
        coords={"time": ("obs", times), "x": ("obs", coords[:, 0]), "y": ("obs", coords[:, 1])},
    )
    with pytest.raises(DataError, match="units 'm'"):
        read_stream(points, surrogate)
    points = points.assign(u=points.u.assign_attrs(units="m"))
    with pytest.raises(DataError, match="coordinate 'y'"):
        read_stream(points.drop_vars("y"), surrogate)
    with pytest.raises(DataError, match="of one sequence"):
        read_stream(
            Trajectories.from_arrays(
                np.zeros((2, 3, 2, 4)), np.zeros((4, 2)), np.arange(3.0), channels=CHANNELS
            ),
            surrogate,
        )
