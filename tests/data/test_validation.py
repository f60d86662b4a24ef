"""The border says what was expected, what came and where, before any work."""

import numpy as np
import pytest
import xarray as xr

from smore.data import Trajectories, require_snapshots
from smore.errors import DataError, UnitsWarning


def arrays() -> dict:
    rng = np.random.default_rng(0)
    return {
        "fields": rng.normal(size=(2, 3, 2, 4)),
        "coords": rng.uniform(size=(4, 2)),
        "times": np.array([0.0, 0.5, 1.0]),
        "channels": ["u", "v"],
    }


def test_nan_is_located(grid: xr.Dataset) -> None:
    grid["h"][1, 2, 1, 3] = np.nan
    message = (
        r"'h' must be a finite value, is nan in sequence 1 at time index 2 \(time = 1.5\), "
        r"point 8 \[y index 1, x index 3\] \(x = 0.5, y = 0.5\); 1 such .*missing='mask'"
    )
    with pytest.raises(DataError, match=message):
        Trajectories.from_xarray(grid)


def test_dates_are_told_as_dates(grid: xr.Dataset) -> None:
    dates = np.datetime64("2000-01-01", "ns") + np.arange(4) * np.timedelta64(1, "D")
    grid["u"][0, 1, 0, 0] = np.nan
    with pytest.raises(DataError, match=r"time = 2000-01-02T00"):
        Trajectories.from_xarray(grid.assign_coords(time=dates))
    with pytest.raises(
        DataError, match=r"2000-01-04T00\S* at time index 0 is followed by 2000-01-03"
    ):
        Trajectories.from_xarray(grid.assign_coords(time=dates[::-1]))


