"""Interpolations: exact where they must be, of the order they should be, bounded everywhere."""

import numpy as np
import pytest

from smore.data import BoxMap, Mesh, SphereMap
from smore.decoder import interpolation_of
from smore.decoder.interpolation import CurvedSimplices, TensorSplines

BOX = BoxMap(lower=(-1.0, 2.0), upper=(3.0, 4.0))


def grid(numbers=(12, 9), order=("y", "x"), descending=False):
    """Points of a box, as an array over `order`; the coordinates are x and y."""
    x, y = (
        np.linspace(low, high, count) ** 1.0
        for low, high, count in zip(BOX.lower, BOX.upper, numbers, strict=True)
    )
    if descending:
        y = y[::-1]
    sizes = {"x": len(x), "y": len(y)}
    shape = tuple(sizes[name] for name in order)
    return Mesh((x, y), (((order), np.ones(shape)),), order, shape, (("x",), ("y",)))


def scattered(count=400, seed=0):
    places = np.random.default_rng(seed).uniform(size=(count, 2))
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    places = np.concatenate([places, corners]) * [4.0, 2.0] + [-1.0, 2.0]
    return Mesh.scattered(places, np.ones(len(places)))


def globe(rows=24, columns=48, poles=False):
    edge = 90.0 if poles else 90.0 - 90.0 / rows
    latitude = np.linspace(edge, -edge, rows)  # descending, as many files have it
    longitude = np.arange(columns) * 360.0 / columns
    return Mesh(
        (latitude, longitude),
        ((("lat", "lon"), np.ones((rows, columns))),),
        ("lat", "lon"),
        (rows, columns),
        (("lat",), ("lon",)),
    )


def scattered_globe(count=600):
    random = np.random.default_rng(1)
    coords = np.column_stack(
        [np.rad2deg(np.arcsin(random.uniform(-1, 1, count))), random.uniform(-180, 180, count)]
    )
    return Mesh.scattered(coords, np.ones(count))


def interpolated(mesh, coordinate_map, function, coords):
    """What the interpolation of `function` on a mesh is at `coords`."""
    found = interpolation_of(mesh, coordinate_map)
    coefficients = found.coefficients(function(mesh.coords)[:, None])
    index, weight = found.weights(coordinate_map(coords))
    if isinstance(found, TensorSplines):
        assert (weight >= -1e-12).all()
    np.testing.assert_allclose(weight.sum(1), 1.0)
    return (weight * coefficients[index, 0]).sum(1)


def smooth(coords):
    return np.sin(1.3 * coords[:, 0]) * np.cos(0.9 * coords[:, 1]) + 0.2 * coords[:, 0]


def on_sphere(coords):
    x, y, z = SphereMap()(coords).T
    return x * y - 0.5 * z**3 + 0.3 * x + np.cos(2 * y)


MESHES = {
    "grid": (grid(), BOX, smooth),
    "turned grid": (grid(order=("x", "y")), BOX, smooth),
    "descending grid": (grid(descending=True), BOX, smooth),
    "coarse grid": (grid((3, 2)), BOX, smooth),
    "scattered": (scattered(), BOX, smooth),
    "globe": (globe(), SphereMap(), on_sphere),
    "globe with poles": (globe(poles=True), SphereMap(), on_sphere),
    "scattered globe": (scattered_globe(), SphereMap(), on_sphere),
}


@pytest.mark.parametrize("name", MESHES)
def test_values_at_the_nodes_are_kept(name):
    mesh, coordinate_map, function = MESHES[name]
    found = interpolated(mesh, coordinate_map, function, mesh.coords)
    np.testing.assert_allclose(found, function(mesh.coords), atol=1e-9)


@pytest.mark.parametrize("name", MESHES)
def test_no_field_exceeds_its_bounding_values(name):
    mesh, coordinate_map, _ = MESHES[name]
    found = interpolation_of(mesh, coordinate_map)
    values = np.random.default_rng(2).normal(size=(mesh.num_points, 1))
    coefficients = found.coefficients(values)
    places = np.random.default_rng(3).uniform(size=(2000, 2))
    if isinstance(coordinate_map, SphereMap):
        places = places * [180.0, 360.0] - [90.0, 0.0]
    else:
        places = places * [6.0, 4.0] + [-2.0, 1.0]  # beyond the box, too
    index, weight = found.weights(coordinate_map(places))
    fields = (weight * coefficients[index, 0]).sum(1)
    bounds = np.concatenate(list(found.bounding(coefficients)))
    assert bounds.min() - 1e-12 <= fields.min()
    assert fields.max() <= bounds.max() + 1e-12


