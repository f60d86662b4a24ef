"""Forecast times of all models, and who is ahead at the price."""

from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from smore.settings import Settings
from smore_paper.baselines.fno import FNO
from smore_paper.baselines.pod_dmd import PODDMD
from smore_paper.cli import reproduce
from smore_paper.tables.compared import LABELS, VARIANTS
from smore_paper.tables.cost import measure
from smore_paper.tables.cost.figure import Cost
from smore_paper.tables.cost.measure import cost_runs
from smore_paper.tables.cost.page import cost_section, costs
from smore_paper.tables.ledger import read_rows


@pytest.fixture
def wave(monkeypatch, tmp_path):
    from smore_paper import datasets

    options = {"resolution": 8, "num_train": 8, "num_test": 2}
    benchmark = datasets.load("wave", cache=tmp_path / "cache", **options)
    settings = Settings.of().replace(
        latent_dim=3, hidden_dim=8, num_hidden=1, dynamics="koopman", final_fit_steps=5
    )
    small = {"fno": FNO(2, 3, 1, batch_size=4), "pod-dmd": PODDMD(5)}
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: benchmark)
    monkeypatch.setattr("smore_paper.cli._working.load_benchmark", lambda name: benchmark)
    monkeypatch.setattr(measure, "LEARNED_FROM", 12)
    monkeypatch.setattr(measure, "paper_preset", lambda *_: SimpleNamespace(settings=settings))
    monkeypatch.setattr(measure, "make_baseline", lambda dataset, model: small[model])
    return benchmark


def test_every_model_has_a_run():
    runs = cost_runs(["wave"], list(LABELS))
    assert [(run.model, run.recipe) for run in runs] == list(VARIANTS)


def test_the_command_times_every_kind_of_model(wave, tmp_path):
    models = [part for name in ("fno", "smore-koopman", "pod-dmd") for part in ("--model", name)]
    options = ["cost", "--dataset", "wave", "--results", str(tmp_path), *models]
    result = CliRunner().invoke(reproduce.app, options)
    assert result.exit_code == 0, result.output
    rows = read_rows(tmp_path / "cost.csv")
    assert [row["status"] for row in rows] == ["done"] * 4
    assert {row["forecast_steps"] for row in rows} == {19}
    fast, paper = (row["forecast_seconds"] for row in rows if row["model"] == "smore-koopman")
    assert fast > 0
    assert paper > 0


def test_errors_and_times_come_together(tmp_path):
    def row(model, recipe, **values):
        return {"key": model, "dataset": "wave", "model": model, "recipe": recipe, **values}

    rollout = [
        row("fno", "baseline", full_mse=0.5, seconds=600.0, status="done"),
        row("smore-koopman", "fast", full_mse=1e-3, seconds=60.0, status="done"),
        row("pod-dmd", "baseline", full_mse=1e-2, seconds=2.0, status="done"),
    ]
    times = [row("fno", "baseline", forecast_seconds=0.1, status="done")]
    assert costs(rollout, times, "wave") == {
        ("fno", "baseline"): Cost(0.5, 600.0, 0.1),
        ("smore-koopman", "fast"): Cost(1e-3, 60.0, None),
        ("pod-dmd", "baseline"): Cost(1e-2, 2.0, None),
    }
    text = "\n".join(cost_section(rollout, times, tmp_path, "."))
    ahead = "POD + DMD (2 s, 1.00e-2); SMORE-Koopman, fast (1 min, 1.00e-3)"
    assert f"| wave | {ahead} | FNO (0.1 s, 5.00e-1) |" in text
    assert "| navier-stokes | not run | not run |" in text
