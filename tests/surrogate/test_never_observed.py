"""On the training mesh nothing is said where nothing was ever observed, on land for instance.

The model is `waves.planted`: what it says elsewhere is the exact solution.
"""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from smore import SMORE, Trajectories
from smore.analysis.sensor_plan import plan_sensors
from smore.data.reading.files import open_dataset, save_dataset
from smore.errors import DataError
from smore.model_file.container import load_file
from waves import STEP, codes, planted, solution

AXES = {"y": np.linspace(-1, 1, 7), "x": np.linspace(-1, 1, 9)}
COORDS = np.stack(np.meshgrid(*AXES.values(), indexing="ij")[::-1], axis=-1).reshape(-1, 2)
LAND = (COORDS > 0.3).all(axis=1) & (COORDS < 0.9).all(axis=1)
ISLAND = (COORDS < -0.3).all(axis=1) & (COORDS > -0.9).all(axis=1)
DRY = 3  # a point that is observed now and then
TIMES = [0.0, 0.7 * STEP, 4 * STEP]
TOLERANCE = 2e-5


def on_grid(hidden_u, hidden_v):
    """The exact solution on a grid, NaN in u and v at these points, and now and then at one."""
    fields = solution(codes(6), COORDS, STEP * np.arange(6))
    fields[:, :, 0, hidden_u] = np.nan
    fields[:, :, 1, hidden_v] = np.nan
    fields[1:, 2:, :, DRY] = np.nan
    shape, dims = (6, 6, *(len(axis) for axis in AXES.values())), ("sequence", "time", "y", "x")
    channels = {name: (dims, fields[:, :, k].reshape(shape)) for k, name in enumerate("uv")}
    return xr.Dataset(channels, {"time": STEP * np.arange(6), **AXES})


def trained(dataset):
    return planted(Trajectories.from_xarray(dataset, missing="mask"))


@pytest.fixture(scope="module")
def coast():
    return on_grid(LAND, LAND)


@pytest.fixture(scope="module")
def model(coast):
    return trained(coast)


def values(forecast, name):
    """(sequences, times, points)."""
    return forecast[name].values.reshape(*forecast[name].shape[:2], -1)


def assert_exact(forecast, hidden_u, hidden_v, coords=COORDS):
    """NaN at the hidden points and nowhere else, where it is the solution."""
    truth = solution(codes(6), coords, TIMES)
    for number, (name, hidden) in enumerate({"u": hidden_u, "v": hidden_v}.items()):
        expected = np.where(hidden, np.nan, truth[:, :, number])
        np.testing.assert_allclose(values(forecast, name), expected, atol=TOLERANCE)
        deviation = values(forecast, f"{name}_std")
        np.testing.assert_array_equal(np.isnan(deviation), np.isnan(expected))
        assert (deviation[~np.isnan(deviation)] > 0).all()


def test_land_is_blank_and_nothing_else(model, coast):
    assert 0 < LAND.sum() < len(LAND)
    assert_exact(model.forecast(coast, TIMES, missing="mask"), LAND, LAND)


def test_each_channel_has_its_own_land():
    dataset = on_grid(LAND, ISLAND)
    assert_exact(trained(dataset).forecast(dataset, TIMES, missing="mask"), LAND, ISLAND)


@pytest.mark.parametrize("slab", [500, 2**25])
def test_a_lazy_forecast_is_the_same(slab, model, coast, monkeypatch, tmp_path):
    monkeypatch.setattr("smore.surrogate._lazy_forecast.SLAB_BYTES", slab)
    expected = model.forecast(coast, TIMES, missing="mask")
    lazy = model.forecast(coast, TIMES, missing="mask", lazy=True)
    xr.testing.assert_allclose(lazy.compute(), expected, rtol=1e-5, atol=1e-6)
    save_dataset(lazy, tmp_path / "forecast.nc")
    with open_dataset(tmp_path / "forecast.nc") as written:
        xr.testing.assert_allclose(written, expected, rtol=1e-5, atol=1e-6)


def test_it_is_part_of_the_model_file(model, coast, tmp_path):
    model.save(tmp_path / "model.smore")
    tensors, _ = load_file(tmp_path / "model.smore")
    np.testing.assert_array_equal(tensors["mesh.seen"].numpy(), np.tile(~LAND, (2, 1)))
    loaded = SMORE.load(tmp_path / "model.smore")
    xr.testing.assert_identical(
        loaded.forecast(coast, TIMES, missing="mask"), model.forecast(coast, TIMES, missing="mask")
    )


def test_data_without_land_leave_no_trace(tmp_path):
    """Even if every point is missing once."""
    nowhere = np.zeros_like(LAND)
    dataset = on_grid(nowhere, nowhere)
    whole = trained(dataset)
    assert whole.surrogate_.seen is None
    whole.save(tmp_path / "model.smore")
    assert "mesh.seen" not in load_file(tmp_path / "model.smore")[0]
    assert_exact(whole.forecast(dataset, TIMES, missing="mask"), nowhere, nowhere)


