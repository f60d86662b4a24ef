"""Coverage, counted value by value."""

from statistics import NormalDist

import numpy as np
import pytest

from smore_paper.benches.calibration import coverages
from smore_paper.tables.sparse.sweep import nested_masks
from waves import planted, trajectories


@pytest.fixture(scope="module")
def model():
    return planted(trajectories())


def test_coverage_counts_true_values_inside_the_intervals_of_a_forecast(model):
    test = trajectories(num_sequences=5, seed=7)
    (found,) = coverages(model, test, fractions=[0.5], noises=[0.0], seeds=[0, 1])
    width = NormalDist().inv_cdf(0.95)
    inside = total = 0
    for seed in (0, 1):
        points = nested_masks(40, [0.5], seed)[0.5]
        result = model.forecast(
            test.leading(1).at_points(points),
            test.sequences[0].times,
            points=test.sequences[0].mesh,
        )
        for number, sequence in enumerate(test):
            for channel, name in enumerate("uv"):
                error = np.abs(result[name].values[number] - sequence.fields[:, channel])
                inside += int((error <= width * result[f"{name}_std"].values[number]).sum())
                total += error.size
    assert found.covered == pytest.approx(inside / total, abs=0.01)  # ties at round-off
    assert found.masks == 2


def test_noise_that_is_added_is_told_and_covered(model):
    test = trajectories(num_sequences=40, seed=8)
    (found,) = coverages(model, test, fractions=[0.4], noises=[0.2], seeds=[0])
    assert found.covered == pytest.approx(0.9, abs=0.04)
    assert found.mean_deviation == pytest.approx(found.rmse, rel=0.15)
