"""The sparse sweep: what its masks are, what its levels say, and the paper's table beside it."""

import itertools
import math
import statistics

import numpy as np
import pytest

from smore.data import Trajectories
from smore.errors import DataError, DivergenceError, SettingsError
from smore.settings import Settings
from smore_paper.claims import ROLLOUT_CLAIMS, SPARSE_CLAIMS, SPARSE_OBSERVABILITY
from smore_paper.presets import preset
from smore_paper.tables.sparse.sweep import VISIBLE, claimed_preset, nested_masks, planned, sweep
from waves import NUM_MODES, planted, trajectories

# 40, 20, 10, 8, 7 and 4 of 40 points, about p = 8.
FRACTIONS = (1.0, 0.5, 0.25, 0.2, 0.175, 0.1)
# As the paper prints its table, row by row: visible, Wave, Navier-Stokes, shallow water.
PAPER_TABLE = """
100% 2.01e-04 1.53e-03 3.86e-04
50%  2.05e-04 1.53e-03 3.94e-04
25%  2.12e-04 1.56e-03 4.06e-04
20%  2.12e-04 1.57e-03 4.17e-04
15%  2.01e-04 1.59e-03 4.30e-04
10%  1.98e-04 1.60e-03 4.55e-04
8%   2.04e-04 1.64e-03 4.85e-04
6%   1.91e-04 1.65e-03 5.37e-04
4%   2.11e-04 1.78e-03 6.71e-04
2%   6.96e-04 3.77e-03 1.32e-03
1%   4.06e-02 2.48e-02 1.56e-03
"""


@pytest.fixture(scope="module")
def model():
    return planted(trajectories())


@pytest.fixture(scope="module")
def test_data():
    return trajectories(seed=7)


def swept(model, data, **changes):
    asked = {"fractions": FRACTIONS, "seeds": (0, 1, 2), "placed": False, "method": "posterior"}
    return list(sweep(model, data, **(asked | changes)))


def test_claims_are_the_table_of_the_paper():
    rows = [line.split() for line in PAPER_TABLE.split("\n") if line]
    for column, name in enumerate(("wave-koopman", "ns-lrlq", "sw-koopman"), start=1):
        expected = {float(row[0].rstrip("%")) / 100: float(row[column]) for row in rows}
        assert SPARSE_CLAIMS[name] == expected
        assert ROLLOUT_CLAIMS[name].full_mse == pytest.approx(expected[1.0], rel=5e-3)
    assert tuple(expected) == VISIBLE


@pytest.mark.parametrize(
    ("name", "num_points"), [("wave-koopman", 4096), ("ns-lrlq", 4096), ("sw-koopman", 8192)]
)
def test_the_papers_observability_is_zero_where_there_are_fewer_points_than_latents(
    name, num_points
):
    for visible, seen in SPARSE_OBSERVABILITY[name].items():
        too_few = math.floor(visible * num_points) < preset(name).settings.latent_dim
        assert (seen == 0) == too_few


def test_masks_have_the_papers_counts():
    masks = nested_masks(4096, VISIBLE, seed=0)
    counts = [len(masks[visible]) for visible in (1.0, 0.1, 0.04, 0.02, 0.01)]
    assert counts == [4096, 409, 163, 81, 40]


@pytest.mark.parametrize("visible", [0.29, 0.57, 0.07, 0.3])
def test_counts_are_those_of_the_decimal_number(visible):
    assert len(nested_masks(100, [visible], seed=0)[visible]) == round(100 * visible)


def test_smaller_masks_are_part_of_larger_ones():
    masks = [set(mask.tolist()) for mask in nested_masks(4096, VISIBLE, seed=3).values()]
    for larger, smaller in itertools.pairwise(masks):
        assert smaller < larger
    assert masks[0] == set(range(4096))


