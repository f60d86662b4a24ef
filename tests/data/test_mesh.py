"""A grid held as its axes has the points of the grid written out."""

import numpy as np
import pytest
import xarray as xr

from smore.data import Mesh, Trajectories
from smore.data.mesh import values_along
from smore.data.quadrature import default_cells


def default_weights(coords, dims, shape, along, geometry):
    """Weights (points,) of points (points, dim) that fill an array."""
    columns = zip(along, coords.T, strict=True)
    axes = tuple(values_along(each, column, dims, shape) for each, column in columns)
    return Mesh(axes, default_cells(axes, dims, shape, along, geometry), dims, shape, along).weights


def dataset(kind: str) -> xr.Dataset:
    rng = np.random.default_rng(0)
    dims, coords = ("z", "y", "x"), {}
    shape = (2, 3, 4)
    if kind == "grid":
        coords = {
            name: rng.permutation(np.arange(float(n))) for name, n in zip(dims, shape, strict=True)
        }
    elif kind == "curvilinear":
        coords = {
            "z": np.arange(2.0),
            "lon": (("y", "x"), rng.uniform(size=(3, 4))),
            "lat": (("x", "y"), rng.uniform(size=(4, 3))),
        }
    else:
        dims, shape = ("point",), (24,)
        coords = {name: ("point", rng.uniform(size=24)) for name in "xyz"}
    fields = rng.normal(size=(2, *shape))
    return xr.Dataset({"u": (("time", *dims), fields)}, coords={"time": [0.0, 1.0], **coords})


KINDS = ["grid", "curvilinear", "scattered"]


def mesh_of(kind: str) -> Mesh:
    return Trajectories.from_xarray(dataset(kind), geometry="box").sequences[0].mesh


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_where_xarray_says(kind):
    mesh, data = mesh_of(kind), dataset(kind)
    space = Trajectories.from_xarray(data, geometry="box").space
    field = data["u"].isel(time=0)
    for column, name in enumerate(space.names):
        expected = xr.broadcast(data[name], field)[0].transpose(*field.dims).values.ravel()
        np.testing.assert_array_equal(mesh.coords[:, column], expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "points", [slice(None), slice(3, 17), slice(20, 24), np.array([5, 0, 23, 5])]
)
def test_some_points_are_those_of_all(kind, points):
    whole, some = mesh_of(kind), mesh_of(kind)
    np.testing.assert_array_equal(some.places(points), whole.coords[points])
    np.testing.assert_array_equal(some.measures(points), whole.weights[points])


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_the_default_ones(kind):
    mesh = mesh_of(kind)
    expected = default_weights(mesh.coords, mesh.dims, mesh.shape, mesh.coordinate_dims, "box")
    np.testing.assert_array_equal(mesh.weights, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_reach_has_every_value_of_every_coordinate(kind):
    mesh = mesh_of(kind)
    for reach, coordinate in zip(mesh.reach.T, mesh.coords.T, strict=True):
        assert set(reach) == set(coordinate)
    assert len(mesh.reach) == (4 if kind == "grid" else 24)


@pytest.mark.parametrize("kind", KINDS)
def test_meshes_written_out_or_not_are_the_same(kind):
    mesh = mesh_of(kind)
    full = Mesh.of(mesh.coords, mesh.weights, mesh.dims, mesh.shape, mesh.coordinate_dims)
    for column in range(mesh.dim):
        np.testing.assert_array_equal(full.axes[column], mesh.axes[column])
    np.testing.assert_array_equal(full.places(slice(2, 9)), mesh.places(slice(2, 9)))
    np.testing.assert_array_equal(full.columns([2, 0, 1]).coords, mesh.coords[:, [2, 0, 1]])
    mask = np.arange(24) % 3 == 0
    np.testing.assert_array_equal(mesh.subset(mask).coords, mesh.coords[mask])


def test_equal_meshes_have_equal_digests():
    digests = [mesh_of(kind).digest for kind in KINDS]
    assert len(set(digests)) == 3
    assert digests == [mesh_of(kind).digest for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_points_are_known_however_they_are_held(kind):
    mesh = mesh_of(kind)
    assert mesh.same_points(Mesh.scattered(mesh.coords, 2 * mesh.weights))
    assert not mesh.same_points(mesh.subset(np.arange(23)))
    assert not mesh.same_points(mesh.subset(np.arange(24)[::-1]))
    assert not mesh.same_points(Mesh.scattered(mesh.coords[:, :2], mesh.weights))


def test_repeated_points_are_not_surely_distinct():
    assert mesh_of("grid").surely_distinct
    data = dataset("grid")
    repeated = data.assign_coords(x=[0.0, 1.0, 1.0, 2.0])
    assert not Trajectories.from_xarray(repeated).sequences[0].mesh.surely_distinct
    assert not mesh_of("scattered").surely_distinct
