"""The stability study: which switches are which, and what becomes of a run that diverges."""

import json
import math
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from smore import SMORE
from smore.errors import DivergenceError, InterruptedTrainingError, SettingsError
from smore.settings import Settings
from smore_paper.claims import STABILITY_CLAIMS
from smore_paper.cli import reproduce
from smore_paper.presets import preset
from smore_paper.tables.ledger import work_through
from smore_paper.tables.rates.measure import Rates
from smore_paper.tables.stability import measure as stability_table
from smore_paper.tables.stability.measure import (
    CONFIGURATIONS,
    configured,
    stability_run,
    stability_runs,
)
from stopping import stopping
from waves import NUM_MODES, trajectories

# Untrained quadratic dynamics do not last much longer than this test set.
TRAIN, TEST = trajectories(6, num_times=20), trajectories(3, num_times=4, seed=7)
RATES = Rates(decoder_rate=1e-2, dynamics_rate=1e-3)  # those that the recipe has by itself
SMALL = Settings.of(
    dynamics="lrlq",
    rank=2,
    recipe="paper",
    latent_dim=NUM_MODES,
    hidden_dim=2 * NUM_MODES,
    num_hidden=1,
    validation_fraction=0.0,
    final_fit_steps=5,
)


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """The row of one run on small data, with `SMALL` settings and some changes."""
    benchmark = SimpleNamespace(train=TRAIN.to_xarray(), test=TEST.to_xarray())
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: benchmark)

    def row(run, epochs, **changes):
        settings = SMALL.replace(**changes)
        monkeypatch.setattr(stability_table, "configured", lambda *_: settings)
        rates = Rates(settings.decoder_learning_rate, settings.dynamics_learning_rate)
        monkeypatch.setattr(stability_table, "require_rates", lambda *_: rates)
        ledger, measure = stability_table.stability_table(tmp_path, epochs)
        (found,) = work_through(ledger, [run], measure, lambda _: None)
        return found

    return row


def error_of(**changes):
    model = SMORE.from_settings(SMALL.replace(**changes))
    model.fit(TRAIN.leading(10), progress=False)
    return model.evaluate(TEST, method="adam").full_mse


def test_ten_configurations_at_the_largest_dimension_three_elsewhere():
    runs = stability_runs(["navier-stokes", "shallow-water"], 1)
    told = [(run.dataset, run.variant["latent_dim"], run.variant["configuration"]) for run in runs]
    assert len(set(told)) == len(told) == (4 * 3 + 10) + (2 * 3 + 10)
    few, every = {"OFF", "FULL", "FULL without low rank"}, set(CONFIGURATIONS)
    for dataset, smaller in (("navier-stokes", (10, 30, 50, 70)), ("shallow-water", (50, 70))):
        for latent_dim, expected in [*((p, few) for p in smaller), (100, every)]:
            assert {name for *where, name in told if where == [dataset, latent_dim]} == expected
    assert len({run.key for run in runs}) == len(runs)
    assert {run.recipe for run in runs} == {"paper"}


def test_the_whole_table_has_ten_configurations_everywhere():
    runs = stability_runs(["shallow-water"], 1, whole=True)
    told = [(run.variant["latent_dim"], run.variant["configuration"]) for run in runs]
    assert told == [(p, name) for p in (50, 70, 100) for name in CONFIGURATIONS]


def test_the_papers_whole_grid_is_eighty_cells_of_three_seeds():
    runs = stability_runs(["navier-stokes", "shallow-water"], 3, whole=True)
    assert len({run.key for run in runs}) == len(runs) == 3 * 10 * (5 + 3)
    assert {run.seed for run in runs} == {0, 1, 2}
    cells = {(run.dataset, run.variant["configuration"], run.variant["latent_dim"]) for run in runs}
    assert cells == set(STABILITY_CLAIMS)


def test_latent_dimensions_can_be_chosen_where_the_paper_has_them():
    both = ["navier-stokes", "shallow-water"]
    runs = stability_runs(both, 1, latent_dims=[30, 70])
    there = {(run.dataset, run.variant["latent_dim"]) for run in runs}
    assert there == {("navier-stokes", 30), ("navier-stokes", 70), ("shallow-water", 70)}
    with pytest.raises(SettingsError, match=r"50, 70, 100 on shallow-water; got 10, 20"):
        stability_runs(["shallow-water"], 1, latent_dims=[20, 10])
    with pytest.raises(SettingsError, match=r"10, 30, 50, 70, 100 on navier-stokes; .*; got 20"):
        stability_runs(both, 1, latent_dims=[20, 10])


def test_configurations_are_the_papers_ten():
    switches = {tuple(vars(each).values()) for each in CONFIGURATIONS.values()}
    # cons, eig, clip, low rank: none, one or both penalties, one other alone, FULL, all but one.
    assert switches == {
        (False, False, False, False),
        (True, False, False, False),
        (False, True, False, False),
        (True, True, False, False),
        (False, False, True, False),
        (False, False, False, True),
        (True, True, True, True),
        (False, False, True, True),
        (True, True, False, True),
        (True, True, True, False),
    }