def test_the_training_mesh_is_known_whoever_gives_it(model, coast, tmp_path):
    """A file holds it as axes, a model file written out, a user as a table of points."""
    model.save(tmp_path / "model.smore")
    mesh = Trajectories.from_xarray(coast, missing="mask").sequences[0].mesh
    for each in (model, SMORE.load(tmp_path / "model.smore")):
        for points in (mesh, [mesh] * 6, COORDS):
            forecast = each.forecast(coast, TIMES, points=points, missing="mask")
            assert_exact(forecast, LAND, LAND)


def test_other_points_are_on_land_where_the_nearest_point_is(model, coast):
    places = np.random.default_rng(0).uniform(0.05, 0.9, size=(80, 2))
    distance = np.linalg.norm(places[:, None] - COORDS, axis=2)
    ashore = LAND[distance.argmin(axis=1)]
    assert 5 < ashore.sum() < 75
    forecast = model.forecast(coast, TIMES, points=places, missing="mask")
    assert_exact(forecast, ashore, ashore, places)


def test_scores_and_states_are_as_they_were(model, coast):
    """What is blank is blank in forecasts only."""
    before = SMORE.from_settings(model.settings)
    before.surrogate_ = replace(model.surrogate_, seen=None)
    ours, theirs = (each.evaluate(coast, missing="mask") for each in (model, before))
    assert ours == theirs
    assert ours.full_mse < TOLERANCE**2
    # Of a truth that is known on land, land is scored.
    nowhere = np.zeros_like(LAND)
    assert model.evaluate(on_grid(nowhere, nowhere), missing="mask").full_mse < TOLERANCE**2
    states = [each.infer(coast, missing="mask").mean for each in (model, before)]
    assert states[0].equal(states[1])


def test_a_forecast_with_land_can_be_forecast_from(model, coast):
    between = model.forecast(coast, TIMES[1:2], missing="mask")
    with pytest.raises(DataError, match="missing='mask'"):
        model.forecast(between, TIMES[2:])
    twice = model.forecast(between, TIMES[2:], missing="mask")
    once = model.forecast(coast, TIMES[2:], missing="mask")
    np.testing.assert_allclose(values(twice, "u"), values(once, "u"), atol=2 * TOLERANCE)


def test_sensors_stand_and_promise_where_something_was_seen():
    surrogate = trained(on_grid(LAND, LAND | ISLAND)).surrogate_
    mesh = surrogate.mesh
    count = int((~LAND & ~ISLAND).sum())
    plan = plan_sensors(surrogate, count, candidates=mesh)
    chosen = np.zeros_like(LAND)
    chosen[plan.placement.points] = True
    np.testing.assert_array_equal(chosen, ~LAND & ~ISLAND)
    assert {tuple(row) for row in plan.random_coords} == {tuple(row) for row in COORDS[chosen]}
    # The field is wanted at sea: of what u is on land and v on the island nothing is known.
    sea = plan_sensors(replace(surrogate, seen=None), 4, candidates=mesh.subset(~LAND))
    plan = plan_sensors(surrogate, 4, candidates=mesh)
    assert plan.placement.prior_error == pytest.approx(sea.placement.prior_error)
    # What measures u alone may stand on the island.
    u_only = plan_sensors(surrogate, int((~LAND).sum()), candidates=mesh, channels=["u"])
    np.testing.assert_array_equal(np.sort(u_only.placement.points), np.flatnonzero(~LAND))
    with pytest.raises(DataError, match="have u and v at none of the candidates"):
        plan_sensors(surrogate, 2, candidates=mesh, allowed=ISLAND)
    assert plan_sensors(surrogate, 2, candidates=mesh, allowed=ISLAND, channels=["u"])


def drawn(figure):
    """Colour limits of each map, and which of its cells are empty."""
    maps = [axes.collections[0] for axes in figure.axes if axes.collections]
    return [
        (each.get_clim(), np.ma.getmaskarray(each.get_array()).ravel())
        for each in maps
        if each.get_array() is not None and each.get_array().size == len(LAND)
    ]


def test_land_is_empty_in_pictures(model, coast):
    data = Trajectories.from_xarray(coast, missing="mask")
    forecast = model.forecast(data, TIMES)
    panels = drawn(model.plot.forecast(forecast, data))
    assert len(panels) == 2 * 2 * len(TIMES)  # two channels and their standard deviations
    expected = []
    for name in "uv":
        field, deviation = values(forecast, name)[0], values(forecast, f"{name}_std")[0]
        largest = np.nanmax(np.abs(field))
        assert np.nanmin(field) < -0.2 * largest  # both signs: zero is in the middle
        assert np.nanmax(field) > 0.2 * largest
        expected += [(-largest, largest), (0.0, np.nanmax(deviation))]
    for number, (limits, empty) in enumerate(panels):
        assert limits == pytest.approx(expected[number // len(TIMES)])
        np.testing.assert_array_equal(empty, LAND)
    for figure in (model.plot.sensors(5), model.plot.modes()):
        shown = drawn(figure)
        assert len(shown) >= 4
        for limits, empty in shown:
            assert np.isfinite(limits).all()
            np.testing.assert_array_equal(empty, LAND)


def test_each_channel_has_its_own_land_in_pictures():
    model = trained(on_grid(LAND, LAND | ISLAND))
    for name, hidden in (("u", LAND), ("v", LAND | ISLAND)):
        for figure in (model.plot.sensors(5, channel=name), model.plot.modes(channel=name)):
            assert all((empty == hidden).all() for _, empty in drawn(figure))