def test_what_is_linear_between_scattered_points_stays_so():
    mesh, places = scattered(50), scattered(300, seed=5).coords[:300]
    found = interpolated(mesh, BOX, lambda coords: 2 * coords[:, 0] - coords[:, 1], places)
    np.testing.assert_allclose(found, 2 * places[:, 0] - places[:, 1], atol=1e-9)


def test_fields_go_on_outside_as_far_as_the_next_point_would_be():
    """As the vertices of a mesh at its border are outside the middles of its cells."""
    random = np.random.default_rng(9)
    middles = (np.stack(np.meshgrid(np.arange(20), np.arange(20)), -1).reshape(-1, 2) + 0.5) / 40
    middles += random.uniform(-0.1, 0.1, size=middles.shape) / 40
    found = CurvedSimplices(middles, on_sphere=False)

    def value(function, places):
        index, weight = found.weights(places)
        return (weight * function(middles)[index]).sum(1)

    def curved(coords):
        return np.sin(9 * coords[:, 0]) * np.cos(7 * coords[:, 1])

    def slope(coords):
        x, y = 9 * coords[:, 0], 7 * coords[:, 1]
        return np.column_stack([9 * np.cos(x) * np.cos(y), -7 * np.sin(x) * np.sin(y)])

    along = random.uniform(0.05, 0.45, size=50)
    border, far = (np.column_stack([along, np.full(50, end)]) for end in (0.5, 2.0))
    straight = [3.0, -1.0]
    np.testing.assert_allclose(value(lambda x: x @ straight, border), border @ straight)
    # The nearest point would be off by 0.06, the plane that touches there by a curvature.
    nearest = middles[np.square(border[:, None] - middles).sum(2).argmin(1)]
    tangent = curved(nearest) + ((border - nearest) * slope(nearest)).sum(1)
    assert np.abs(tangent - curved(border)).max() < 0.01
    np.testing.assert_allclose(value(curved, border), tangent, atol=1e-3)
    assert np.abs(value(curved, far)).max() < 1.2


@pytest.mark.parametrize("seed", range(5))
def test_fields_do_not_jump_past_a_corner_of_the_mesh(seed):
    """Where the place is found inside for the first steps, whichever corner it belongs to."""
    random = np.random.default_rng(seed)
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    nodes = np.concatenate([random.uniform(size=(80, 2)), corners])
    found = CurvedSimplices(nodes, on_sphere=False)
    values = random.normal(size=len(nodes))
    for beyond in (0.0, 1e-7, 1e-6, 2.5e-6, 3.5e-6, 1e-5):
        index, weight = found.weights(0.5 + (1 + beyond) * (corners - 0.5))
        field = (weight * values[index]).sum(1)
        np.testing.assert_allclose(field, values[-4:], atol=1e-2)


@pytest.mark.parametrize("count", [30, 150, 1000])
def test_noise_at_points_is_hardly_more_between_them(count):
    random = np.random.default_rng(0)
    gains = []
    for _ in range(5):
        found = CurvedSimplices(random.uniform(size=(count, 2)), on_sphere=False)
        index, weight = found.weights(random.uniform(0.2, 0.8, size=(2000, 2)))
        values = random.normal(size=count)
        gains.append(np.sqrt(np.square((weight * values[index]).sum(1)).mean()))
    assert np.median(gains) < 2.5


@pytest.mark.parametrize("dim", [2, 3])
def test_what_is_quadratic_between_scattered_points_stays_so(dim):
    """Away from the border, where edges are as long as anywhere."""
    random = np.random.default_rng(2)
    box = BoxMap(lower=(0.0,) * dim, upper=(1.0, 2.0, 0.5)[:dim])
    nodes = random.uniform(size=(1500, dim)) * box.upper
    places = (0.25 + 0.5 * random.uniform(size=(300, dim))) * box.upper
    matrix = random.normal(size=(dim, dim))

    def function(coords):
        return np.einsum("ni,ij,nj->n", coords, matrix, coords) - 3 * coords[:, 0]

    found = interpolated(Mesh.scattered(nodes, np.ones(1500)), box, function, places)
    np.testing.assert_allclose(found, function(places), atol=1e-10)