@pytest.mark.parametrize(
    ("dataset", "name", "latent_dim", "rank"),
    [
        ("navier-stokes", "ns-lrlq", 10, 1),
        ("navier-stokes", "ns-lrlq", 30, 5),
        ("navier-stokes", "ns-lrlq", 50, 8),
        ("navier-stokes", "ns-lrlq", 70, 11),
        ("navier-stokes", "ns-lrlq", 100, 16),
        ("shallow-water", "sw-lrlq", 50, 10),
        ("shallow-water", "sw-lrlq", 100, 10),
    ],
)
def test_full_is_the_preset_at_another_dimension(dataset, name, latent_dim, rank):
    expected = preset(name).settings.replace(
        recipe="paper", latent_dim=latent_dim, rank=rank, validation_fraction=0.0
    )
    assert configured(dataset, "FULL", latent_dim) == expected
    assert (expected.cons_weight, expected.eig_weight, expected.clip_norm) == (1e-8, 1e-7, 1.0)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("FULL without low rank", {"dynamics": "quadratic", "rank": None}),
        ("FULL without clip", {"clip_norm": None}),
        ("FULL without penalties", {"cons_weight": 0.0, "eig_weight": 0.0}),
        ("low rank only", {"cons_weight": 0.0, "eig_weight": 0.0, "clip_norm": None}),
        (
            "eig only",
            {"dynamics": "quadratic", "rank": None, "cons_weight": 0.0, "clip_norm": None},
        ),
    ],
)
def test_a_switch_changes_its_own_setting_only(name, changes):
    full = configured("navier-stokes", "FULL", 70)
    assert configured("navier-stokes", name, 70) == full.replace(**changes)


@pytest.mark.parametrize(
    ("name", "growth"),
    [
        ("FULL", 0.166),
        ("FULL without penalties", 0.189),
        ("FULL without clip", 0.205),
        ("FULL without low rank", 0.953),
        ("clip only", 1.337),
        ("OFF", 2.671),
    ],
)
def test_claims_grow_as_the_papers_text_says(name, growth):
    small, large = (STABILITY_CLAIMS["navier-stokes", name, p].full_mse for p in (50, 100))
    # The text rounds what the table rounds already.
    assert large / small - 1 == pytest.approx(growth, abs=2e-3)


def test_claims_have_the_papers_non_finite_epochs():
    epochs = {
        (name, p): STABILITY_CLAIMS["shallow-water", name, p].first_non_finite_epoch
        for name in CONFIGURATIONS
        for p in (50, 70, 100)
    }
    assert [epochs["OFF", p] for p in (50, 70, 100)] == [8111, 200, 100]
    assert [epochs["FULL without low rank", p] for p in (50, 70, 100)] == [None, 160, 137]
    assert sum(epoch is not None for epoch in epochs.values()) == 3 * 3 + 3 * 2
    assert not any(
        claim.first_non_finite_epoch
        for (dataset, *_), claim in STABILITY_CLAIMS.items()
        if dataset == "navier-stokes"
    )


