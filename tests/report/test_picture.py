"""Pixels show the points and cells that are there, and nothing where there are none."""

import numpy as np
import pytest
import xarray as xr

import meshes
from pictured_shapes import l_shape, solid
from smore import Trajectories
from smore.data import Space
from smore.data.quadrature import scattered_mesh, tessellated_mesh
from smore.errors import DataError
from smore.report._picture import picture_of

PLANE = Space(names=("x", "y"), units=("m", ""))
SOLID = Space(names=("x", "y", "z"), units=("m", "m", "m"))
GLOBE = Space(names=("latitude", "longitude"), units=("", ""), geometry="sphere")
MANY = 20_000


def middles(picture):
    """Coordinates (rows, columns) of the middle of every pixel."""
    left, right, bottom, top = picture.extent
    rows, columns = picture.shape
    x = left + (np.arange(columns) + 0.5) * (right - left) / columns
    y = top - (np.arange(rows) + 0.5) * (top - bottom) / rows
    return np.meshgrid(x, y)


def gridded(dims, **axes):
    data = xr.Dataset(
        {"u": (("time", *dims), np.random.default_rng(0).random((2, *map(len, axes.values()))))},
        coords={"time": [0.0, 1.0], **axes},
    )
    found = Trajectories.from_xarray(data)
    return found.sequences[0].mesh, found.space


@pytest.mark.parametrize("dims", [("y", "x"), ("x", "y")])
def test_a_pixel_of_a_grid_is_a_point(dims):
    axes = {"x": np.linspace(0, 3, 7), "y": np.linspace(5, 1, 5)}
    mesh, space = gridded(dims, **{name: axes[name] for name in dims})
    picture = picture_of(mesh, space, MANY)
    assert picture.shape == (5, 7)
    assert picture.extent == (-0.25, 3.25, 0.5, 5.5)
    for column, where in enumerate(middles(picture)):
        values = mesh.coords[picture.shown][:, [space.names.index(n) for n in "xy"][column]]
        np.testing.assert_allclose(picture.image(values), where, atol=1e-12)


def test_pixels_of_an_uneven_axis_show_the_nearest_point():
    latitude, longitude = np.array([-80.0, -40, -10, 0, 10, 40, 80]), np.arange(0, 360, 30.0)
    mesh, space = gridded(("latitude", "longitude"), latitude=latitude, longitude=longitude)
    picture = picture_of(mesh, space, MANY)
    _, where = middles(picture)
    nearest = latitude[np.abs(where[..., None] - latitude).argmin(axis=-1)]
    values = mesh.coords[picture.shown][:, space.names.index("latitude")]
    np.testing.assert_array_equal(picture.image(values), nearest)
    assert picture.labels[0].startswith("longitude")


def test_a_large_grid_is_thinned_to_points_it_has():
    mesh, space = gridded(("y", "x"), y=np.arange(300.0), x=np.arange(200.0))
    picture = picture_of(mesh, space, 5000)
    assert len(picture.shown) <= 5000
    np.testing.assert_array_equal(picture.places, mesh.coords[picture.shown])
    assert len(np.unique(picture.shown)) == len(picture.shown) > 3000


@pytest.mark.parametrize("on_cells", [False, True])
def test_pixels_are_inside_cells_or_blank(on_cells):
    cells = l_shape(on_cells)
    mesh = tessellated_mesh(cells, "box")
    picture = picture_of(mesh, PLANE, MANY)
    x, y = middles(picture)
    values = (2 * mesh.coords[:, 0] - mesh.coords[:, 1])[picture.shown]
    image = picture.image(values)
    # The nodes are moved by a twentieth at most.
    empty = ((x > 0.57) & (y > 0.57)) | ((abs(x - 0.25) < 0.02) & (abs(y - 0.25) < 0.02))
    assert np.isnan(image[empty]).all()
    full = (x < 0.45) & (y > 0.55) & (y < 0.95) & (x > 0.05)
    slack = 0.12 if on_cells else 1e-9  # a linear field is mixed exactly from nodes
    np.testing.assert_allclose(image[full], (2 * x - y)[full], atol=slack)


