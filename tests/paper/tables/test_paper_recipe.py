"""Rates screened on training data, and the paper's recipe with what they chose."""

import math
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from smore import SMORE
from smore.errors import SettingsError
from smore.settings import Settings
from smore_paper.cli import reproduce
from smore_paper.tables.algorithm1 import measure as algorithm1
from smore_paper.tables.ledger import Run, read_rows, work_through
from smore_paper.tables.rates import measure as rates
from smore_paper.tables.rates.measure import Rates, chosen_rates, first_runs, further_runs
from waves import NUM_MODES, trajectories

TRAIN, TEST = trajectories(8, num_times=20), trajectories(3, num_times=20, seed=7)
SMALL = Settings.of(
    dynamics="koopman",
    recipe="paper",
    latent_dim=NUM_MODES,
    hidden_dim=2 * NUM_MODES,
    num_hidden=1,
    batch_size=8,
    evaluate_every=2,
    fit_steps=5,
    final_fit_steps=5,
)
RUN = Run("rates", "wave", "smore-lrlq", "paper", 0, {"decoder_rate": 3e-3, "dynamics_rate": 1e-3})


@pytest.fixture
def small(monkeypatch):
    """Benchmarks and models that take no time."""
    benchmark = SimpleNamespace(train=TRAIN.to_xarray(), test=TEST.to_xarray())
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: benchmark)
    for table in (rates, algorithm1):
        monkeypatch.setattr(table, "paper_preset", lambda *_: SimpleNamespace(settings=SMALL))
    return benchmark


def test_every_pair_is_run_by_one_seed_and_the_good_ones_by_all():
    first = first_runs(["wave", "navier-stokes"], ["smore-lrlq"])
    assert len({run.key for run in first}) == len(first) == 2 * 9
    assert {run.dataset for run in first[:9]} == {"navier-stokes"}  # what tells most comes first
    errors = [1.0, 2.0, 2.1, math.inf, 1.5, *[9.0] * 4, *[math.inf] * 8, 3.0]
    rows = [
        {"key": run.key, "training_mse": error, "status": "done"}
        for run, error in zip(first, errors, strict=True)
    ]
    further = further_runs(rows, first, 3)
    good = [first[0], first[1], first[4], first[-1]]
    assert [(run.seed, run.dataset, run.variant) for run in further] == [
        (seed, run.dataset, run.variant) for seed in (1, 2) for run in good
    ]


def test_a_screening_reads_no_test_data(small, tmp_path):
    del small.test
    ledger, measure = rates.rates_table(tmp_path, 6)
    (row,) = work_through(ledger, [RUN], measure, lambda _: None)
    part = TRAIN.leading(10).select(range(2))
    model = SMORE.from_settings(
        SMALL.replace(seed=0, epochs=6, batch_size=2, decoder_rate=3e-3, dynamics_rate=1e-3)
    )
    model.fit(part, select_on=part, progress=False)
    history = model.surrogate_.description.training.history
    assert row["training_mse"] == history[-1][1]
    assert row["sequences"] == 2
    assert [float(error) for error in row["curve"].split()] == pytest.approx(
        [error for _, error in history], rel=1e-3
    )


def test_a_screening_that_turns_non_finite_loses(small, tmp_path):
    wild = Run(
        "rates", "wave", "smore-lrlq", "paper", 0, {"decoder_rate": 1e30, "dynamics_rate": 1.0}
    )
    ledger, measure = rates.rates_table(tmp_path, 6)
    (row,) = work_through(ledger, [wild], measure, lambda _: None)
    assert row["training_mse"] == math.inf
    assert row["epochs_run"] < 6


def test_the_lowest_median_is_chosen():
    def row(decoder, dynamics, error, seed, status="done", model="smore-lrlq"):
        told = {"dataset": "wave", "model": model, "status": status, "training_mse": error}
        return told | {"decoder_rate": decoder, "dynamics_rate": dynamics, "seed": seed}

    def rows(decoder, dynamics, *errors):
        return [row(decoder, dynamics, error, seed) for seed, error in enumerate(errors)]

    found = rows(1e-3, 1e-3, 1.0, 2.0, math.inf)
    found += rows(1e-2, 1e-3, 0.9, math.inf, math.inf)
    found += rows(1e-2, 1e-2, 2.0)  # ruled out by the first seed
    found += [row(3e-3, 3e-3, 0.5, 0, model="smore-koopman"), row(3e-3, 3e-3, 0.1, 0, "failed")]
    assert chosen_rates(found, "wave", "smore-lrlq") == Rates(1e-3, 1e-3)
    assert chosen_rates(found, "shallow-water", "smore-lrlq") is None
    unfinished = rows(3e-3, 1e-3, 1.1, 0.1)
    assert chosen_rates(found + unfinished, "wave", "smore-lrlq") is None


def test_one_seed_of_all_models_comes_first():
    runs = algorithm1.algorithm1_runs(
        ["wave", "navier-stokes", "shallow-water"],
        ["smore-lrlq", "smore-koopman"],
        ["test", "held-out"],
        3,
    )
    told = [(run.dataset, run.seed, run.variant["selection"]) for run in runs]
    assert told[:5] == [(name, 0, "test") for name, _ in algorithm1.MODELS]
    assert told[5:7] == [("navier-stokes", seed, "test") for seed in (1, 2)]
    assert told[7:] == [(name, 0, "held-out") for name, _ in algorithm1.MODELS]


@pytest.mark.parametrize("protocol", ["test", "held-out"])
def test_the_recipe_takes_the_rates_that_were_chosen(small, tmp_path, protocol):
    run = Run("algorithm1", "wave", "smore-lrlq", "paper", 0, {"selection": protocol})
    table = algorithm1.algorithm1_table(tmp_path, 6, tmp_path)
    with pytest.raises(SettingsError, match="run `smore reproduce rates` first"):
        work_through(table[0], [run], table[1], lambda _: None)
    screening = rates.rates_table(tmp_path, 4)
    work_through(screening[0], [RUN], screening[1], lambda _: None)
    (row,) = work_through(table[0], [run], table[1], lambda _: None)
    assert (row["decoder_rate"], row["dynamics_rate"]) == (3e-3, 1e-3)
    train = TRAIN.leading(10)
    given, selects = (train, TEST) if protocol == "test" else train.split(0.1, 0)
    model = SMORE.from_settings(SMALL.replace(epochs=6, decoder_rate=3e-3, dynamics_rate=1e-3))
    model.fit(given, select_on=selects, progress=False)
    assert row["full_mse"] == model.evaluate(TEST, method="adam").full_mse
    assert SMORE.load(tmp_path / f"{run.key}.smore").num_parameters == model.num_parameters
    last = model.surrogate_.description.training.history[-1][1]
    assert row["last_full_mse"] == (last if protocol == "test" else None)


def test_the_commands_write_their_tables(small, tmp_path, monkeypatch):
    monkeypatch.setattr("smore_paper.cli._working.load_benchmark", lambda name: small)
    monkeypatch.setattr(rates, "GRID", (1e-3,))
    options = ["--dataset", "wave", "--model", "smore-lrlq", "--seeds", "1"]
    options += ["--epochs", "100", "--results", str(tmp_path)]
    for command in ("rates", "algorithm1"):
        result = CliRunner().invoke(reproduce.app, [command, *options])
        assert result.exit_code == 0, result.output
    assert len(read_rows(tmp_path / "rates.csv")) == 1
    assert len(read_rows(tmp_path / "algorithm1.csv")) == 2