def test_neighbouring_simplices_agree_on_their_common_face():
    nodes = np.random.default_rng(3).uniform(size=(60, 2)) / 2
    found = CurvedSimplices(nodes, on_sphere=False)
    values = np.random.default_rng(4).normal(size=60)
    triangulation = found.simplices.triangulation
    for cell, neighbours in enumerate(triangulation.neighbors):
        for corner, other in enumerate(neighbours):
            if other < 0:
                continue
            ends = nodes[np.delete(triangulation.simplices[cell], corner)]
            middle = 0.3 * ends[0] + 0.7 * ends[1]
            across = 1e-7 * (ends[0] - ends[1])[::-1] * [1, -1]
            index, weight = found.weights(np.array([middle - across, middle + across]))
            one, two = (weight * values[index]).sum(1)
            assert abs(one - two) < 1e-4


def test_nothing_swings_across_a_gap(monkeypatch):
    """Steep fields on both sides of a channel, in which their slopes say nothing."""
    random = np.random.default_rng(5)
    sides = random.uniform(size=(2, 300, 2)) * [0.15, 0.5] + np.array([[[0.0, 0]], [[0.35, 0]]])
    nodes = sides.reshape(-1, 2)
    values = 10 * np.abs(nodes[:, 0] - 0.25) - 1.0  # 0 at the channel, and falling towards it
    found = CurvedSimplices(nodes, on_sphere=False)
    gap = random.uniform(size=(500, 2)) * [0.18, 0.4] + [0.16, 0.05]

    def largest():
        index, weight = found.weights(gap)
        return np.abs((weight * values[index]).sum(1)).max()

    assert largest() < 0.3
    monkeypatch.setattr("smore.decoder.interpolation.curved_simplices.LONG", np.inf)
    assert largest() > 0.4


def test_points_that_come_twice_do_no_harm():
    nodes = np.random.default_rng(6).uniform(size=(200, 2)) / 2
    twice = CurvedSimplices(np.repeat(nodes, 2, axis=0), on_sphere=False)
    places = 0.1 + 0.3 * np.random.default_rng(7).uniform(size=(100, 2))
    index, weight = twice.weights(places)
    values = np.repeat(np.sin(6 * nodes[:, 0]), 2)
    np.testing.assert_allclose((weight * values[index]).sum(1), np.sin(6 * places[:, 0]), atol=2e-2)


@pytest.mark.parametrize("poles", [False, True])
def test_neither_poles_nor_the_date_line_are_special(poles):
    """As good there as anywhere else."""
    mesh = globe(36, 72, poles)
    random = np.random.default_rng(4)
    longitude = random.uniform(-360, 360, 500)
    for latitude in (
        np.full(500, 90.0),
        random.uniform(86, 90, 500),
        random.uniform(-90, -87, 500),
    ):
        places = np.column_stack([latitude, longitude])
        found = interpolated(mesh, SphereMap(), on_sphere, places)
        np.testing.assert_allclose(found, on_sphere(places), atol=2e-5)
    across = np.column_stack([random.uniform(-80, 80, 500), random.uniform(355.0, 365.0, 500)])
    found = interpolated(mesh, SphereMap(), on_sphere, across)
    np.testing.assert_allclose(found, on_sphere(across), atol=2e-5)


@pytest.mark.parametrize(
    ("make", "coordinate_map", "function", "order"),
    [
        (lambda n: grid((n, n)), BOX, smooth, 4),
        (lambda n: globe(n, 2 * n), SphereMap(), on_sphere, 4),
        (lambda n: scattered(n * n), BOX, smooth, 3),
        (lambda n: scattered_globe(n * n), SphereMap(), on_sphere, 3),
    ],
)
def test_errors_fall_with_the_order_of_the_method(make, coordinate_map, function, order):
    random = np.random.default_rng(6).uniform(0.05, 0.95, size=(4000, 2))
    if isinstance(coordinate_map, SphereMap):
        places = random * [180.0, 360.0] - [90.0, 0.0]
    else:
        places = random * [4.0, 2.0] + [-1.0, 2.0]
    sizes = np.array([16, 32, 64])
    errors = [
        np.sqrt(
            np.mean(
                (interpolated(make(n), coordinate_map, function, places) - function(places)) ** 2
            )
        )
        for n in sizes
    ]
    slope = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope > order - 0.4


def test_a_part_of_the_globe_ends_where_it_ends():
    latitude, longitude = np.linspace(30, 60, 11), np.linspace(350, 380, 13) % 360.0
    longitude = np.where(longitude > 180, longitude - 360, longitude)
    mesh = Mesh(
        (latitude, longitude),
        ((("lat", "lon"), np.ones((11, 13))),),
        ("lat", "lon"),
        (11, 13),
        (("lat",), ("lon",)),
    )
    found = interpolation_of(mesh, SphereMap(south=30, north=60, west=-10, east=20))
    assert isinstance(found, TensorSplines)
    assert found.num_coefficients == mesh.num_points
    places = np.array([[45.0, 0.0], [45.0, 359.0], [80.0, 5.0]])
    values = interpolated(mesh, SphereMap(), on_sphere, places)
    np.testing.assert_allclose(values[:2], on_sphere(places[:2]), atol=1e-4)
    np.testing.assert_allclose(values[2], on_sphere(np.array([[60.0, 5.0]])), atol=1e-4)


