"""What streams of sensors are worth, measured on a model that is exact."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from matplotlib.figure import Figure

from smore import Trajectories
from smore_paper.benches.assimilation.faults import faults_found
from smore_paper.benches.assimilation.history import history_levels
from smore_paper.benches.assimilation.intervals import stream_coverages, wandering
from smore_paper.benches.assimilation.picture import stream_picture
from smore_paper.benches.assimilation.speed import filter_speed
from waves import STEP, codes, planted, solution

SIDE, TIMES = 12, 20


@pytest.fixture(scope="module")
def gridded() -> Trajectories:
    axis = np.linspace(-1.0, 1.0, SIDE)
    coords = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    times = STEP * np.arange(TIMES)
    fields = solution(codes(6), coords, times).reshape(6, TIMES, 2, SIDE, SIDE)
    dims = ("sequence", "time", "x", "y")
    return Trajectories.from_xarray(
        xr.Dataset(
            {name: (dims, fields[:, :, at]) for at, name in enumerate(("u", "v"))},
            coords={"time": times, "x": axis, "y": axis},
        )
    )


@pytest.fixture(scope="module")
def exact_model(gridded):
    return planted(gridded)


def test_history_tells_what_one_snapshot_cannot(exact_model, gridded):
    levels = [
        *history_levels(
            exact_model, gridded, counts=(2,), seeds=range(2), sequences=2, claims={2: 0.5}
        )
    ]
    one, five, ten = levels
    assert [level.history for level in levels] == [1, 5, 10]
    assert five.mse < 0.01 * one.mse
    assert ten.mse < 0.01 * one.mse
    assert one.mse == pytest.approx(np.median([float(each) for each in one.mse_per_mask.split()]))
    assert {level.paper_full_mse for level in levels} == {0.5}


def test_a_third_of_the_sensors_moves_and_half_are_silent_for_half_of_the_time(gridded):
    sequence = gridded.sequences[0]
    points, known = wandering(sequence, 12, np.random.default_rng(0))
    assert known.shape == points.shape == (TIMES, 12)
    silent = (~known).sum(axis=0)
    assert sorted(silent) == [0] * 6 + [TIMES // 2] * 6
    assert (points[:, 4:] == points[0, 4:]).all()
    places = np.array(np.unravel_index(points, sequence.mesh.shape))
    assert np.abs(np.diff(places, axis=1)).max() <= 2
    assert (points[:, :4] != points[0, :4]).any()


def test_intervals_of_an_exact_model_hold(exact_model, gridded):
    _, noisy = stream_coverages(exact_model, gridded, sensors=9, sequences=4)
    assert noisy.noise == 0.05
    assert 0.8 < noisy.covered < 0.98
    assert noisy.rmse == pytest.approx(noisy.stated, rel=0.5)


def test_broken_sensors_are_found_and_no_others(exact_model, gridded):
    model = copy.copy(exact_model)
    surrogate = model.surrogate_
    # One that knows of no errors at all would accuse sensors of what float32 rounds.
    floor = torch.full((2,), 1e-4, dtype=torch.float64)
    model.surrogate_ = replace(surrogate, error=replace(surrogate.error, floor=floor))
    (found,) = faults_found(model, gridded, sensors=20, sequences=3)
    assert found.broken == 6
    assert found.found == 1
    assert found.false_alarms == 0
    assert found.error_ratio < 1.2


def test_the_picture_has_truth_analysis_error_and_error_bar(exact_model, gridded):
    figure = stream_picture(exact_model, gridded, sensors=9)
    assert isinstance(figure, Figure)
    labels = " ".join(axes.get_ylabel() for axes in figure.axes)
    for row in ("truth", "analysis", "|error|", "standard\ndeviation"):
        assert row in labels


def test_speed_is_measured_of_filters_that_agree():
    found = filter_speed(dim=40, sensors=20, times=600)
    assert found.exact_difference < 1e-9
    assert found.steady_difference < 1e-9
    assert found.memory_ratio < 1.1
