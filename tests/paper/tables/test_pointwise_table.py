"""The pointwise table: the same training in chunks of points, in data and models of a second."""

import json
import math
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

from smore import SMORE
from smore.errors import DivergenceError
from smore.settings import Settings
from smore_paper.cli import reproduce
from smore_paper.page.whole import page_text
from smore_paper.tables.ledger import read_rows, work_through
from smore_paper.tables.pointwise import measure as pointwise_table
from smore_paper.tables.pointwise.measure import (
    POINTWISE_CLAIMS,
    TrainedAlone,
    pointwise_runs,
    train_alone,
)
from waves import NUM_MODES, trajectories

TRAIN, TEST = trajectories(6, num_times=20), trajectories(3, num_times=4, seed=7)
SMALL = Settings.of(
    dynamics="lrlq",
    rank=2,
    recipe="paper",
    epochs=3,
    latent_dim=NUM_MODES,
    hidden_dim=2 * NUM_MODES,
    num_hidden=1,
    fit_steps=5,
    final_fit_steps=5,
)


@pytest.fixture
def waves(monkeypatch):
    """Small data and settings, in this process."""
    benchmark = SimpleNamespace(train=TRAIN.to_xarray(), test=TEST.to_xarray())
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: benchmark)
    monkeypatch.setattr("smore_paper.cli._working.load_benchmark", lambda name: benchmark)
    monkeypatch.setattr(pointwise_table, "paper_preset", lambda *_: SimpleNamespace(settings=SMALL))
    monkeypatch.setattr(pointwise_table, "alone", lambda function, *given: function(*given))


@pytest.fixture
def alone(monkeypatch):
    """Give results without any training, and remember what was asked for."""
    asked = []

    def give(*results):
        left = list(results)

        def pretend(function, settings):
            asked.append(settings)
            return left.pop(0)

        monkeypatch.setattr(pointwise_table, "alone", pretend)
        return asked

    return give


def trained(rise, seconds, full_mse, divergence=""):
    return TrainedAlone(7, seconds, rise, full_mse, "cpu", divergence)


def test_claims_are_the_papers():
    whole, chunked = POINTWISE_CLAIMS["all"], POINTWISE_CLAIMS[64]
    assert whole.memory_megabytes / chunked.memory_megabytes == pytest.approx(59.2, abs=0.05)
    assert chunked.seconds / whole.seconds == pytest.approx(3.58, abs=5e-3)
    assert (whole.full_mse, chunked.full_mse) == (1.530e-3, 1.607e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("waves")
def test_chunks_change_the_memory_and_not_the_error():
    whole = train_alone(SMALL)
    chunked = train_alone(SMALL.replace(chunk_size=7))
    assert (whole.epochs, chunked.epochs) == (3, 3)
    assert chunked.full_mse == pytest.approx(whole.full_mse, rel=1e-3)
    model = SMORE.from_settings(SMALL)
    model.fit(TRAIN.leading(10), select_on=TEST, progress=False)
    assert whole.full_mse == pytest.approx(model.evaluate(TEST, method="adam").full_mse, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("waves")
def test_forecasts_that_overflow_are_an_infinite_error(monkeypatch):
    def overflow(*_, **__):
        raise DivergenceError("the forecast overflows", part="forecast")

    monkeypatch.setattr(SMORE, "evaluate", overflow)
    assert train_alone(SMALL).full_mse == math.inf


def test_rows_have_the_paper_beside_them(alone, tmp_path):
    asked = alone(trained(2 * 10**8, 50.04, 3e-3), trained(10**7, 100.0, 4e-3, "diverged"))
    runs = pointwise_runs(1)[:2]
    ledger, measure = pointwise_table.pointwise_table(tmp_path, 9)
    whole, chunked = work_through(ledger, runs, measure, lambda _: None)
    assert [(each.chunk_size, each.epochs, each.recipe) for each in asked] == [
        (4096, 9, "paper"),
        (64, 9, "paper"),
    ]
    assert (asked[0].rank, asked[0].latent_dim) == (18, 72)
    assert (whole["chunk_size"], whole["memory_megabytes"], whole["seconds"]) == (
        "all",
        200.0,
        50.0,
    )
    assert (whole["paper_memory_megabytes"], whole["paper_seconds"]) == (18_613.9, 4101)
    assert (chunked["chunk_size"], chunked["epochs"], chunked["remark"]) == (64, 7, "diverged")
    assert chunked["paper_full_mse"] == 1.607e-3


def test_every_seed_has_three_runs():
    told = [(run.seed, run.variant["chunk_size"]) for run in pointwise_runs(2)]
    assert told == [(seed, chunk) for seed in (0, 1) for chunk in ("all", 64, 512)]
    assert len({run.key for run in pointwise_runs(2)}) == 6


def test_the_command_fills_the_page(alone, tmp_path, monkeypatch):
    monkeypatch.setattr("smore_paper.cli._working.load_benchmark", lambda name: None)
    alone(trained(3e8, 50.0, 2e-3), trained(1e7, 100.0, 3e-3), trained(2e7, 55.0, math.inf))
    results = tmp_path / "results"
    app = typer.Typer()
    app.add_typer(reproduce.app, name="reproduce")
    arguments = ["reproduce", "pointwise", "--results", str(results), "--json"]
    printed = CliRunner().invoke(app, arguments)
    assert json.loads(printed.stdout) == read_rows(results / "pointwise.csv")
    page = page_text(results, tmp_path / "page.md")
    assert (
        "- 64 points: memory 30x less, time 2x, error 1.5x "
        "(paper: memory 59.2x less, time 3.58x, error 1.05x)"
    ) in page
    assert "- 512 points: memory 15x less, time 1.1x, error overflow\n" in page
    assert (
        "| 64 | 1 | 10 (315, 0.0318x) | 3.00e-3 (1.61e-3, 1.87x) | 1.7 min (4.1 h) | 7 | cpu |"
    ) in page
    assert "| 512 | 1 | 20 | overflow | 55 s | 7 | cpu |" in page


def test_without_results_nothing_was_run(tmp_path):
    page = page_text(tmp_path, tmp_path / "page.md")
    assert "**Pointwise minibatches.** not run" in page
    assert "| all | 0 | not run (18,614) | not run (1.53e-3) | - (1.1 h) | - | - |" in page