@pytest.mark.parametrize("missing", ["refuse", "mask"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_always_refused(value: float, missing: str) -> None:
    given = arrays()
    given["fields"][0, 0, 0, 0] = np.nan if missing == "mask" else 0.0
    given["fields"][1, 2, 1, 3] = value
    with pytest.raises(
        DataError, match=rf"'v' must be a finite value, is {value} in sequence 1 .* point 3"
    ):
        Trajectories.from_arrays(**given, missing=missing)


@pytest.mark.parametrize("missing", ["refuse", "mask"])
@pytest.mark.parametrize("value", [1e20, -1e20, float(np.float32(1e20)), 9.969209968386869e36])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_fill_values_that_no_attribute_declares_are_refused(kind, value, missing) -> None:
    given = arrays()
    given["fields"] = given["fields"].astype(kind)
    given["fields"][1, 2, 1, 3] = value
    with pytest.raises(DataError, match=r"'v' .* sequence 1 .* point 3 .*; 1 such .* 'no value'"):
        Trajectories.from_arrays(**given, missing=missing)


def test_large_values_are_not_infinite() -> None:
    given = arrays()
    given["fields"] = np.full((2, 3, 2, 4), 3e38, "f4")
    assert len(Trajectories.from_arrays(**given)) == 2


def test_gaps_are_fine_but_not_everywhere() -> None:
    given = arrays()
    given["fields"][0, 0] = np.nan
    given["fields"][0, :, 1] = np.nan
    assert Trajectories.from_arrays(**given, missing="mask").sequences[0].observed is not None
    given["fields"][0] = np.nan
    with pytest.raises(DataError, match="sequence 0 has no observed value"):
        Trajectories.from_arrays(**given, missing="mask")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("times", [0.0, 1.0, 1.0], r"sequence 0 must increase strictly, but 1.0 at time index 1"),
        (
            "times",
            [[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]],
            r"sequence 1 must increase .* followed by 1.0",
        ),
        ("times", [0.0, np.nan, 1.0], r"sequence 0 must be finite, time index 1 is nan"),
        ("times", [0.0, 1.0], r"sequence 0 has 2 times and fields \(3, 2, 4\)"),
        ("times", ["a", "b", "c"], r"numbers, datetime64, timedelta64 or cftime"),
        ("times", [[0.0, 1.0, 2.0]] * 3, r"each of 2 sequences, got 3"),
        ("coords", np.zeros((5, 2)), r"has 5 coordinates and fields \(3, 2, 4\).* at 4 points"),
        (
            "coords",
            np.array([[0, 0], [1, np.inf], [2, 2], [3, 3]]),
            r"'y' of sequence 0 .* point 1",
        ),
        ("coords", np.zeros((4, 2)) * 1j, r"coordinates must hold real numbers"),
        ("coords", [np.zeros((4, 2)), np.zeros((4, 3))], r"expected 2 coordinates .* got 3"),
        ("coords", np.zeros(4), r"coordinate array \(points, dim\) for all or one"),
        ("channels", ["u", "u"], r"channel names must differ, 'u' is there 2 times"),
        ("channels", ["u"], r"each of 2 channels, got 1"),
        ("fields", np.zeros((2, 3, 2, 4), complex), r"fields must hold real numbers.*complex"),
        ("fields", np.full((2, 3, 2, 4), "a"), r"fields must hold real numbers"),
        ("fields", np.zeros((0, 3, 2, 4)), r"empty: expected at least one sequence"),
        (
            "fields",
            np.zeros((2, 3, 2, 4, 1)),
            r"expected fields \(sequences, times, channels, points",
        ),
        ("weights", [1.0, 1.0, 1.0, -1.0], r"weights of sequence 0 must be .* not negative"),
        ("weights", [1.0, 1.0, 1.0], r"each of 4 points, got weights \(3,\)"),
        ("coordinate_names", ["x"], r"each of 2 coordinates .* got \('x',\)"),
        ("coordinate_names", ["x", "x"], r"coordinate names must differ"),
        ("missing", "ignore", r"must be 'refuse' or 'mask', got 'ignore'"),
    ],
)
def test_refusals(name: str, value: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Trajectories.from_arrays(**(arrays() | {name: value}))


@pytest.mark.parametrize(("axis", "what"), [(1, "snapshot"), (2, "channel"), (3, "point")])
def test_empty(axis: int, what: str) -> None:
    shape = [2, 3, 2, 4]
    shape[axis] = 0
    _, num_times, num_channels, num_points = shape
    with pytest.raises(
        DataError, match=f"at least one {what}|at least one time array|coordinate array"
    ):
        Trajectories.from_arrays(
            np.zeros(shape),
            np.zeros((num_points, 2)),
            np.arange(float(num_times)),
            channels=["u", "v"][:num_channels],
        )


def test_latitude_out_of_range() -> None:
    given = arrays() | {"coords": np.array([[0, 0], [10, 5], [170, 45], [20, 3]])}
    with pytest.raises(DataError, match=r"'latitude' of sequence 0 .* is 170 at point 2.*order"):
        Trajectories.from_arrays(**given, geometry="sphere")


def test_padding_belongs_to_the_end(ragged: Trajectories) -> None:
    dataset = ragged.to_xarray()
    dataset["x"][1, 2] = np.nan
    with pytest.raises(DataError, match=r"'x' of sequence 1 must be finite, is nan at point 2"):
        Trajectories.from_xarray(dataset)
    dataset = ragged.to_xarray()
    dataset["time"][1, 1] = np.nan
    with pytest.raises(DataError, match=r"sequence 1 must be finite, time index 1 is nan"):
        Trajectories.from_xarray(dataset)


def test_too_few_snapshots(ragged: Trajectories) -> None:
    require_snapshots(ragged, 2)
    with pytest.raises(DataError, match="at least 3 snapshots in every sequence, sequence 0 has 2"):
        require_snapshots(ragged, 3)


@pytest.mark.parametrize(
    ("lat", "lon", "told"),
    [
        (np.linspace(-1.5, 1.5, 9), np.linspace(0, 6.2, 9), True),
        (np.linspace(-1.5, 1.5, 9), np.linspace(-np.pi, np.pi, 9), True),
        (np.linspace(-85, 85, 9), np.linspace(0, 355, 9), False),
        (np.linspace(-1.5, 1.5, 9), np.linspace(0, 4, 9), False),  # a patch near the equator
        (np.linspace(0, 3, 9), np.linspace(0, 6, 9), False),
    ],
)
def test_a_globe_in_radians_is_noticed(lat, lon, told, recwarn) -> None:
    dims, fields = ("time", "lat", "lon"), np.random.default_rng(0).normal(size=(3, 9, 9))
    dataset = xr.Dataset({"h": (dims, fields)}, {"time": np.arange(3.0), "lat": lat, "lon": lon})
    assert Trajectories.from_xarray(dataset).space.geometry == "sphere"
    assert any(isinstance(each.message, UnitsWarning) for each in recwarn) == told