@pytest.mark.parametrize(
    ("name", "small", "middle"),
    [("OFF", 3.139e-2, 4.432e-3), ("clip only", 3.087e-2, 4.441e-3), ("FULL", 3.897e-2, 4.970e-3)],
)
def test_claims_for_few_latents_are_the_appendixs(name, small, middle):
    claims = [STABILITY_CLAIMS["navier-stokes", name, p].full_mse for p in (10, 30)]
    assert claims == pytest.approx([small, middle], rel=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_the_command_runs_few_latents_of_every_seed_in_rows_of_their_own(monkeypatch, tmp_path):
    benchmark = SimpleNamespace(train=TRAIN.to_xarray(), test=TEST.to_xarray())
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: benchmark)
    monkeypatch.setattr("smore_paper.cli._working.load_benchmark", lambda name: benchmark)

    def smaller(*which):  # but for the decoder what the command trains
        return configured(*which).replace(hidden_dim=8, num_hidden=1, final_fit_steps=5)

    monkeypatch.setattr(stability_table, "configured", smaller)
    monkeypatch.setattr(stability_table, "require_rates", lambda *_: RATES)
    asked = ["stability", "--dataset", "ns", "--latent-dim", "10", "--epochs", "2", "--json"]
    asked += ["--results", str(tmp_path)]
    first = json.loads(CliRunner().invoke(reproduce.app, [*asked, "--seeds", "2"]).stdout)
    result = CliRunner().invoke(reproduce.app, [*asked, "--seeds", "3"])
    rows = json.loads(result.stdout)
    assert rows[:6] == first  # which were not run again
    assert "has 6 of 9 rows already" in result.stderr
    told = [(row["configuration"], row["seed"]) for row in rows]
    names = ("OFF", "FULL", "FULL without low rank")
    assert told == [(name, seed) for seed in range(3) for name in names]
    full = [row for row in rows if row["configuration"] == "FULL"]
    assert {(row["latent_dim"], row["rank"], row["epochs_run"]) for row in full} == {(10, 1, 2)}
    assert [row["paper_full_mse"] for row in full] == pytest.approx([3.897e-2] * 3)
    assert len({row["full_mse"] for row in full}) == 3
    settings = smaller("navier-stokes", "FULL", 10).replace(epochs=2, seed=2)
    model = SMORE.from_settings(settings).fit(TRAIN.leading(10), progress=False)
    expected = model.evaluate(TEST, method="adam").full_mse
    assert full[2]["full_mse"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_finite_run_is_scored_after_its_last_epoch(measured):
    row = measured(stability_run("navier-stokes", "FULL without low rank", 50, 3), 4)
    assert (row["epochs"], row["epochs_run"], row["first_non_finite_epoch"]) == (4, 4, None)
    assert (row["cons"], row["eig"], row["clip"], row["low_rank"]) == ("on", "on", "on", "off")
    assert (row["configuration"], row["latent_dim"]) == ("FULL without low rank", 50)
    assert row["paper_full_mse"] == pytest.approx(2.658e-3, rel=1e-12)
    assert row["paper_epochs"] == 10_000
    assert row["full_mse"] == pytest.approx(error_of(epochs=4, seed=3), rel=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_run_that_diverges_has_its_epoch_and_the_error_of_its_last_good_state(measured):
    """One step of such a rate takes the dynamics beyond all numbers, and epoch 1 finds that out:

    the last state whose losses are known to be finite is that before the step.
    """
    row = measured(stability_run("shallow-water", "OFF", 70, 0), 9, dynamics_rate=1e30)
    assert (row["status"], row["first_non_finite_epoch"], row["epochs_run"]) == ("done", 1, 1)
    assert row["epochs"] == 9
    assert row["paper_first_non_finite_epoch"] == 200
    untrained = error_of(epochs=1, dynamics_rate=1e-30, decoder_rate=1e-30)
    assert row["full_mse"] == pytest.approx(untrained, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_run_that_was_stopped_goes_on_from_its_checkpoint(
    measured, monkeypatch, tmp_path, capsys
):
    run = stability_run("navier-stokes", "FULL", 50, 0)
    stopping(monkeypatch, 3)
    with pytest.raises(InterruptedTrainingError):
        measured(run, 6)
    stopping(monkeypatch, math.inf)
    row = measured(run, 6)
    assert "going on" in capsys.readouterr().err
    assert row["epochs_run"] == 6
    assert row["full_mse"] == pytest.approx(error_of(epochs=6), rel=1e-6)
    assert not list(tmp_path.glob(".*.checkpoints"))


@pytest.mark.filterwarnings("ignore")
def test_a_run_that_died_after_it_diverged_diverges_again(measured, monkeypatch):
    """What is kept of it must not be taken for a training that may go on."""
    run = stability_run("shallow-water", "OFF", 70, 0)
    evaluate = SMORE.evaluate

    def die(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(SMORE, "evaluate", die)
    with pytest.raises(KeyboardInterrupt):
        measured(run, 9, dynamics_rate=1e30)
    monkeypatch.setattr(SMORE, "evaluate", evaluate)
    row = measured(run, 9, dynamics_rate=1e30)
    assert (row["first_non_finite_epoch"], row["epochs_run"]) == (1, 1)


@pytest.mark.filterwarnings("ignore")
def test_checkpoints_of_other_epochs_are_not_taken_up(measured, monkeypatch):
    run = stability_run("navier-stokes", "FULL", 50, 0)
    stopping(monkeypatch, 3)
    with pytest.raises(InterruptedTrainingError):
        measured(run, 6)
    with pytest.raises(SettingsError, match="epochs"):
        measured(run, 7)


@pytest.mark.filterwarnings("ignore")
def test_forecasts_that_overflow_are_an_infinite_error(measured, monkeypatch):
    def overflow(*_, **__):
        raise DivergenceError("the forecast overflows", part="forecast")

    monkeypatch.setattr(SMORE, "evaluate", overflow)
    row = measured(stability_run("shallow-water", "OFF", 70, 0), 1)
    assert (row["status"], row["full_mse"]) == ("done", math.inf)


def test_another_start_is_a_row_of_its_own_of_those_whose_term_is_free(measured):
    runs = stability_runs(["shallow-water"], 1, latent_dims=[50], start=0.0)
    assert {run.variant["configuration"] for run in runs} == {"OFF", "FULL without low rank"}
    assert {run.variant["start"] for run in runs} == {0.0}
    usual = stability_run("shallow-water", "OFF", 50, 0)
    assert usual.key != runs[0].key
    row = measured(runs[0], 1, dynamics="quadratic", rank=None)
    assert (row["start"], row["status"]) == (0.0, "done")
    assert not stability_table.has_usual_start(row)
