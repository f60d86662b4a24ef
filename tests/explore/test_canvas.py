"""Pictures: every pixel is where the picture says, and nothing is shown where nothing is known."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from smore import SMORE, Trajectories
from smore.errors import DataError
from smore.explore._canvas import canvas_of, coarser, domain
from smore.explore._places import Places


def drawn_at(canvas):
    """(rows, columns, 2) where the middle of every pixel is drawn."""
    rows, columns = canvas.pixels.shape
    x = canvas.corner[0] + canvas.size[0] * (np.arange(columns) + 0.5) / columns
    y = canvas.corner[1] + canvas.size[1] * (np.arange(rows) + 0.5) / rows
    return np.stack(np.meshgrid(x, y), axis=-1)


def fitted(dataset: xr.Dataset, **settings) -> SMORE:
    data = Trajectories.from_xarray(dataset, missing="mask")
    return SMORE(latent_dim=2, **settings).fit(data, progress=False)


def field(dims, coords, function, num_times=8) -> xr.Dataset:
    """A wave of time and place on a grid, a decaying one so that nothing is exact."""
    times = np.arange(num_times, dtype=float)
    places = xr.Dataset(coords=coords)
    values = xr.concat(
        [function(places, t) + xr.zeros_like(places[dims[0]] * 0.0) for t in times], "time"
    )
    values = values.transpose("time", *dims).drop_attrs()
    return xr.Dataset({"u": values}, coords={"time": times, **coords})


def rolling(names):
    def function(places, time):
        first, second = (places[name] for name in names)
        return np.exp(-0.1 * time) * np.sin(first + 0.3 * second + time)

    return function


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("order", [("x", "y"), ("y", "x")])
def test_pixels_of_an_even_grid_are_its_points(order, flipped):
    axes = {"x": np.linspace(0, 3, 7), "y": np.linspace(-1, 1, 5)}
    if flipped:
        axes["y"] = axes["y"][::-1]
    dataset = field(order, axes, rolling(("x", "y"))).transpose("time", *order)
    surrogate = fitted(dataset).surrogate_
    canvas = canvas_of(surrogate)
    assert canvas.mesh is surrogate.mesh
    coords = canvas.mesh.coords[canvas.pixels][..., list(canvas.columns)]
    np.testing.assert_allclose(coords, drawn_at(canvas), atol=1e-12)


def test_longitude_runs_to_the_right_and_latitude_upwards():
    coords = {
        "latitude": ("latitude", np.linspace(60, 20, 6), {"units": "degrees_north"}),
        "longitude": ("longitude", np.arange(0.0, 80, 10), {"units": "degrees_east"}),
    }

    dataset = field(("latitude", "longitude"), coords, lambda place, time: (
        np.sin(np.deg2rad(3 * place["longitude"]) + time) * np.cos(np.deg2rad(place["latitude"]))
        * np.exp(-0.1 * time)
    ))  # fmt: skip
    surrogate = fitted(dataset).surrogate_
    assert surrogate.description.space.geometry == "sphere"
    canvas = canvas_of(surrogate)
    coords = canvas.mesh.coords[canvas.pixels][..., [1, 0]]
    np.testing.assert_allclose(coords, drawn_at(canvas), atol=1e-9)


def test_points_that_were_never_observed_are_blank():
    axes = {"x": np.linspace(0, 3, 8), "y": np.linspace(-1, 1, 6)}
    dataset = field(("x", "y"), axes, rolling(("x", "y")))
    dataset["u"][:, :3, :2] = np.nan
    surrogate = fitted(dataset).surrogate_
    canvas = canvas_of(surrogate)
    image = canvas.image(Places(surrogate, canvas.mesh).field(0, surrogate.prior.mean))
    expected = np.zeros((6, 8), dtype=bool)
    expected[:2, :3] = True
    np.testing.assert_array_equal(np.isnan(image), expected)


def ring(count=1500):
    """Points around a hole."""
    random = np.random.default_rng(0)
    angle, radius = random.uniform(0, 2 * np.pi, count), random.uniform(0.4, 1.0, count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def scattered(coords, names=("x", "y")) -> SMORE:
    times = np.arange(8.0)
    phase = coords @ np.linspace(1, 2, coords.shape[1])
    fields = np.exp(-0.1 * times)[:, None] * np.sin(phase[None] + times[:, None])
    data = Trajectories.from_arrays(
        fields[None, :, None], coords, times, channels=["u"], coordinate_names=list(names)
    )
    return SMORE(latent_dim=2).fit(data, progress=False)


def test_scattered_points_have_pixels_and_their_holes_stay_empty():
    surrogate = scattered(ring()).surrogate_
    canvas = canvas_of(surrogate)
    places = Places(surrogate, canvas.mesh, canvas.unknown)
    image = canvas.image(places.field(0, surrogate.prior.mean))
    where = drawn_at(canvas)
    np.testing.assert_allclose(canvas.mesh.coords[canvas.pixels], where, atol=1e-12)
    distance = np.linalg.norm(where, axis=2)
    assert np.isnan(image[distance < 0.25]).all()
    assert np.isfinite(image[(distance > 0.5) & (distance < 0.9)]).all()


def test_few_points_are_dots_and_a_line_is_a_line():
    few = canvas_of(scattered(ring(30)).surrogate_)
    assert few.kind == "dots"
    np.testing.assert_array_equal(few.drawn, ring(30))
    shuffled = np.random.default_rng(1).permutation(np.linspace(0, 1, 40))[:, None]
    line = canvas_of(scattered(shuffled, ("x",)).surrogate_)
    assert line.kind == "line"
    np.testing.assert_array_equal(line.drawn[:, 0], np.sort(shuffled[:, 0]))


def test_points_on_a_curve_in_space_are_dots_and_a_click_means_the_nearest():
    along = np.linspace(0, 1, 120)
    coords = np.stack([0.1 * along, along, 3 * along**2], axis=1)
    canvas = canvas_of(scattered(coords, ("x", "y", "z")).surrogate_)
    assert canvas.kind == "dots"
    assert canvas.columns == (1, 2)
    np.testing.assert_array_equal(canvas.place(coords[70, 1:] + 1e-4), coords[70])


def test_space_is_cut_and_a_place_in_the_picture_has_a_height():
    random = np.random.default_rng(0)
    coords = random.uniform([0, 0, 0], [2, 0.5, 1], size=(400, 3))
    surrogate = scattered(coords, ("x", "y", "z")).surrogate_
    canvas = canvas_of(surrogate, height=0.2)
    assert canvas.columns == (0, 2)  # the shortest axis is cut
    assert canvas.cut == (1, 0.2)
    assert (canvas.mesh.coords[:, 1] == 0.2).all()
    np.testing.assert_array_equal(canvas.place(np.array([1.5, 0.7])), [1.5, 0.2, 0.7])
    np.testing.assert_array_equal(canvas.place(np.array([1.5, 0.7]), 0.4), [1.5, 0.4, 0.7])
    middle = canvas_of(surrogate)
    lower, upper = domain(surrogate)
    assert middle.cut == (1, pytest.approx((lower + upper)[1] / 2))


def test_a_coarser_picture_shows_the_same_part_of_space(grid_model):
    surrogate = grid_model.surrogate_
    canvas = canvas_of(surrogate)
    small = coarser(surrogate, canvas, 50)
    assert small.pixels.size <= 50
    np.testing.assert_array_equal(small.corner, canvas.corner)
    np.testing.assert_array_equal(small.size, canvas.size)
    np.testing.assert_allclose(small.mesh.coords[small.pixels], drawn_at(small))
    assert coarser(surrogate, canvas, canvas.pixels.size) is canvas


def test_four_coordinates_cannot_be_shown(planted):
    surrogate = planted.surrogate_
    space = surrogate.description.space.model_copy(
        update={"names": ("a", "b", "c", "d"), "units": ("",) * 4}
    )
    told = surrogate.description.model_copy(update={"space": space})
    with pytest.raises(DataError, match="4 coordinates"):
        canvas_of(replace(surrogate, description=told))
