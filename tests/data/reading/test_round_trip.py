"""xarray -> Trajectories -> xarray, in memory and through files, changes nothing."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from smore.data import Trajectories

Same = Callable[..., None]


def curvilinear() -> xr.Dataset:
    rng = np.random.default_rng(3)
    j, i = np.meshgrid(np.arange(3.0), np.arange(4.0), indexing="ij")
    return xr.Dataset(
        {"sst": (("time", "j", "i"), rng.normal(size=(2, 3, 4)))},
        coords={
            "time": np.array(["2000-01-01", "2000-01-01T06"], "M8[ns]"),
            "lat": (("j", "i"), 10 * j + i, {"units": "degrees_north"}),
            "lon": (("j", "i"), 10 * i - j, {"units": "degrees_east"}),
        },
    )


def sphere() -> xr.Dataset:
    """Longitude before latitude, north to south, as durations."""
    return xr.Dataset(
        {"h": (("time", "lon", "lat"), np.arange(24.0).reshape(2, 4, 3))},
        coords={
            "time": np.array([0, 3600], "m8[s]"),
            "lat": [60.0, 0.0, -60.0],
            "lon": [0.0, 90.0, 180.0, 270.0],
        },
    )


def stations_and_levels() -> xr.Dataset:
    return xr.Dataset(
        {
            "u": (
                ("sequence", "time", "level", "point"),
                np.random.default_rng(0).normal(size=(2, 2, 3, 4)),
            )
        },
        coords={
            "time": (("sequence", "time"), [[0.0, 1.0], [0.0, 2.0]]),
            "x": ("point", [0.0, 1.0, 5.0, 2.0]),
            "level": [10.0, 20.0, 40.0],
        },
    )


def different_grids() -> xr.Dataset:
    return xr.Dataset(
        {"u": (("sequence", "time", "y", "x"), np.random.default_rng(0).normal(size=(2, 2, 3, 4)))},
        coords={
            "time": [0.0, 1.0],
            "x": (("sequence", "x"), [[0.0, 1.0, 2.0, 3.0], [0.0, 2.0, 4.0, 6.0]]),
            "y": ("y", [0.0, 1.0, 2.0]),
            "trajectory": ("sequence", [5, 5]),
        },
    )


def masked() -> xr.Dataset:
    values = np.arange(12.0, dtype="f4").reshape(2, 6)
    values[1, 2] = np.nan
    return xr.Dataset(
        {"u": (("time", "x"), values)}, coords={"time": [0.0, 1.0], "x": np.arange(6.0)}
    )


DATASETS = [curvilinear, sphere, stations_and_levels, different_grids, masked]


@pytest.mark.parametrize("make", DATASETS)
@pytest.mark.parametrize("suffix", ["memory", ".nc", ".nc4", ".h5", ".zarr"])
def test_same_trajectories_again(
    make: Callable[[], xr.Dataset], suffix: str, tmp_path: Path, assert_same: Same
) -> None:
    trajectories = Trajectories.from_xarray(make(), missing="mask")
    if suffix == "memory":
        again = Trajectories.from_xarray(trajectories.to_xarray(), missing="mask")
    else:
        trajectories.save(tmp_path / f"data{suffix}")
        again = Trajectories.open(tmp_path / f"data{suffix}", missing="mask")
    assert_same(again, trajectories)


@pytest.mark.parametrize("make", DATASETS)
def test_values_and_coordinates_as_the_user_had_them(make: Callable[[], xr.Dataset]) -> None:
    dataset = make()
    written = Trajectories.from_xarray(dataset, missing="mask").to_xarray()
    if "sequence" not in dataset.dims:
        written = written.isel(sequence=0)
    for name, variable in dataset.data_vars.items():
        xr.testing.assert_equal(written[name], variable)
        assert written[name].dims == variable.dims


def test_units_and_names_survive(grid: xr.Dataset) -> None:
    written = Trajectories.from_xarray(grid).to_xarray()
    xr.testing.assert_equal(written, grid)
    for name in grid.variables:
        assert written[name].attrs == grid[name].attrs
    assert list(written.data_vars) == list(grid.data_vars)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_ragged(ragged: Trajectories, suffix: str, tmp_path: Path, assert_same: Same) -> None:
    dataset = ragged.to_xarray()
    assert dataset["time"].dims == ("sequence", "time")
    assert dataset["x"].dims == ("sequence", "point")
    assert np.isnan(dataset["u"].values).sum() == 3 * 4 * 5 - (2 * 3 + 4 * 5 + 3 * 5)
    ragged.save(tmp_path / f"ragged{suffix}")
    again = Trajectories.open(tmp_path / f"ragged{suffix}")
    assert_same(again, ragged)
    assert again.sequences[1].mesh is again.sequences[2].mesh


def test_ragged_dates(tmp_path: Path, assert_same: Same) -> None:
    start = np.datetime64("2020-02-28T12:00", "us")
    hours = [np.arange(3) * np.timedelta64(6, "h"), np.arange(2) * np.timedelta64(1, "h")]
    trajectories = Trajectories.from_arrays(
        [np.ones((3, 1, 4)), np.ones((2, 1, 4))],
        np.random.default_rng(0).uniform(size=(4, 3)),
        [start + each for each in hours],
    )
    trajectories.save(tmp_path / "dates.nc")
    assert_same(Trajectories.open(tmp_path / "dates.nc"), trajectories)
    assert trajectories.to_xarray()["time"].dtype.kind == "M"


def test_grids_of_different_size_come_back_as_points(grid: xr.Dataset, assert_same: Same) -> None:
    both = Trajectories.from_xarray([grid, grid.isel(x=slice(3))])
    again = Trajectories.from_xarray(both.to_xarray())
    assert_same(again, both, points=False)
    assert {sequence.mesh.dims for sequence in again} == {("point",)}


def test_lines_of_different_length_come_back_as_lines(assert_same: Same) -> None:
    long = masked().fillna(0.0)
    both = Trajectories.from_xarray([long, long.isel(x=slice(1, 4))])
    assert both.to_xarray()["x"].dims == ("sequence", "x")
    assert_same(Trajectories.from_xarray(both.to_xarray()), both)


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_any_arrays(data: st.DataObject, assert_same: Same) -> None:
    """Whatever the number of sequences, lengths, points, channels, coordinates and gaps."""
    draw = data.draw
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count, num_channels, dim = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 4)),
    )
    sizes = [(draw(st.integers(1, 3)), draw(st.integers(1, 4))) for _ in range(count)]
    fields = [rng.normal(size=(times, num_channels, points)) for times, points in sizes]
    if draw(st.booleans()):
        for values in fields:
            values[rng.uniform(size=values.shape) < 0.3] = np.nan
            values[0, 0, 0] = 1.0
    trajectories = Trajectories.from_arrays(
        fields,
        [rng.uniform(size=(points, dim)) for _, points in sizes],
        [np.cumsum(rng.uniform(0.1, 1.0, size=times)) for times, _ in sizes],
        channels=["b", "a"][:num_channels],
        coordinate_names=["d", "c", "b0", "a0"][:dim],
        missing="mask",
    )
    assert_same(Trajectories.from_xarray(trajectories.to_xarray(), missing="mask"), trajectories)


def test_subsets_keep_their_weights(grid: xr.Dataset, assert_same: Same) -> None:
    part = Trajectories.from_xarray(grid).at_points([[0, 3, 7], [14, 2]])
    assert_same(Trajectories.from_xarray(part.to_xarray()), part)


def test_a_geometry_chosen_by_the_user_is_remembered(assert_same: Same) -> None:
    plane = Trajectories.from_xarray(sphere(), geometry="box")
    assert plane.space.geometry == "box"
    assert_same(Trajectories.from_xarray(plane.to_xarray()), plane)
