"""The reduced benchmarks: what they are made of, whose turn it is, and what is drawn of them."""

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from smore.surrogate import build_dynamics, build_network, count_parameters
from smore_paper import datasets
from smore_paper.baselines import convergence
from smore_paper.baselines.fno import FNO
from smore_paper.baselines.grid import Grid
from smore_paper.cli import reproduce
from smore_paper.tables.cost.figure import Cost, frontier, pareto_figure
from smore_paper.tables.ledger import read_rows
from smore_paper.tables.rates.measure import Rates
from smore_paper.tables.reduced import measure, sizes
from smore_paper.tables.reduced.measure import has_converged, reduced_runs
from smore_paper.tables.reduced.sizes import Share, reduced_data

SMALL = {"wave": Share(train=3, validation=1, test=1)}


@pytest.fixture
def wave(monkeypatch, tmp_path):
    """A wave benchmark of 16 x 16 points that is reduced to 8 x 8."""
    options = {"resolution": 16, "num_train": 5, "num_test": 2}
    benchmark = datasets.load("wave", cache=tmp_path / "cache", **options)
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: benchmark)
    monkeypatch.setattr(sizes, "STRIDE", 2)
    monkeypatch.setattr(sizes, "SHARES", SMALL)
    return benchmark


def test_data_are_leading_trajectories_at_some_points(wave):
    data = reduced_data("wave")
    expected = wave.train.isel(x=slice(None, None, 2), y=slice(None, None, 2)).to_array()
    assert [len(each) for each in (data.train, data.validation, data.test)] == [6, 2, 2]
    fields = np.stack([sequence.fields for sequence in data.train])
    assert fields.shape == (6, 10, 2, 64)
    whole = expected.transpose("sequence", "time", "variable", "x", "y").values
    np.testing.assert_array_equal(fields, whole[:6, :10].reshape(6, 10, 2, 64))
    later = np.stack([sequence.fields for sequence in data.validation])
    np.testing.assert_array_equal(later, whole[6:8].reshape(2, 20, 2, 64))


@pytest.mark.parametrize("dataset", ["wave", "navier-stokes", "shallow-water"])
def test_all_models_have_about_as_many_parameters(dataset):
    channels = 1 if dataset == "navier-stokes" else 2
    dim = 3 if dataset == "shallow-water" else 2
    for model in ("dino", "smore-koopman", "smore-lrlq"):
        settings = sizes.reduced_settings(dataset, model).replace(recipe="paper")
        generator = torch.Generator().manual_seed(0)
        count = count_parameters(build_network(settings, dim, generator))
        count += count_parameters(build_dynamics(settings, channels, generator))
        assert 36_000 < count + dim * settings.hidden_dim < 44_000


def test_operators_have_about_as_many_parameters(wave, monkeypatch):
    monkeypatch.setattr(sizes, "STRIDE", 1)
    grid = Grid.of(reduced_data("wave").train)
    for model in ("fno", "cno", "transolver"):
        network = sizes.reduced_operator("wave", model).build(grid, 2)
        assert 36_000 < count_parameters(network) < 44_000


def test_every_model_has_its_turn_before_another_seed():
    runs = reduced_runs(["wave", "navier-stokes"], ["fno", "pod-dmd", "smore-lrlq"], 2)
    assert [run.seed for run in runs] == [0] * 8 + [1] * 6
    assert len({run.key for run in runs}) == len(runs)


def test_a_curve_that_still_falls_has_not_converged():
    assert has_converged([(i, 1 / (1 + i)) for i in range(3)] + [(i, 0.33) for i in range(3, 10)])
    assert not has_converged([(i, 1 / (1 + i)) for i in range(10)])


def test_forecasts_that_overflow_say_nothing_about_convergence():
    nan = float("nan")
    flat = [(0, nan), (1, 0.4)] + [(i, 0.33) for i in range(2, 9)] + [(9, nan)]
    assert has_converged(flat)
    assert not has_converged([(0, nan)] + [(i, 1 / (1 + i)) for i in range(1, 10)])
    assert not has_converged([(i, nan) for i in range(10)])


def test_the_command_writes_rows_and_figures(wave, monkeypatch, tmp_path):
    monkeypatch.setattr("smore_paper.cli._working.load_benchmark", lambda name: wave)
    monkeypatch.setattr(measure, "EPOCHS", 3)
    monkeypatch.setattr(measure, "require_rates", lambda *_: Rates(3e-3, 2e-3))
    monkeypatch.setattr(convergence, "MOST_EPOCHS", 10)
    small = {"latent_dim": 6, "hidden_dim": 8}
    monkeypatch.setattr(
        sizes, "_SMORE", {("wave", f"smore-{name}"): small for name in ("koopman", "lrlq")}
    )
    monkeypatch.setattr(measure, "reduced_operator", lambda *_: FNO(2, 3, 1, batch_size=4))
    models = ["--model", "fno", "--model", "pod-dmd", "--model", "smore-koopman"]
    options = ["--dataset", "wave", "--seeds", "1", "--results", str(tmp_path)]
    result = CliRunner().invoke(reproduce.app, ["reduced", *options, *models])
    assert result.exit_code == 0, result.output
    rows = read_rows(tmp_path / "reduced.csv")
    assert {row["status"] for row in rows} == {"done"}
    assert {(row["model"], row["recipe"]) for row in rows} == {
        ("fno", "baseline"),
        ("smore-koopman", "fast"),
        ("smore-koopman", "paper"),
        ("pod-dmd", "baseline"),
    }
    assert all(row["forecast_seconds"] > 0 for row in rows)
    assert {(row["recipe"], row["dynamics_rate"]) for row in rows} == {
        ("baseline", None),
        ("fast", None),
        ("paper", 2e-3),
    }
    curves = {row["model"]: row["curve"] for row in rows if row["recipe"] == "baseline"}
    assert curves["fno"].startswith("10:")
    assert curves["pod-dmd"] is None
    for name in ("reduced_curves.png", "reduced_cost.png"):
        assert (tmp_path / name).stat().st_size > 1000


def test_the_frontier_has_those_that_nobody_beats():
    points = {("a", ""): (1.0, 5.0), ("b", ""): (2.0, 6.0), ("c", ""): (3.0, 1.0)}
    points |= {("d", ""): (3.0, 2.0), ("e", ""): (0.5, 9.0)}
    assert [name for name, _ in frontier(points)] == ["e", "a", "c"]


def test_panels_leave_out_what_is_not_finite_or_not_known():
    costs = {
        ("fno", "baseline"): Cost(1e-3, 10.0, 0.1),
        ("cno", "baseline"): Cost(np.inf, 10.0, 0.1),
        ("pod-dmd", "baseline"): Cost(1e-2, 1.0, None),
    }
    figure = pareto_figure({"wave": costs}, "here")
    training, forecast = figure.axes
    assert len(training.collections) == 2
    assert len(forecast.collections) == 1