def test_a_seed_is_one_permutation_and_another_seed_another():
    first, again, other = (nested_masks(500, [0.1], seed)[0.1] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("visible", [0.0, -0.1, 1.01, math.nan])
def test_fractions_out_of_range_are_refused(visible):
    with pytest.raises(SettingsError, match="above 0 and up to 1"):
        nested_masks(100, [visible], seed=0)


def test_a_fraction_of_less_than_a_point_is_refused():
    with pytest.raises(SettingsError, match="none of 40 points"):
        nested_masks(40, [0.02], seed=0)


def test_all_points_visible_is_the_ordinary_evaluation(model, test_data):
    (level,) = swept(model, test_data, fractions=(1.0,))
    scores = model.evaluate(test_data)
    assert level.full_mse_per_mask == (scores.full_mse,) * 3
    assert level.in_horizon_mse == scores.in_horizon_mse
    assert level.extrapolation_mse == scores.extrapolation_mse


def test_levels_are_medians_over_masks_shared_by_all_sequences(model, test_data, monkeypatch):
    observed = []
    evaluate = model.evaluate

    def spy(data, *, observations, method):
        observed.append(observations)
        return evaluate(data, observations=observations, method=method)

    monkeypatch.setattr(model, "evaluate", spy)
    (level,) = swept(model, test_data, fractions=(0.25,))
    assert len(observed) == 3
    for seed, seen in enumerate(observed):
        index = nested_masks(40, [0.25], seed)[0.25]
        for sequence, truth in zip(seen, test_data, strict=True):
            assert np.array_equal(sequence.mesh.coords, truth.mesh.coords[index])
            assert np.array_equal(sequence.fields, truth.fields[:1, :, index])
    separate = [evaluate(test_data, observations=seen).full_mse for seen in observed]
    assert level.full_mse_per_mask == tuple(separate)
    assert level.full_mse == statistics.median(separate)


def test_observability_falls_with_the_points_and_is_zero_below_p(model, test_data):
    levels = swept(model, test_data, seeds=(0,))
    assert [level.count for level in levels] == [40, 20, 10, 8, 7, 4]
    seen = [level.observability for level in levels]
    assert all(fewer <= more * (1 + 1e-12) for more, fewer in itertools.pairwise(seen))
    for level in levels:
        assert (level.observability == 0.0) == (level.count < NUM_MODES)


def test_sensors_are_placed_up_to_a_tenth_of_the_points(model, test_data):
    assert planned((0.5, 0.1, 0.05), placed=True) == [
        (0.5, "random"),
        (0.1, "random"),
        (0.1, "placed"),
        (0.05, "random"),
        (0.05, "placed"),
    ]
    levels = swept(model, test_data, fractions=(0.5, 0.1), placed=True)
    assert [(level.placement, level.count) for level in levels] == [
        ("random", 20),
        ("random", 4),
        ("placed", 4),
    ]
    random, placed = levels[1:]
    assert len(placed.full_mse_per_mask) == 1
    assert placed.full_mse <= random.full_mse


def test_claims_stand_beside_the_levels_they_are_about(model, test_data):
    levels = swept(model, test_data, fractions=(0.5, 0.3), claims=SPARSE_CLAIMS["ns-lrlq"])
    assert [level.paper_full_mse for level in levels] == [1.53e-3, None]


def test_channels_and_coordinates_are_taken_as_the_model_has_them(model, test_data):
    dataset = test_data.to_xarray()
    dataset["pressure"] = dataset["u"] ** 2
    other = Trajectories.from_xarray(dataset, coordinate_names=["y", "x"])
    expected = swept(model, test_data, fractions=(0.5,))[0]
    assert swept(model, other, fractions=(0.5,))[0].full_mse == pytest.approx(
        expected.full_mse, rel=1e-6
    )


def test_sequences_on_different_meshes_are_refused(model, test_data):
    index = [np.arange(20 + number) for number in range(len(test_data))]
    with pytest.raises(DataError, match="on one mesh; got 6 meshes"):
        swept(model, test_data.at_points(index))


def test_forecasts_that_overflow_are_an_infinite_error(model, test_data, monkeypatch):
    def overflow(*_, **__):
        raise DivergenceError("the forecast overflows", part="forecast")

    monkeypatch.setattr(model, "evaluate", overflow)
    (level,) = swept(model, test_data, fractions=(0.1,))
    assert level.full_mse == level.in_horizon_mse == level.extrapolation_mse == math.inf


def test_windows_without_data_have_no_error(model):
    horizon = model.surrogate_.description.horizon
    short = trajectories(num_times=min(3, horizon), seed=7)
    (level,) = swept(model, short, fractions=(0.5,))
    assert level.full_mse == level.in_horizon_mse
    assert level.extrapolation_mse is None


@pytest.mark.parametrize(
    ("dataset", "dynamics", "expected"),
    [
        ("wave", "koopman", "wave-koopman"),
        ("navier-stokes", "lrlq", "ns-lrlq"),
        ("shallow-water", "koopman", "sw-koopman"),
        ("navier-stokes", "koopman", None),
        ("wave", "lrlq", None),
    ],
)
def test_the_papers_row_is_found_by_dataset_and_dynamics(dataset, dynamics, expected):
    assert claimed_preset(dataset, Settings.of(dynamics=dynamics)) == expected
