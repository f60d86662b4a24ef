"""What a page shows is what `SMORE.forecast` says, field and error bar, at any point and step."""

import numpy as np
import pytest
import torch

from exploring import forecast_at, placed
from smore.data import Mesh
from smore.explore._explorer import Explorer
from smore.explore._places import FEW, Places


def everywhere(explorer: Explorer, coords: np.ndarray) -> Places:
    return Places(explorer.surrogate, Mesh.scattered(coords, np.ones(len(coords))))


@pytest.fixture(params=["joint", "a code each"])
def looking(request, explorer, planted) -> Explorer:
    if request.param == "joint":
        assert explorer.surrogate.decoder.joint
        return placed(explorer, (0.1, 0.2), (-0.4, 0.5), (0.6, -0.6))
    found = Explorer(planted)
    assert not found.surrogate.decoder.joint
    placed(found, (0.1, 0.2), (-0.4, 0.5))
    for row in found.sensors.rows:
        found.edit(row.number, 2, 0.3 * row.number)
    return found


@pytest.mark.parametrize("noise", [None, 0.05])
def test_fields_and_error_bars_are_those_of_a_forecast(looking, noise):
    looking.tell_noise(0, noise)
    point = np.array([0.33, -0.21])
    values, deviations = forecast_at(looking, point)
    alone, many = everywhere(looking, point[None]), everywhere(looking, np.tile(point, (40, 1)))
    assert len(alone.mesh.coords) <= FEW < len(many.mesh.coords)
    for step in range(len(values)):
        for channel in range(2):
            for places in (alone, many):
                found = places.field(channel, looking.forecast.state(step))
                np.testing.assert_allclose(found, values[step, channel], rtol=1e-5, atol=1e-5)
                found = looking.forecast.deviation(places, channel, step)
                expected = deviations[step, channel]
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


def test_the_spread_is_the_root_mean_square_of_the_error_bars(looking):
    places, steps = looking.view.coarse_places, [0, 2, len(looking.instants) - 1]
    for channel in range(2):
        found = looking.forecast.spread(places, channel, steps)
        bars = [looking.forecast.deviation(places, channel, step) for step in steps]
        weights = places.mesh.weights
        known = places.known[channel]
        expected = [np.average(bar[known] ** 2.0, weights=weights[known]) ** 0.5 for bar in bars]
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_without_sensors_the_error_bar_is_what_was_usual(explorer):
    bar = explorer.forecast.deviation(explorer.view.places, 0, 0)
    usual = explorer.view.places.usual_deviation(0, explorer.forecast.growth)
    np.testing.assert_allclose(bar, usual, rtol=1e-5)


def test_a_departure_is_a_difference_of_fields(explorer):
    direction = torch.randn(explorer.surrogate.dynamics.dim, dtype=torch.float64)
    places, mean = explorer.view.places, explorer.surrogate.prior.mean
    difference = places.field(1, mean + direction) - places.field(1, mean)
    np.testing.assert_allclose(places.departure(1, direction), difference, atol=1e-4)
