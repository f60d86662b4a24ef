"""A sensor plan keeps what it promises, and says in the user's terms where and of what."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from smore import Trajectories
from smore.analysis.sensor_plan import field_deviation, parse_region, plan_sensors
from smore.data import Clock, Mesh, Space
from smore.data.quadrature import scattered_mesh
from smore.errors import DataError, OutsideDomainWarning, SettingsError
from smore.inference import LatentPrior
from smore.surrogate import decode, infer
from waves import RATES, WAVES, places, planted, trajectories

BOX = Space(names=("x", "y"), units=("m", "m"))
SPHERE = Space(
    names=("latitude", "longitude"), units=("degrees_north", "degrees_east"), geometry="sphere"
)
NOISE = (0.2, 0.3)


@pytest.fixture(scope="module")
def surrogate():
    """The planted waves, in units of their own variation."""
    return planted(trajectories(), normalization="scale").surrogate_


@pytest.fixture(scope="module")
def candidates():
    """Points that the model was not trained on."""
    return scattered_mesh(0.98 * places(200, seed=7), "box")


def wave_modes(coords):
    phases = coords @ WAVES.T
    return np.concatenate([np.sin(phases), np.cos(phases)], axis=1)


def wave_posterior(surrogate, sensors, noise):
    """Covariance of the code of u given both channels at sensors, all in the planted units.

    v has the code `RATES @ z`, so a sensor sees z through two rows.
    """
    scale = surrogate.description.normalization.scale
    rows = wave_modes(sensors)
    variances = [(each / size) ** 2 + 1e-12 for each, size in zip(noise, scale, strict=True)]
    seen = [(rows, variances[0]), (rows @ RATES, variances[1])]
    precision = np.eye(len(RATES)) + sum(row.T @ row / variance for row, variance in seen)
    return np.linalg.inv(precision)


def test_the_promise_is_the_posterior_variance_of_the_waves(surrogate, candidates):
    plan = plan_sensors(surrogate, 5, candidates=candidates, noise=NOISE)
    posterior = wave_posterior(surrogate, plan.coords, NOISE)
    modes = wave_modes(candidates.coords)
    both = [np.einsum("np,pq,nq->n", rows, posterior, rows) for rows in (modes, modes @ RATES)]
    before = [np.sum(rows**2, axis=1) for rows in (modes, modes @ RATES)]
    assert plan.placement.expected_error == pytest.approx(np.mean(both), rel=1e-4)
    assert plan.explained == pytest.approx(1 - np.mean(both) / np.mean(before), rel=1e-4)


def test_the_deviation_of_a_field_is_in_the_units_of_the_data(surrogate, candidates):
    plan = plan_sensors(surrogate, 5, candidates=candidates, noise=NOISE)
    posterior = wave_posterior(surrogate, plan.coords, NOISE)
    there = places(30, seed=9)
    rows = wave_modes(there) @ RATES
    scale = surrogate.description.normalization.scale[1]
    expected = scale * np.sqrt(np.einsum("np,pq,nq->n", rows, posterior, rows))
    found = field_deviation(surrogate, plan.coords, plan.variance, "v", there)
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_forecasts_from_the_plan_err_as_much_as_it_says(surrogate, candidates):
    """States from the prior, measured with noise, inferred by the model itself."""
    plan = plan_sensors(surrogate, 6, candidates=candidates, channels=["v"], noise=[0.3])
    random = np.random.default_rng(0)
    states = random.normal(size=(400, 16)) @ surrogate.prior.factor.numpy().T
    latents = torch.tensor(states).view(400, 2, 8)
    truth = decode(surrogate, latents.float(), candidates)
    read = decode(surrogate, latents.float(), candidates.subset(plan.placement.points))
    read = read[:, 1:] + 0.3 * random.normal(size=(400, 1, 6))
    measured = Trajectories.from_arrays(read[:, None], plan.coords, [0.0], channels=["v"])
    state = infer(surrogate, surrogate.aligned(measured), "posterior", 0.3)
    found = decode(surrogate, state.mean.float(), candidates)
    error = (found - truth) / surrogate.description.normalization.scale_array[:, None]
    assert np.mean(error**2) == pytest.approx(plan.placement.expected_error, rel=0.1)


def test_a_region_forbids_sensors_but_not_the_field(surrogate, candidates):
    allowed = candidates.coords[:, 0] < 0
    plan = plan_sensors(surrogate, 4, candidates=candidates, allowed=allowed, noise=NOISE)
    assert (plan.coords[:, 0] < 0).all()
    assert (plan.random_coords[:, 0] < 0).all()
    np.testing.assert_array_equal(plan.coords, candidates.coords[plan.placement.points])
    free = plan_sensors(surrogate, 4, candidates=candidates, noise=NOISE)
    assert plan.placement.prior_error == pytest.approx(free.placement.prior_error)


def test_noise_is_told_in_the_units_of_the_data(surrogate, candidates):
    scale = surrogate.description.normalization.scale
    plan = plan_sensors(surrogate, 3, candidates=candidates, channels=["v", "u"], noise=[0.3, 0.2])
    assert plan.channels == ("v", "u")
    expected = [1e-12 + (0.2 / scale[0]) ** 2, 1e-12 + (0.3 / scale[1]) ** 2]
    assert plan.variance.tolist() == pytest.approx(expected)
    only = plan_sensors(surrogate, 3, candidates=candidates, channels=["u"])
    assert only.variance.tolist() == [pytest.approx(1e-12), np.inf]


def test_chunks_change_nothing(surrogate, candidates):
    settings = surrogate.description.settings.model_copy(update={"chunk_size": 37})
    told = surrogate.description.model_copy(update={"settings": settings})
    whole, parts = (
        plan_sensors(each, 4, candidates=candidates, noise=NOISE)
        for each in (surrogate, replace(surrogate, description=told))
    )
    np.testing.assert_array_equal(whole.coords, parts.coords)
    assert whole.explained == pytest.approx(parts.explained)


def test_a_dictionary_says_all_in_plain_numbers(surrogate, candidates):
    plan = plan_sensors(surrogate, 5, candidates=candidates, noise=NOISE)
    told = json.loads(json.dumps(plan.to_dict()))
    assert told["points"][2] == {"x": plan.coords[2, 0], "y": plan.coords[2, 1]}
    assert told["channels"] == ["u", "v"]
    assert told["expected_rmse"] ** 2 == pytest.approx(told["expected_error"])
    assert told["explained"] == pytest.approx(1 - told["expected_error"] / told["prior_error"])
    assert told["random_explained"] == pytest.approx(1 - told["random_error"] / told["prior_error"])
    assert told["gain"] == pytest.approx(told["random_error"] / told["expected_error"])
    assert 0 < told["random_explained"] < told["explained"] < 1
    assert told["observability"] == 0  # 5 sensors, 8 latents


def test_the_table_has_the_points_and_blanks_to_fill(surrogate, candidates, tmp_path):
    plan = plan_sensors(surrogate, 3, candidates=candidates, channels=["v"])
    plan.write_csv(tmp_path / "new" / "sensors.csv")
    with open(tmp_path / "new" / "sensors.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["x", "y", "v"]
    assert [row[2] for row in rows] == ["", "", ""]
    # To the last digit.
    np.testing.assert_array_equal([[float(x) for x in row[:2]] for row in rows], plan.coords)


def test_models_with_dates_ask_for_one(surrogate, candidates, tmp_path):
    dated = Clock(kind="datetime", units="s", reference="2020-01-01T00:00:00")
    description = surrogate.description.model_copy(update={"clock": dated})
    plan = plan_sensors(replace(surrogate, description=description), 3, candidates=candidates)
    plan.write_csv(tmp_path / "sensors.csv")
    assert (tmp_path / "sensors.csv").read_text().splitlines()[0] == "x,y,time,u,v"


def test_measurements_are_not_overwritten(surrogate, candidates, tmp_path):
    plan = plan_sensors(surrogate, 3, candidates=candidates)
    path = tmp_path / "sensors.csv"
    plan.write_csv(path)
    plan.write_csv(path)  # nothing to lose yet
    path.write_text("x,y,u,v\n0.1,0.2,,3.5\n")
    with pytest.raises(DataError, match=r"sensors\.csv holds values"):
        plan.write_csv(path)
    assert "3.5" in path.read_text()
    with pytest.raises(DataError, match=r"end in \.csv, got .*plan\.nc"):
        plan.write_csv(tmp_path / "plan.nc")


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"count": 300}, SettingsError, "from 1 to 200"),
        ({"channels": ["w"]}, SettingsError, "out of u, v, got w"),
        ({"channels": []}, SettingsError, "out of u, v, got none"),
        ({"channels": ["u", "u"]}, DataError, "'u' is there 2 times"),
        ({"noise": [0.1]}, SettingsError, "each of u, v"),
        ({"noise": [0.1, -1.0]}, SettingsError, "'v'.* not negative"),
        ({"noise": [0.1, np.nan]}, SettingsError, "finite"),
        ({"allowed": np.zeros(200, bool)}, DataError, "none of the 200 candidates.* x from -0.9"),
        ({"allowed": np.ones(3, bool)}, DataError, "each of 200 candidates, got bool.*3"),
        ({"allowed": np.ones(200)}, DataError, "true or false.*float64"),
        ({"candidates": scattered_mesh(np.ones((9, 3)), "box")}, DataError, "x, y.* 3 coordinates"),
    ],
)
def test_what_cannot_be_planned_is_refused(surrogate, candidates, wrong, error, message):
    with pytest.raises(error, match=message):
        plan_sensors(surrogate, **({"count": 3, "candidates": candidates} | wrong))


def test_points_outside_the_domain_are_warned_about(surrogate):
    with pytest.warns(OutsideDomainWarning, match="'x'"):
        plan_sensors(surrogate, 3, candidates=scattered_mesh(2 * places(50), "box"))


def test_a_model_of_a_field_that_never_changes_needs_no_sensors(surrogate, candidates):
    fixed = LatentPrior(surrogate.prior.mean, torch.zeros_like(surrogate.prior.factor))
    with pytest.raises(DataError, match="known without sensors"):
        plan_sensors(replace(surrogate, priors=(fixed,)), 3, candidates=candidates)


def inside(text, points, space=BOX):
    return parse_region(text, space)(np.array(points, dtype=float)).tolist()


def test_regions_are_boxes_with_ends_that_may_be_open():
    points = [[0.2, 0.5], [0.5, 0.4], [0.8, 0.6], [0.9, 0.0]]
    assert inside("x=0.2:0.8,y=:0.5", points) == [True, True, False, False]
    assert inside(" x = 0.5: ", points) == [False, True, True, True]
    assert inside("x=-1e3:0.5", points) == [True, True, False, False]
    assert inside("y=:", points) == [True] * 4
    assert inside("x=0.5:0.5", points) == [False, True, False, False]


def test_longitudes_go_round():
    points = [[0, 355], [0, -5], [0, 5], [0, 365], [0, 180], [40, 5]]
    east = [True, True, True, True, False, True]
    assert inside("longitude=350:10", points, SPHERE) == east
    assert inside("lon=-10:10", points, SPHERE) == east
    assert inside("longitude=10:350", points, SPHERE) == [not each for each in east]
    assert inside("longitude=-180:180", points, SPHERE) == [True] * 6
    assert inside("longitude=0:720", points, SPHERE) == [True] * 6
    assert inside("longitude=180:180", points, SPHERE) == [False] * 4 + [True, False]
    assert inside("longitude=350:10,latitude=30:", points, SPHERE) == [False] * 5 + [True]
    # Without a circle 350:10 is empty.
    with pytest.raises(SettingsError, match="LOW <= HIGH for 'longitude'"):
        inside("longitude=350:10", points, SPHERE.model_copy(update={"geometry": "box"}))


@pytest.mark.parametrize(
    ("text", "space", "message"),
    [
        ("z=0:1", BOX, "coordinates x, y, such as x=0.2:0.8.* got 'z=0:1'"),
        ("", BOX, "coordinates x, y"),
        ("x=0:1,", BOX, "coordinates x, y"),
        ("x=a:1", BOX, "LOW:HIGH of numbers for 'x'.* 'a:1'"),
        ("x=1", BOX, "LOW:HIGH of numbers for 'x'.* '1'"),
        ("x=0:1:2", BOX, "LOW:HIGH"),
        ("x=1:0", BOX, "LOW <= HIGH for 'x', got 1:0"),
        ("x=nan:0", BOX, "LOW <= HIGH"),
        ("longitude=350:", SPHERE, "both ends of a range of 'longitude'"),
        ("longitude=0:inf", SPHERE, "both ends"),
        ("latitude=30:-30", SPHERE, "LOW <= HIGH for 'latitude'"),
    ],
)
def test_regions_that_make_no_sense_are_refused(text, space, message):
    with pytest.raises(SettingsError, match=message):
        parse_region(text, space)


def test_candidates_may_be_a_grid(surrogate):
    x, y = np.linspace(-0.9, 0.9, 12), np.linspace(-0.8, 0.8, 10)
    coords = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    grid = Mesh.of(coords, np.ones(120), ("x", "y"), (12, 10), (("x",), ("y",)))
    plan = plan_sensors(surrogate, 4, candidates=grid)
    np.testing.assert_array_equal(plan.coords, coords[plan.placement.points])
