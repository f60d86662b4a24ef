"""Parameter counts of the paper's comparison, one by one, through the public interface."""

from __future__ import annotations

import numpy as np
import pytest
from grids import noise, on_box, on_sphere

from smore.errors import SettingsError
from smore_paper.baselines.sizes import BASELINE_SIZES, paper_operator

NUM_CHANNELS = {"wave": 2, "navier-stokes": 1, "shallow-water": 2}


def small_data(dataset: str):
    """As many channels and the same geometry, on the coarsest grid that every network takes."""
    if dataset == "shallow-water":
        return on_sphere(noise(1, 2, 2, 24, 48))
    return on_box(noise(1, 2, NUM_CHANNELS[dataset], 24, 24))


@pytest.mark.parametrize(("model", "dataset"), BASELINE_SIZES)
def test_parameter_counts_equal_the_papers(model, dataset):
    data = small_data(dataset)
    operator = paper_operator(model, dataset, device="cpu").fit(data, seed=0, epochs=1)
    assert operator.num_parameters == BASELINE_SIZES[model, dataset].paper_parameters
    forecast = operator.forecast(data, 2)
    assert forecast.shape == (1, 2, NUM_CHANNELS[dataset], data.sequences[0].mesh.num_points)
    assert np.isfinite(forecast).all()


def test_an_unknown_pair_is_answered_with_those_there_are():
    with pytest.raises(SettingsError, match=r"'fno' on 'sw'; it has .*sfno on shallow-water"):
        paper_operator("fno", "sw")