def test_a_cell_with_an_unknown_node_is_blank():
    mesh = tessellated_mesh(meshes.triangle_mesh(12), "box")
    picture = picture_of(mesh, PLANE, MANY)
    values = np.ones(len(picture.shown))
    left = picture.places[:, 0] < 0.3
    values[left] = np.nan
    x, _ = middles(picture)
    image = picture.image(values)
    assert np.isnan(image[x < 0.25]).all()
    np.testing.assert_allclose(image[x > 0.45], 1)


@pytest.mark.parametrize("on_cells", [False, True])
def test_a_field_in_space_is_cut_in_the_middle_of_its_shortest_axis(on_cells):
    mesh = tessellated_mesh(solid(on_cells), "box")
    picture = picture_of(mesh, SOLID, MANY)
    assert picture.plane == "z = 0.2 m"
    x, y = middles(picture)
    image = picture.image((mesh.coords[:, 0] + 3 * mesh.coords[:, 2])[picture.shown])
    assert np.isnan(image[(abs(x - 0.5) < 0.1) & (abs(y - 0.5) < 0.1)]).all()
    inside = (x < 0.25) & (x > 0.05)
    slack = 0.2 if on_cells else 0.005  # cells with bent faces overlap a little
    np.testing.assert_allclose(image[inside], (x + 0.6)[inside], atol=slack)


def test_a_grid_in_space_shows_a_layer():
    mesh, space = gridded(("z", "y", "x"), z=np.arange(5.0), y=np.arange(8.0), x=np.arange(9.0))
    picture = picture_of(mesh, space, MANY)
    assert picture.plane == "z = 2"
    assert (mesh.coords[picture.shown][:, space.names.index("z")] == 2).all()
    x, _ = middles(picture)
    np.testing.assert_allclose(picture.image(picture.places[:, 0]), x)


def test_cells_on_a_sphere_cover_it():
    mesh = tessellated_mesh(meshes.sphere_mesh(10), "sphere")
    picture = picture_of(mesh, GLOBE, MANY)
    _, latitude = middles(picture)
    image = picture.image(mesh.coords[picture.shown][:, 0])
    assert np.isfinite(image).mean() > 0.99
    known = np.isfinite(image) & (abs(latitude) < 60)
    np.testing.assert_allclose(image[known], latitude[known], atol=2.0)


def test_few_points_are_dots():
    places = np.random.default_rng(0).uniform(size=(20, 2))
    picture = picture_of(scattered_mesh(places, "box"), PLANE, MANY)
    image = picture.image(np.arange(20.0)[picture.shown])
    assert set(np.unique(image[np.isfinite(image)])) == set(range(20))
    assert np.isnan(image).mean() > 0.8


def test_few_points_in_space_are_all_seen():
    places = np.random.default_rng(0).uniform(size=(30, 3)) * [1, 0.2, 3]
    picture = picture_of(scattered_mesh(places, "box"), SOLID, MANY)
    assert (picture.labels, picture.plane) == (("x (m)", "z (m)"), "")
    np.testing.assert_array_equal(np.sort(picture.shown), np.arange(30))
    np.testing.assert_array_equal(picture.places, places[picture.shown][:, [0, 2]])


def test_a_mesh_with_more_nodes_than_room_shows_some_of_them():
    mesh = tessellated_mesh(meshes.triangle_mesh(60), "box")
    picture = picture_of(mesh, PLANE, 900)
    assert len(picture.shown) <= 900
    x, _ = middles(picture)
    np.testing.assert_allclose(picture.image(picture.places[:, 0]), x, atol=0.03)


def test_a_line_is_in_order():
    places = np.random.default_rng(0).permutation(50)[:, None].astype(float)
    mesh = scattered_mesh(places, "box")
    picture = picture_of(mesh, Space(names=("x",), units=("km",)), MANY)
    assert picture.is_line
    assert picture.labels == ("x (km)",)
    np.testing.assert_array_equal(picture.places[:, 0], np.arange(50))
    np.testing.assert_array_equal(mesh.coords[picture.shown], picture.places)


def test_four_coordinates_cannot_be_drawn():
    mesh = scattered_mesh(np.random.default_rng(0).uniform(size=(30, 4)), "box")
    space = Space(names=tuple("abcd"), units=("",) * 4)
    with pytest.raises(DataError, match="cannot be drawn"):
        picture_of(mesh, space, MANY)
