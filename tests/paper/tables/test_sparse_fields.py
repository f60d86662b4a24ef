"""The forecast from a tenth of the points, as it is kept and as it is drawn."""

import numpy as np
import pytest

from smore import Trajectories
from smore.errors import DivergenceError
from smore_paper.tables.kept_snapshot import fields_beside_truth, forecast_snapshot
from smore_paper.tables.sparse.draw_fields import draw_sparse_fields, sparse_fields_figure
from smore_paper.tables.sparse.measure import panel_sensors, sparse_fields_path
from waves import planted, trajectories


@pytest.fixture(scope="module")
def model():
    return planted(trajectories())


@pytest.fixture(scope="module")
def truth():
    return trajectories(3, num_times=20, num_points=150, seed=7)


def test_the_forecast_is_that_of_snapshot_fifteen_from_the_points_seen(model, truth):
    sensors = panel_sensors(truth)
    assert len(sensors) == 15  # more than the eight latents
    forecast = forecast_snapshot(model, truth, "posterior", sensors)
    assert forecast == pytest.approx(truth.sequences[0].fields[14], abs=1e-4)


def test_a_forecast_that_overflows_has_no_values(model, truth, monkeypatch):
    def overflow(*_):
        raise DivergenceError("the forecast overflows", part="forecast")

    monkeypatch.setattr("smore_paper.tables.kept_snapshot.advance", overflow)
    kept = forecast_snapshot(model, truth, "posterior", panel_sensors(truth))
    assert np.isnan(kept).all()


def test_panels_are_truth_forecast_and_error_with_the_points_seen(truth):
    sensors = panel_sensors(truth)
    forecast = truth.sequences[0].fields[14] + 0.5
    figure = sparse_fields_figure(fields_beside_truth(truth, forecast), sensors, "u", "waves")
    panels = figure.axes[:3]
    assert panels[1].get_title() == "forecast from 15 of 150 points"
    shown = [np.asarray(panel.collections[0].get_array()) for panel in panels]
    assert shown[0] == pytest.approx(truth.sequences[0].fields[14, 0], abs=1e-6)
    assert shown[1] == pytest.approx(shown[0] + 0.5, abs=1e-6)
    assert shown[2] == pytest.approx(0.5, abs=1e-6)
    (points,) = panels[2].lines
    assert np.array_equal(points.get_xydata(), truth.sequences[0].mesh.coords[sensors])


def test_what_is_kept_is_drawn(truth, tmp_path):
    assert draw_sparse_fields(tmp_path) == []
    forecast = np.full_like(truth.sequences[0].fields[14], np.nan)
    path = sparse_fields_path(tmp_path, "wave")
    fields_beside_truth(truth, forecast).save(path)
    assert draw_sparse_fields(tmp_path) == [tmp_path / "sparse_fields_wave.png"]
    kept = Trajectories.open(path, missing="mask").select_channels(["u"])
    assert kept.sequences[0].fields[0] == pytest.approx(truth.sequences[0].fields[14, :1], abs=1e-6)