def test_points_on_a_line_leave_nothing_to_be_said_between_them():
    line = np.linspace(0, 1, 20)
    mesh = Mesh.scattered(np.column_stack([line, line]), np.ones(20))
    assert interpolation_of(mesh, BoxMap(lower=(0.0, 0.0), upper=(1.0, 1.0))) is None


def test_three_dimensions():
    places = np.random.default_rng(7).uniform(size=(400, 3))
    box = BoxMap(lower=(0.0,) * 3, upper=(1.0,) * 3)
    found = interpolation_of(Mesh.scattered(places, np.ones(400)), box)
    assert isinstance(found, CurvedSimplices)
    coefficients = found.coefficients((places @ [1.0, -2.0, 3.0])[:, None])
    inside = 0.3 + 0.4 * np.random.default_rng(8).uniform(size=(50, 3))
    index, weight = found.weights(box(inside))
    values = (weight * coefficients[index, 0]).sum(1)
    np.testing.assert_allclose(values, inside @ [1.0, -2.0, 3.0], atol=1e-9)


def test_a_straight_border_is_no_place_apart():
    """Its points are in line but for rounding, which leaves simplices of no width along it."""
    random = np.random.default_rng(8)
    line = (np.arange(40) + random.uniform(0.2, 0.8, 40)) / 40
    turn = np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    border = np.concatenate(
        [np.column_stack([line, 0 * line + side]) for side in (0.0, 1.0)]
        + [np.column_stack([0 * line + side, line]) for side in (0.0, 1.0)]
    )
    nodes = np.concatenate([border, random.uniform(size=(600, 2))]) @ turn / 4 + 0.2
    found = CurvedSimplices(nodes, on_sphere=False)
    # Between the points of a side, and beyond it by less than a float32 can tell.
    along = np.column_stack([random.uniform(0.05, 0.95, 400), np.zeros(400) - 1e-8])
    places = along @ turn / 4 + 0.2
    index, weight = found.weights(places)

    def function(coords):
        return np.sin(12 * coords[:, 0]) + np.cos(9 * coords[:, 1])

    values = (weight * function(nodes)[index]).sum(1)
    np.testing.assert_allclose(values, function(places), atol=3e-3)


def even_channel():
    """Points about as far from each other along a channel as across it."""
    lattice = np.stack(np.meshgrid(np.arange(90), np.arange(30)), -1).reshape(-1, 2) + 0.5
    return (lattice + np.random.default_rng(0).uniform(-0.3, 0.3, lattice.shape)) / 30


def levels_below_stations():
    random = np.random.default_rng(1)
    stations = random.uniform(size=(150, 2)) * [400e3, 300e3]
    depths = np.linspace(0, 4000, 15) + random.uniform(-50, 50, size=(150, 15))
    return np.column_stack([np.repeat(stations, 15, axis=0), depths.ravel()])


def random_strip():
    return np.random.default_rng(2).uniform(size=(800, 2)) * [100.0, 1.0]


@pytest.mark.parametrize(
    ("nodes", "own"),
    [(even_channel(), True), (levels_below_stations(), False), (random_strip(), False)],
)
def test_near_is_what_spreads_points_evenly(nodes, own):
    """Lengths of a channel are compared as they are, those of depth and distance are not."""
    low, high = nodes.min(axis=0), nodes.max(axis=0)
    box = BoxMap(lower=tuple(low), upper=tuple(high))
    mesh = Mesh.scattered(nodes, np.ones(len(nodes)))
    size = (high - low).max() if own else high - low
    literal = CurvedSimplices((nodes - low) / size, on_sphere=False)
    random = np.random.default_rng(3)
    places = low + (high - low) * random.uniform(0.1, 0.9, size=(300, len(low)))
    values = np.sin(4 * (nodes - low) @ (1 / (high - low)))
    index, weight = literal.weights((places - low) / size)
    found_index, found_weight = interpolation_of(mesh, box).weights(box(places))
    np.testing.assert_allclose(
        (found_weight * values[found_index]).sum(1), (weight * values[index]).sum(1), atol=1e-9
    )
