"""What it means for two sets of trajectories to be the same, and a few datasets."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from smore.data import Trajectories


def _assert_same(first: Trajectories, second: Trajectories, points: bool = True) -> None:
    """Equal in every number and name; `points=False` leaves out the dimensions of the meshes."""
    assert first.channels == second.channels
    assert first.space == second.space
    assert first.clock == second.clock
    assert first.groups == second.groups
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.times, other.times)
        np.testing.assert_array_equal(one.fields, other.fields)
        assert one.fields.dtype == other.fields.dtype
        np.testing.assert_array_equal(one.mesh.coords, other.mesh.coords)
        np.testing.assert_array_equal(one.mesh.weights, other.mesh.weights)
        if points:
            assert one.mesh.dims == other.mesh.dims
            assert one.mesh.shape == other.mesh.shape
            assert one.mesh.coordinate_dims == other.mesh.coordinate_dims
        assert (one.observed is None) == (other.observed is None)
        if one.observed is not None:
            np.testing.assert_array_equal(one.observed, other.observed)


@pytest.fixture(scope="session")
def assert_same() -> Callable[..., None]:
    return _assert_same


@pytest.fixture
def grid() -> xr.Dataset:
    """Two channels on a 3 x 5 grid, 2 sequences of 4 snapshots."""
    rng = np.random.default_rng(0)
    dims = ("sequence", "time", "y", "x")
    return xr.Dataset(
        {
            "u": (dims, rng.normal(size=(2, 4, 3, 5)).astype("f4"), {"units": "m/s"}),
            "h": (dims, rng.normal(size=(2, 4, 3, 5)).astype("f4"), {"long_name": "height"}),
        },
        coords={
            "time": ("time", np.array([0.0, 0.5, 1.5, 2.0]), {"units": "s"}),
            "y": ("y", np.linspace(0.0, 1.0, 3), {"units": "km"}),
            "x": ("x", np.linspace(-1.0, 1.0, 5), {"units": "km"}),
        },
    )


@pytest.fixture
def scattered() -> xr.Dataset:
    """One channel at 7 points, 3 sequences of 4 snapshots."""
    rng = np.random.default_rng(1)
    return xr.Dataset(
        {"u": (("sequence", "time", "point"), rng.normal(size=(3, 4, 7)))},
        coords={
            "time": np.arange(4.0),
            "x": ("point", rng.uniform(size=7)),
            "y": ("point", rng.uniform(size=7)),
        },
    )


@pytest.fixture
def ragged() -> Trajectories:
    """Sequences of 2, 4 and 3 snapshots on 3, 5 and 5 points, the last two on the same points."""
    rng = np.random.default_rng(2)
    first, second = rng.uniform(size=(3, 2)), rng.uniform(size=(5, 2))
    return Trajectories.from_arrays(
        [rng.normal(size=(2, 2, 3)), rng.normal(size=(4, 2, 5)), rng.normal(size=(3, 2, 5))],
        [first, second, second.copy()],
        [np.array([0.0, 1.0]), np.array([0.0, 0.1, 0.4, 0.5]), np.array([3.0, 4.0, 5.0])],
        channels=["u", "v"],
    )
