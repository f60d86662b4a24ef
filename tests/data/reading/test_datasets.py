"""Which variable plays which part, whatever the file looks like."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from smore.data import Trajectories
from smore.errors import DataError

Same = Callable[..., None]


@pytest.mark.parametrize("order", list(permutations(["sequence", "time", "y", "x"]))[::5])
def test_any_order_of_dimensions(
    grid: xr.Dataset, order: tuple[str, ...], assert_same: Same
) -> None:
    """Channels may differ in the order of their dimensions, the first decides about the points."""
    mixed = grid.assign(h=grid["h"].transpose(*order))
    assert_same(Trajectories.from_xarray(mixed), Trajectories.from_xarray(grid))

    transposed = Trajectories.from_xarray(grid.transpose(*order))
    assert transposed.space == Trajectories.from_xarray(grid).space
    xr.testing.assert_equal(transposed.to_xarray().transpose(*grid["u"].dims), grid)


def test_fields_are_where_the_coordinates_say(grid: xr.Dataset) -> None:
    x, y = grid["x"], grid["y"]
    trajectories = Trajectories.from_xarray(grid.assign(u=10 * x + y + 0 * grid["u"])[["u"]])
    assert trajectories.space.names == ("x", "y")
    for sequence in trajectories:
        np.testing.assert_allclose(sequence.fields[0, 0], sequence.mesh.coords @ [10.0, 1.0])


def test_single_long_sequence(scattered: xr.Dataset, assert_same: Same) -> None:
    alone = Trajectories.from_xarray(scattered.isel(sequence=1))
    assert_same(alone, Trajectories.from_xarray(scattered.isel(sequence=[1])))


def test_single_snapshot(scattered: xr.Dataset) -> None:
    snapshot = scattered.isel(time=2)
    assert [sequence.times.tolist() for sequence in Trajectories.from_xarray(snapshot)] == [
        [2.0]
    ] * 3
    timeless = Trajectories.from_xarray(snapshot.drop_vars("time").isel(sequence=0))
    assert timeless.sequences[0].times.tolist() == [0.0]
    assert timeless.sequences[0].fields.shape == (1, 1, 7)


def test_short_name_of_time(grid: xr.Dataset, assert_same: Same) -> None:
    assert_same(Trajectories.from_xarray(grid.rename(time="t")), Trajectories.from_xarray(grid))


def test_positions_stored_as_plain_variables(scattered: xr.Dataset, assert_same: Same) -> None:
    """As in a file written without the CF attribute `coordinates`."""
    plain = scattered.reset_coords(["x", "y"]).assign_coords(point=np.arange(7))
    assert_same(Trajectories.from_xarray(plain), Trajectories.from_xarray(scattered))
    snapshot = Trajectories.from_xarray(plain.isel(time=0))
    assert [channel.name for channel in snapshot.channels] == ["u"]


def test_other_variables_are_left_alone(grid: xr.Dataset, assert_same: Same) -> None:
    grid["time"].attrs["bounds"] = "time_bounds"
    more = grid.assign(
        time_bounds=(("time", "bound"), np.zeros((4, 2))),
        topography=(("y", "x"), np.ones((3, 5))),
        forcing=("time", np.ones(4)),
        title="a run",
    ).assign_coords(region=(("y", "x"), np.ones((3, 5), int)), label=("x", list("abcde")))
    assert_same(Trajectories.from_xarray(more), Trajectories.from_xarray(grid))


@pytest.mark.parametrize(
    ("coords", "names", "geometry"),
    [
        ({"lat": ("lat", [0.0, 1.0]), "lon": ("lon", [5.0, 6.0])}, ("lat", "lon"), "sphere"),
        (
            {"Lon": ("lon", [5.0, 6.0]), "Latitude": ("lat", [0.0, 1.0])},
            ("Latitude", "Lon"),
            "sphere",
        ),
        (
            {
                "a": ("lon", [5.0, 6.0], {"units": "degrees_east"}),
                "b": ("lat", [0.0, 1.0], {"standard_name": "latitude"}),
            },
            ("b", "a"),
            "sphere",
        ),
        (
            {
                "lat": ("lat", [0.0, 1.0]),
                "lon": ("lon", [0.0, 1.0]),
                "x": (("lat", "lon"), np.eye(2)),
                "y": (("lat", "lon"), np.eye(2)),
            },
            ("lat", "lon"),
            "sphere",
        ),
        ({"r": ("lat", [0.0, 1.0]), "phi": ("lon", [0.0, 1.0])}, ("phi", "r"), "box"),
    ],
)
def test_geometry_and_order_of_coordinates(coords: dict, names: tuple, geometry: str) -> None:
    dataset = xr.Dataset(
        {"u": (("time", "lon", "lat"), np.zeros((1, 2, 2)))}, coords={"time": [0.0], **coords}
    )
    space = Trajectories.from_xarray(dataset).space
    assert space.names == names
    assert space.geometry == geometry


def test_projected_grid_with_latitude_and_longitude() -> None:
    """The positions on the sphere win over the indices of the projection, unless told otherwise."""
    dataset = xr.Dataset(
        {"u": (("time", "y", "x"), np.zeros((1, 2, 2)))},
        coords={
            "time": [0.0],
            "x": [0.0, 1.0],
            "y": [0.0, 1.0],
            "lat": (("y", "x"), np.array([[0.0, 1.0], [2.0, 3.0]])),
            "lon": (("y", "x"), np.array([[0.0, 1.0], [0.5, 1.5]])),
        },
    )
    assert Trajectories.from_xarray(dataset).space.geometry == "sphere"
    plane = Trajectories.from_xarray(dataset, coordinate_names=["x", "y"])
    assert (plane.space.geometry, plane.space.names) == ("box", ("x", "y"))


def test_requested_channels_in_the_requested_order(grid: xr.Dataset) -> None:
    trajectories = Trajectories.from_xarray(grid, channels=["h", "u"])
    assert [channel.name for channel in trajectories.channels] == ["h", "u"]
    np.testing.assert_array_equal(
        trajectories.sequences[1].fields[2, 0], grid["h"][1, 2].values.ravel()
    )


def test_trajectories_of_several_datasets_stay_apart(grid: xr.Dataset) -> None:
    labelled = grid.assign_coords(trajectory=("sequence", ["a", "a"]))
    both = Trajectories.from_xarray([labelled, labelled])
    assert both.groups == (0, 0, 1, 1)
    assert len({id(sequence.mesh) for sequence in both}) == 1


def test_classic_netcdf(scattered: xr.Dataset, tmp_path: Path, assert_same: Same) -> None:
    scattered.to_netcdf(tmp_path / "old.nc", engine="scipy")
    assert_same(Trajectories.open(tmp_path / "old.nc"), Trajectories.from_xarray(scattered))


def test_nothing_is_copied_or_changed(scattered: xr.Dataset) -> None:
    before = scattered.copy(deep=True)
    scattered["u"].values.flags.writeable = False
    trajectories = Trajectories.from_xarray(scattered)
    assert np.shares_memory(trajectories.sequences[0].fields, scattered["u"].values)
    with pytest.raises(ValueError, match="read-only"):
        trajectories.sequences[0].fields[0] = 0
    xr.testing.assert_identical(scattered, before)


def test_mask_leaves_the_dataset_alone(scattered: xr.Dataset) -> None:
    scattered["u"][0, 1, 2] = np.nan
    before = scattered.copy(deep=True)
    sequence = Trajectories.from_xarray(scattered, missing="mask").sequences[0]
    assert sequence.fields[1, 0, 2] == 0
    assert sequence.observed is not None
    assert np.argwhere(~sequence.observed).tolist() == [[1, 0, 2]]
    xr.testing.assert_identical(scattered, before)


def test_integers_become_floats(scattered: xr.Dataset) -> None:
    whole = Trajectories.from_xarray(scattered.assign(u=scattered["u"].astype("i2")))
    assert whole.sequences[0].fields.dtype == np.float64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d.drop_vars("x"),
            r"along dimension 'x' are; add coordinates.*assign_coords\(x=",
        ),
        (lambda d: d.drop_vars("time"), r"when the snapshots along dimension 'time' are"),
        (
            lambda d: d.drop_vars(["u", "h"]),
            r"expected data variables over time and space.*no variables",
        ),
        (
            lambda d: d.rename(sequence="component").assign_coords(component=[0, 1]),
            r"nothing says what dimension 'component' \(2\) is; say so with --dims "
            r"component=time, ",
        ),
        (lambda d: d.isel(time=slice(0)), r"empty.*dimension 'time'"),
        (lambda d: d.isel(x=slice(0)), r"empty.*dimension 'x'"),
        (lambda d: d.isel(sequence=slice(0)), r"empty.*dimension 'sequence'"),
        (
            lambda d: d.assign(h=d["h"].isel(x=0)),
            r"same dimensions, got u\(.*h\(sequence, time, y\)",
        ),
        (
            lambda d: d.assign(h=d["h"] * 1j),
            r"'h' must hold real numbers, got values of type complex",
        ),
        (lambda d: d.assign(h=d["h"] > 0), r"'h' must hold real numbers, got values of type bool"),
        (
            lambda d: d.drop_attrs().rename(x="lon", y="lat").expand_dims(level=[1.0, 2.0]),
            r"'level' has 2 entries as well \(1, 2\); keep one with --select level=1, .*box",
        ),
        (
            lambda d: d.rename(x="lon", y="lat"),
            r"'lat' contradicts itself: its name 'lat' makes it a latitude, but it has units 'km'",
        ),
    ],
)
def test_what_cannot_be_read(grid: xr.Dataset, change: Callable, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Trajectories.from_xarray(change(grid))


def test_what_cannot_be_asked_for(grid: xr.Dataset) -> None:
    with pytest.raises(DataError, match=r"no channel 'w'; the dataset has u, h"):
        Trajectories.from_xarray(grid, channels=["w"])
    with pytest.raises(DataError, match=r"no coordinate 'z'; the dataset has .*x\(x\)"):
        Trajectories.from_xarray(grid, coordinate_names=["x", "z"])
    with pytest.raises(DataError, match=r"cannot tell them among x, y; say which with --coords"):
        Trajectories.from_xarray(grid, geometry="sphere")
    with pytest.raises(DataError, match="geometry must be one of box, sphere, got 'torus'"):
        Trajectories.from_xarray(grid, geometry="torus")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"same channels"):
        Trajectories.from_xarray([grid, grid.rename(u="w")])
    with pytest.raises(DataError, match="at least one dataset"):
        Trajectories.from_xarray([])
    with pytest.raises(DataError, match="units, got 's' and 'h'"):
        Trajectories.from_xarray([grid, grid.assign_coords(time=grid.time.assign_attrs(units="h"))])
