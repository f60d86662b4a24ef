"""Several meshes of one domain: carried to one where little is lost by it."""

import numpy as np
import pytest

from smore import SMORE, Trajectories
from smore.training._carrying import on_one_mesh

TIMES = 0.2 * np.arange(12)


def points(seed, count=500, low=0.0, high=1.0):
    """Some inside a square, and some on its border, as meshes have them."""
    inside = np.random.default_rng(seed).uniform(size=(count, 2))
    line, zero = np.arange(20.0) / 20, np.zeros(20)
    border = [(line, zero), (zero + 1, line), (1 - line, zero + 1), (zero, 1 - line)]
    return low + (high - low) * np.concatenate([inside, *map(np.column_stack, border)])


def waves(coords, seed, fine=1.0):
    """(times, 1, points) of two travelling waves."""
    sizes, phases = np.random.default_rng(seed).uniform(0.5, 3, size=(2, 2))
    first = fine * (3 * coords[:, 0] + 2 * coords[:, 1]) - 1.3 * TIMES[:, None] + phases[0]
    second = fine * (2 * coords[:, 0] - 4 * coords[:, 1]) - 2.1 * TIMES[:, None] + phases[1]
    return (sizes[0] * np.sin(first) + sizes[1] * np.cos(second))[:, None]


def made(meshes, seeds, fine=1.0):
    places = [meshes[number % len(meshes)] for number in range(len(seeds))]
    fields = [waves(each, seed, fine) for each, seed in zip(places, seeds, strict=True)]
    return Trajectories.from_arrays(fields, places, [TIMES] * len(seeds))


def test_carried_fields_are_those_of_the_finest_mesh():
    meshes = [points(0), points(1, 700), points(2)]
    data = made(meshes, range(6))
    carried = on_one_mesh(data)
    assert carried is not None
    assert [each.num_points for each in carried.meshes] == [780]
    for number, sequence in enumerate(carried):
        np.testing.assert_allclose(sequence.fields, waves(meshes[1], number), atol=0.02)
    np.testing.assert_array_equal(carried.sequences[1].fields, data.sequences[1].fields)
    assert carried.groups == data.groups


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(made([points(0)], range(3)), id="one mesh already"),
        pytest.param(made([points(k, 20) for k in range(20)], range(20)), id="many meshes"),
        pytest.param(made([points(0), points(1, high=0.5)], range(4)), id="another domain"),
        pytest.param(made([points(0), points(1)], range(4), fine=30.0), id="not resolved"),
    ],
)
def test_where_something_would_be_lost_they_stay_where_they_are(data):
    assert on_one_mesh(data) is None


def test_values_that_are_missing_stay_missing():
    fields = [waves(points(k), k) for k in range(2)]
    fields[0][0, 0, :5] = np.nan
    data = Trajectories.from_arrays(fields, [points(0), points(1)], [TIMES] * 2, missing="mask")
    assert on_one_mesh(data) is None


def test_a_mesh_of_its_own_is_forecast_as_those_of_training():
    meshes = [points(k) for k in range(4)]
    model = SMORE(seed=0).fit(made(meshes[:3], range(30)), progress=False)
    settings = model.surrogate_.description.settings
    assert settings.dynamics == "linear"
    errors = []
    for place in (meshes[0], meshes[3]):
        test = made([place], range(50, 54))
        evaluation = model.evaluate(test)
        errors.append(evaluation.full_nmse)
    assert max(errors) < 1e-4
    # Error bars know what interpolation misses.
    test = made([meshes[3]], [60])
    found = model.forecast(test.leading(1), TIMES[1:], points=meshes[3])
    name = test.channels[0].name
    missed = np.abs(found[name].values - test.sequences[0].fields[1:, 0])
    assert (missed <= 1.645 * found[f"{name}_std"].values).mean() > 0.7


def test_a_network_that_is_asked_for_gets_the_meshes_as_they_are():
    data = made([points(0, 80), points(1, 80)], range(6))
    model = SMORE(decoder="network", latent_dim=4, seed=0).fit(data, progress=False)
    assert model.surrogate_.description.settings.decoder == "network"
    assert model.surrogate_.mesh is None
