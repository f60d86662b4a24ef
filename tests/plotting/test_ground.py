"""What fields are drawn on: maps of the globe, coasts, masts, and what is long and thin."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from smore.data import Clock, Space
from smore.data.mesh import Mesh
from smore.data.quadrature import scattered_mesh
from smore.plotting._globe import LATITUDES, TABLE, coastlines, near, robinson
from smore.plotting.colours import Colours
from smore.plotting.fields import draw_on
from smore.plotting.ground import SHAPES, Ground, unit_after_number, with_units

GLOBE = Space(
    names=("latitude", "longitude"), units=("degrees_north", "degrees_east"), geometry="sphere"
)
DATES = Clock(kind="datetime", units="s", reference="2001-01-01T00:00:00")
COLOURS = Colours("viridis", 0.0, 1.0)


class Told:
    """As much of a description as a ground asks for."""

    def __init__(self, space, clock):
        self.space, self.clock = space, clock


def grid(latitude, longitude) -> Mesh:
    weights = np.ones((len(latitude), len(longitude)))
    dims = ("latitude", "longitude")
    return Mesh(
        (latitude, longitude), ((dims, weights),), dims, weights.shape, ((dims[0],), (dims[1],))
    )


WORLD = grid(np.linspace(-85, 85, 18), np.linspace(0, 350, 36))
REGION = grid(np.linspace(50, 70, 11), np.linspace(0, 30, 16))


def axes_of(ground, values):
    axes = Figure().subplots()
    draw_on(axes, ground, values, COLOURS)
    return axes


def test_robinson_has_the_places_of_his_table():
    lengths, heights = np.array(TABLE).T
    right, up = robinson(np.full(19, 180.0), LATITUDES)
    np.testing.assert_allclose(right, lengths)
    np.testing.assert_allclose(up / up[-1], heights)
    # The equator is 2 * 0.8487 π long and the poles are 2 * 1.3523 apart, in radii.
    assert up[-1] == pytest.approx(1.3523 / (0.8487 * np.pi))
    np.testing.assert_allclose(robinson(-180.0, -30.0), [-0.96, -0.372 * up[-1]])


@pytest.mark.parametrize("middle", [0.0, 180.0, -75.0])
def test_coasts_stay_on_the_map(middle):
    lines = coastlines(middle)
    for line in lines:
        assert (np.abs(line[:, 0] - middle) <= 180.0).all()
        assert (np.abs(line[:, 1]) <= 90.0).all()
        assert (np.abs(np.diff(line[:, 0])) < 180.0).all()  # none crosses the whole map
    points = np.concatenate(lines)

    def distance(longitude, latitude):
        return np.hypot(points[:, 0] - near(longitude, middle), points[:, 1] - latitude).min()

    assert distance(18.5, -34.4) < 1.5  # the Cape of Good Hope
    assert distance(-35.0, -7.0) < 1.5  # the east of Brazil
    assert distance(-135.0, 0.0) > 10.0  # nothing in the Pacific
    assert distance(80.0, 45.0) > 10.0  # nor in Asia


def test_a_whole_globe_is_projected_and_a_region_is_not():
    world, region = Ground.of(WORLD, Told(GLOBE, Clock())), Ground.of(REGION, Told(GLOBE, Clock()))
    assert world.whole
    assert not region.whole
    assert world.labels == ["", ""]
    assert region.labels == ["longitude (°E)", "latitude (°N)"]
    # The middle of the map is at longitude 175; sensors are told from -180 to 180.
    np.testing.assert_allclose(world.places([[0.0, 175.0], [0.0, -185.0]]), 0.0, atol=1e-12)
    np.testing.assert_allclose(world.places([0.0, -95.0]), [0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(region.places([60.0, 370.0]), [10.0, 60.0])
    # A degree of longitude is half as long as one of latitude there.
    axes = axes_of(region, np.zeros(REGION.num_points))
    assert axes.get_aspect() == pytest.approx(2.0)


def test_cells_of_the_globe_are_where_their_centres_are():
    world = Ground.of(WORLD, Told(GLOBE, Clock()))
    values = np.arange(WORLD.num_points, dtype=float)
    drawn = axes_of(world, values).collections[0]
    corners = drawn.get_coordinates()
    assert (np.abs(corners[..., 0]) <= 1.0).all()
    middles = (corners[1:, 1:] + corners[:-1, 1:] + corners[1:, :-1] + corners[:-1, :-1]) / 4
    places = world.places(WORLD.coords).reshape(*WORLD.shape, 2)
    np.testing.assert_allclose(middles[1:-1, 1:-1], places[1:-1, 1:-1], atol=0.02)
    np.testing.assert_array_equal(np.asarray(drawn.get_array()).ravel(), values)


@pytest.mark.parametrize("mesh", [WORLD, REGION])
def test_coasts_are_drawn_where_there_are_dates(mesh):
    """A globe without dates is a planet of its own: coasts would be a lie."""
    dated, undated = Ground.of(mesh, Told(GLOBE, DATES)), Ground.of(mesh, Told(GLOBE, Clock()))
    field = np.zeros(mesh.num_points)
    before, after = axes_of(undated, field), axes_of(dated, field)
    assert len(after.collections) == len(before.collections) + 1
    assert after.get_xlim() == before.get_xlim()
    plane = Ground.of(mesh, Told(Space(names=("x", "y"), units=("", "")), DATES))
    assert not plane.on_earth


def test_points_on_a_mast_are_a_line():
    height = np.linspace(2, 40, 30)
    space = Space(names=("x", "y", "z"), units=("m", "m", "m"))
    mast = scattered_mesh(np.column_stack([3 + 0 * height, 1e-4 * height, height]), "box")
    ground = Ground(mast, space)
    assert ground.is_line
    assert ground.labels == ["z (m)"]
    np.testing.assert_array_equal(ground.along, height)
    cloud = np.random.default_rng(0).uniform(size=(200, 3))
    assert not Ground(scattered_mesh(cloud, "box"), space).is_line


@pytest.mark.parametrize(("width", "shown"), [(100.0, SHAPES[0]), (2.0, 0.5), (0.01, SHAPES[1])])
def test_what_is_very_long_is_stretched(width, shown):
    plane = Space(names=("x", "y"), units=("", ""))
    mesh = grid(np.linspace(0, 1, 5), np.linspace(0, width, 5)).columns([1, 0])
    ground = Ground(mesh, plane)
    assert ground.shape(of_line=1.0) == pytest.approx(shown)
    axes = axes_of(ground, np.zeros(25))
    assert axes.get_aspect() * 1.0 / width == pytest.approx(shown)


def test_units_are_told_where_there_are_any():
    assert with_units("u", "m/s") == "u (m/s)"
    assert with_units("u", "") == with_units("u", "1") == "u"
    assert with_units("longitude", "degrees_east") == "longitude (°E)"


@pytest.mark.parametrize(
    ("units", "told"),
    [("m s-1", "m s-1"), ("1", ""), ("", ""), ("2.5 km", "× 2.5 km"), ("degrees_east", "°E")],
)
def test_units_behind_numbers(units, told):
    assert unit_after_number(units) == told
