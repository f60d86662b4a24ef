"""The main comparison on data and models of a second: who gets how much, who sees what."""

import json
import math
import signal
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import typer
from typer.testing import CliRunner

from smore import SMORE, Trajectories
from smore.errors import DataError, DivergenceError, SettingsError
from smore_paper.baselines.base import Baseline
from smore_paper.baselines.cno import CNO
from smore_paper.baselines.fno import FNO
from smore_paper.baselines.operator_inference import OperatorInference
from smore_paper.baselines.pod_dmd import PODDMD
from smore_paper.baselines.sfno import SFNO
from smore_paper.baselines.transolver import Transolver
from smore_paper.cli import reproduce
from smore_paper.tables.compared import (
    LABELS,
    RECIPES,
    make_baseline,
    paper_claim,
    paper_parameters,
    paper_preset,
)
from smore_paper.tables.ledger import Run, work_through
from smore_paper.tables.rollout import measure as rollout_table
from smore_paper.tables.rollout.draw import (
    draw_rollouts,
    field_figure,
    mean_errors,
    per_snapshot_figure,
)
from smore_paper.tables.rollout.measure import Limits, budget_minutes, fields_path, rollout_runs
from smore_paper.tables.selection import SELECTED_ON, SELECTIONS
from stopping import stopping
from waves import NUM_MODES, trajectories

BENCHMARKS = ("wave", "navier-stokes", "shallow-water")
TRAIN, TEST = trajectories(6, num_times=20), trajectories(3, num_times=20, seed=7)
TRUTH = np.stack([sequence.fields for sequence in TEST])
SMALL = {"latent_dim": NUM_MODES, "hidden_dim": 2 * NUM_MODES, "num_hidden": 1}
SMALL |= {"decoder_steps": 5, "dynamics_steps": 5, "fit_steps": 5, "final_fit_steps": 5}


class Persistence(Baseline):
    """Forecasts the first snapshot, and remembers what it was given."""

    name = "persistence"
    num_parameters = 7

    def _train(self, training):
        self.train, self.budget, self.seed = training.data, training.budget, training.seed
        self.select_on = training.select_on
        return 3, "cpu"

    def _rollout(self, first, num_steps):
        return np.stack([np.repeat(sequence.fields, num_steps, axis=0) for sequence in first])


@pytest.fixture
def baseline(monkeypatch):
    made = Persistence()
    monkeypatch.setattr(rollout_table, "make_baseline", lambda dataset, model: made)
    return made


@pytest.fixture(autouse=True)
def small(monkeypatch):
    benchmark = SimpleNamespace(train=TRAIN.to_xarray(), test=TEST.to_xarray())
    monkeypatch.setattr("smore_paper.datasets.load", lambda name: benchmark)
    monkeypatch.setattr("smore_paper.cli._working.load_benchmark", lambda name: benchmark)

    def preset(dataset, model):
        chosen = paper_preset(dataset, model)
        return SimpleNamespace(
            settings=chosen.settings.replace(**SMALL), paper_parameters=chosen.paper_parameters
        )

    monkeypatch.setattr(rollout_table, "paper_preset", preset)


def row_of(folder, run, limits=Limits()):  # noqa: B008 - frozen
    ledger, measure = rollout_table.rollout_table(folder, limits)
    (row,) = work_through(ledger, [run], measure, lambda _: None)
    return row


def all_runs(num_seeds=1, limits=Limits()):  # noqa: B008 - frozen
    return rollout_runs(BENCHMARKS, list(LABELS), RECIPES, num_seeds, limits)


def test_the_whole_table_has_thirty_runs():
    runs = all_runs()
    assert len({run.key for run in runs}) == len(runs) == 3 * (2 * 2 + 6)
    more = all_runs(num_seeds=3)
    assert more[:30] == runs
    assert len(more) == 30 + 2 * 27  # POD + DMD has nothing random


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(), {"fno", "cno", "transolver", "dino", "smore-koopman", "smore-lrlq"}),
        (Limits(epochs=5000), {"fno", "cno", "transolver", "dino"}),
        (Limits(minutes=3.0), set()),
        (Limits(minutes=3.0, epochs=5000), set()),
    ],
)
def test_what_gets_the_time_of_others_comes_after_them(limits, expected):
    runs = all_runs(num_seeds=2, limits=limits)
    assert {run.model for run in runs if run.after} == expected
    for run in runs:
        if run.after:
            assert run.recipe in ("paper", "baseline")
            first = f"{run.dataset}_smore-koopman_fast_seed{run.seed}"
            assert run.after == (first, first.replace("koopman", "lrlq"))
            assert {each.key for each in runs} >= set(run.after)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("fno", (FNO, FNO, SFNO)),
        ("cno", (CNO,) * 3),
        ("transolver", (Transolver,) * 3),
        ("pod-dmd", (PODDMD,) * 3),
        ("opinf", (OperatorInference,) * 3),
    ],
)
def test_every_benchmark_has_every_baseline(model, expected):
    assert tuple(type(make_baseline(name, model)) for name in BENCHMARKS) == expected


@pytest.mark.parametrize(
    ("dataset", "model", "parameters", "full_mse"),
    [
        ("wave", "smore-koopman", 128_045, (9 * 6.74e-5 + 10 * 3.22e-4) / 19),
        ("navier-stokes", "dino", 356_444, (9 * 1.34e-3 + 10 * 2.32e-3) / 19),
        ("shallow-water", "fno", 366_336, (9 * 1.79e-3 + 10 * 5.22e-3) / 19),
        ("shallow-water", "smore-lrlq", 354_553, (9 * 5.86e-4 + 10 * 7.67e-4) / 19),
    ],
)
def test_the_papers_figures_stand_beside_their_model(dataset, model, parameters, full_mse):
    assert paper_parameters(dataset, model) == parameters
    assert paper_claim(dataset, model).full_mse == pytest.approx(full_mse, rel=1e-12)


def test_classical_methods_have_no_claim():
    assert paper_claim("wave", "pod-dmd") is paper_parameters("wave", "opinf") is None


def fast_rows(koopman, lrlq, dataset="wave", seed=0):
    return [
        {"key": Run("rollout", dataset, model, "fast", seed).key, "seconds": seconds}
        | {"run_seconds": 5000.0}
        for model, seconds in (("smore-koopman", koopman), ("smore-lrlq", lrlq))
    ]


FNO_RUN = Run("rollout", "wave", "fno", "baseline", 0)
PAPER_RUN = Run("rollout", "wave", "smore-lrlq", "paper", 0)
DINO_RUN = Run("rollout", "wave", "dino", "baseline", 0)


@pytest.mark.parametrize(
    ("rows", "minutes"),
    [
        (fast_rows(30.0, 60.0), 10.0),
        (fast_rows(900.0, 300.0), 15.0),
        (fast_rows(30.0, None), 5000.0 / 60),  # it failed, after that time
        (fast_rows(30.0, 60.0) + fast_rows(900.0, 900.0, seed=1), 10.0),
        (fast_rows(30.0, 60.0) + fast_rows(900.0, 900.0, "navier-stokes"), 10.0),
    ],
)
def test_a_baseline_gets_the_time_of_the_smore_fits_and_ten_minutes_at_least(rows, minutes):
    assert budget_minutes(FNO_RUN, rows, Limits()) == minutes
    assert budget_minutes(FNO_RUN, rows, Limits(epochs=3)) == minutes
    assert budget_minutes(PAPER_RUN, rows, Limits()) == minutes


def test_limits_of_the_user_replace_the_rule():
    assert budget_minutes(FNO_RUN, [], Limits(minutes=2.5)) == 2.5
    assert budget_minutes(PAPER_RUN, [], Limits(minutes=2.5, epochs=3)) == 2.5
    assert budget_minutes(PAPER_RUN, [], Limits(epochs=5000)) is None


@pytest.mark.parametrize(("model", "recipe"), [("smore-lrlq", "fast"), ("opinf", "baseline")])
def test_what_takes_what_it_takes_has_no_budget(model, recipe):
    assert budget_minutes(Run("rollout", "wave", model, recipe, 0), [], Limits(2.5)) is None


def test_a_baseline_is_trained_on_ten_snapshots_within_its_budget(baseline, tmp_path):
    row = row_of(tmp_path, FNO_RUN, Limits(minutes=1.5, epochs=4))
    assert [sequence.num_snapshots for sequence in baseline.train] == [10] * 6
    for sequence, given in zip(TRAIN, baseline.train, strict=True):
        assert np.array_equal(given.fields, sequence.fields[:10])
    assert (baseline.budget.seconds, baseline.budget.epochs) == (90.0, 4)
    assert (row["budget_minutes"], row["epochs"], row["device"]) == (1.5, 3, "cpu")
    assert row["selection"] == "end of training"
    assert (row["parameters"], row["paper_parameters"]) == (7, 117_356)


def test_errors_are_means_over_the_papers_windows(baseline, tmp_path):
    row = row_of(tmp_path, FNO_RUN, Limits(minutes=1.0))
    steps = np.square(TRUTH[:, 1:] - TRUTH[:, :1]).mean((0, 2, 3))
    assert row["in_horizon_mse"] == pytest.approx(steps[:9].mean(), rel=1e-6)
    assert row["extrapolation_mse"] == pytest.approx(steps[9:].mean(), rel=1e-6)
    assert row["full_mse"] == pytest.approx(steps.mean(), rel=1e-6)
    np.testing.assert_allclose([float(e) for e in row["per_step_mse"].split()], steps, rtol=1e-6)
    assert row["paper_in_horizon_mse"] == 2.89e-4
    assert row["paper_extrapolation_mse"] == 7.37e-2
    claim = (9 * 2.89e-4 + 10 * 7.37e-2) / 19
    assert row["ratio"] == pytest.approx(steps.mean() / claim, rel=1e-6)


def test_snapshot_15_of_the_first_sequence_is_kept(baseline, tmp_path):
    row_of(tmp_path, FNO_RUN, Limits(minutes=1.0))
    kept = Trajectories.open(tmp_path / "fields_wave_fno.nc")
    assert [channel.name for channel in kept.channels] == ["u", "u_forecast", "v", "v_forecast"]
    fields = kept.sequences[0].fields
    assert fields.dtype == np.float32
    expected = np.stack([TRUTH[0, 14, 0], TRUTH[0, 0, 0], TRUTH[0, 14, 1], TRUTH[0, 0, 1]])
    np.testing.assert_array_equal(fields[0], expected.astype(np.float32))


def test_a_baseline_that_cannot_use_the_data_is_a_row_with_the_reason(monkeypatch, tmp_path):
    def refuse(dataset, model):
        raise DataError("expected a grid")

    monkeypatch.setattr(rollout_table, "make_baseline", refuse)
    row = row_of(tmp_path, FNO_RUN, Limits(minutes=1.0))
    assert (row["status"], row["remark"], row["full_mse"]) == ("failed", "expected a grid", None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("recipe", "selection", "method"),
    [("fast", "training data", "posterior"), ("paper", "test set (the paper's protocol)", "adam")],
)
def test_only_the_papers_recipe_sees_the_test_set(monkeypatch, tmp_path, recipe, selection, method):
    seen = {}
    fit = SMORE.fit

    def spy(self, data, *, select_on=None, **options):
        seen.update(model=self, data=data, select_on=select_on)
        return fit(self, data, select_on=select_on, **options, progress=False)

    monkeypatch.setattr(SMORE, "fit", spy)
    row = row_of(tmp_path, Run("rollout", "wave", "smore-koopman", recipe, 0), Limits(epochs=3))
    assert row["selection"] == selection
    assert [sequence.num_snapshots for sequence in seen["data"]] == [10] * 6
    assert (seen["select_on"] is not None) == (recipe == "paper")
    model = seen["model"]
    assert row["full_mse"] == pytest.approx(model.evaluate(TEST, method=method).full_mse, rel=1e-9)
    assert row["parameters"] == model.num_parameters + 2 * 2 * NUM_MODES
    assert row["epochs"] == (3 if recipe == "paper" else 5)
    kept = Trajectories.open(fields_path(tmp_path, "wave", "smore-koopman", recipe))
    times = TEST.sequences[0].times[14]
    forecast = model.forecast(TEST.select([0]), [times], method=method, uncertainty=False)
    np.testing.assert_allclose(
        kept.select_channels(["u_forecast"]).sequences[0].fields[0, 0],
        forecast["u"].values.ravel(),
        rtol=1e-5,
        atol=1e-6,
    )


def given_to(monkeypatch, tmp_path, model, recipe, selection):
    """(row, training sequences, what selects) of a run by this protocol."""
    seen = {}
    fit = SMORE.fit

    def spy(self, data, *, select_on=None, **options):
        seen.update(train=data, select_on=select_on, settings=self.settings)
        return fit(self, data, select_on=select_on, **options | {"progress": False})

    monkeypatch.setattr(SMORE, "fit", spy)
    own = Persistence()
    monkeypatch.setattr(rollout_table, "make_baseline", lambda dataset, model: own)
    (run,) = rollout_runs(["wave"], [model], [recipe], 1, Limits(1.0, 2), selection)
    row = row_of(tmp_path, run, Limits(1.0, 2))
    if model == "fno":
        return row, own.train, own.select_on
    if seen["select_on"] is None:
        assert seen["settings"].validation_fraction == 0
    return row, seen["train"], seen["select_on"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "recipe"), [("smore-koopman", "paper"), ("dino", "baseline"), ("fno", "baseline")]
)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_protocol_is_the_same_for_all_models(monkeypatch, tmp_path, model, recipe, selection):
    row, train, selects = given_to(monkeypatch, tmp_path, model, recipe, selection)
    assert row["status"] == "done"
    assert row["selection"] == SELECTED_ON[selection]
    supervising = TRAIN.leading(10)
    rest, held_out = supervising.split(0.1, 0)
    expected = {"test": (supervising, TEST), "held-out": (rest, held_out)}
    for ours, theirs in zip(
        (train, selects), expected.get(selection, (supervising, None)), strict=True
    ):
        assert (ours is None) == (theirs is None)
        for one, other in zip(ours or (), theirs or (), strict=True):
            assert np.array_equal(one.fields, other.fields)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_texts_data_have_the_models_and_claims_of_their_benchmark(name):
    literal = f"{name}-literal"
    for model in LABELS:
        assert paper_claim(literal, model) == paper_claim(name, model)
        assert paper_parameters(literal, model) == paper_parameters(name, model)
        if model not in ("smore-koopman", "smore-lrlq", "dino"):
            ours, theirs = make_baseline(literal, model), make_baseline(name, model)
            assert type(ours) is type(theirs)
            assert getattr(ours, "rank", 0) == getattr(theirs, "rank", 0)


def test_the_command_takes_the_texts_data_when_asked(baseline, tmp_path):
    asked = ("rollout", "--model", "fno", "--budget", 1, "--results", tmp_path, "--json")
    rows = json.loads(command(*asked, "--dataset", "wave", "--dataset", "wave-literal"))
    told = [(row["dataset"], row["paper_in_horizon_mse"]) for row in rows]
    assert told == [("wave", 2.89e-4), ("wave-literal", 2.89e-4)]
    assert {path.name for path in tmp_path.glob("*.png")} == {"rollout_wave.png", "fields_wave.png"}


def test_a_protocol_that_is_the_habit_is_the_row_that_is_there():
    def keys(selection):
        runs = rollout_runs(["wave"], list(LABELS), RECIPES, 1, Limits(1.0), selection)
        return {(run.model, run.recipe): run.key for run in runs}

    plain = keys(None)
    told = {which for which, key in keys("held-out").items() if key != plain[which]}
    operators = {(name, "baseline") for name in ("fno", "cno", "transolver")}
    paper = {("smore-koopman", "paper"), ("smore-lrlq", "paper")}
    assert told == operators | paper
    told = {which for which, key in keys("last").items() if key != plain[which]}
    assert told == paper | {("dino", "baseline")}
    assert keys("test")["cno", "baseline"] == "wave_cno_baseline_seed0_selection=test"


def test_the_command_keeps_rows_of_another_protocol_and_figures_of_habits(baseline, tmp_path):
    asked = ("rollout", "--dataset", "wave", "--model", "fno", "--budget", 1, "--results", tmp_path)
    (plain,) = json.loads(command(*asked, "--json"))
    kept = (tmp_path / "fields_wave_fno.nc").read_bytes()
    (told,) = json.loads(command(*asked, "--selection", "test", "--json"))
    assert (plain["selection"], told["selection"]) == ("end of training", SELECTED_ON["test"])
    assert len((tmp_path / "rollout.csv").read_text().splitlines()) == 3
    assert (tmp_path / "fields_wave_fno.nc").read_bytes() == kept
    assert baseline.select_on is not None


def test_a_row_that_fails_still_says_its_protocol(monkeypatch, tmp_path):
    def refuse(dataset, model):
        raise DataError("expected a grid")

    monkeypatch.setattr(rollout_table, "make_baseline", refuse)
    run = Run("rollout", "wave", "fno", "baseline", 0, {"selection": "test"})
    row = row_of(tmp_path, run, Limits(minutes=1.0))
    assert (row["status"], row["selection"]) == ("failed", "test")


@pytest.mark.filterwarnings("ignore")
def test_epochs_of_the_papers_recipe_are_what_time_allows(monkeypatch, tmp_path):
    monkeypatch.setattr(rollout_table, "seconds_per_epoch", lambda prepared, device: 1.0)
    asked = []

    def fit(self, data, *, checkpoints, **_):
        assert checkpoints is None  # the next attempt would be allowed other epochs
        asked.append(self.settings.epochs)
        raise DataError("far enough")

    monkeypatch.setattr(SMORE, "fit", fit)
    for seed, limits in enumerate([Limits(1.0), Limits(1.0, 7), Limits(100.0), Limits(0.001)]):
        row_of(tmp_path, Run("rollout", "wave", "smore-lrlq", "paper", seed), limits)
    assert asked[0] in (58, 59, 60)  # to prepare the data takes time, too
    assert asked[1:] == [7, 5000, 1]
    row_of(tmp_path, DINO_RUN, Limits(1.0, 7))
    assert asked[4:] == [7]


@pytest.mark.filterwarnings("ignore")
def test_dino_is_smore_with_an_mlp_and_the_papers_recipe(monkeypatch, tmp_path):
    """The same weights as a fit by hand, scored after the paper's own fit of initial states."""
    seen, fit = {}, SMORE.fit

    def spy(self, data, **options):
        seen.update(model=self)
        return fit(self, data, **options, progress=False)

    monkeypatch.setattr(SMORE, "fit", spy)
    monkeypatch.setattr(rollout_table, "seconds_per_epoch", lambda prepared, device: 1.0)
    row = row_of(tmp_path, DINO_RUN, Limits(1.0, 3))
    settings = paper_preset("wave", "dino").settings.replace(**SMALL)
    assert (settings.dynamics, settings.dynamics_hidden_dim) == ("mlp", 146)
    rest, held_out = TRAIN.leading(10).split(0.1, 0)
    by_hand = SMORE.from_settings(settings.replace(recipe="paper", epochs=3))
    fit(by_hand, rest, select_on=held_out, progress=False)
    ours, theirs = seen["model"].surrogate_, by_hand.surrogate_
    for one, other in ((ours.decoder, theirs.decoder), (ours.dynamics, theirs.dynamics)):
        assert all(map(torch.equal, one.parameters(), other.parameters()))
    scores = by_hand.evaluate(TEST, method="adam")
    assert row["full_mse"] == pytest.approx(scores.full_mse, rel=1e-6)
    assert (row["epochs"], row["paper_parameters"]) == (3, 126_928)
    # The paper counts the d·h weights of the first layer that it holds at zero.
    assert row["parameters"] == by_hand.num_parameters + 2 * 2 * NUM_MODES


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("which", ["paper", "dino"])
def test_a_training_that_diverges_is_scored_by_its_last_good_state(monkeypatch, tmp_path, which):
    fit = SMORE.fit

    def diverge(self, data, **options):
        fit(self, data, **options, progress=False)
        raise DivergenceError("diverged in epoch 2", part="loss", epoch=2)

    monkeypatch.setattr(SMORE, "fit", diverge)
    monkeypatch.setattr(rollout_table, "seconds_per_epoch", lambda prepared, device: 1.0)
    run, limits = (PAPER_RUN, Limits(epochs=2)) if which == "paper" else (DINO_RUN, Limits(1.0, 2))
    row = row_of(tmp_path, run, limits)
    assert row["status"] == "done"
    assert row["remark"].startswith("diverged in epoch 2")
    assert row["full_mse"] > 0


def invoked(*arguments):
    app = typer.Typer()
    app.add_typer(reproduce.app, name="reproduce")
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def command(*arguments):
    result = invoked(*arguments)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_the_command_writes_rows_and_figures_and_resumes(baseline, tmp_path):
    asked = ("rollout", "--dataset", "wave", "--model", "fno", "--model", "cno", "--budget", 1)
    asked += ("--results", tmp_path, "--json")
    rows = json.loads(command(*asked))
    assert [(row["dataset"], row["model"]) for row in rows] == [("wave", "fno"), ("wave", "cno")]
    assert rows[0]["full_mse"] == rows[1]["full_mse"]
    assert json.loads(command(*asked, "--seeds", 1)) == rows
    names = {path.name for path in tmp_path.iterdir() if path.suffix == ".png"}
    assert names == {"rollout_wave.png", "fields_wave.png"}


@pytest.mark.filterwarnings("ignore")
def test_a_command_that_is_told_to_stop_says_what_becomes_of_its_row(monkeypatch, tmp_path):
    asked = ("rollout", "--dataset", "wave", "--model", "smore-lrlq", "--recipe", "paper")
    asked += ("--epochs", 5, "--results", tmp_path)
    stopping(monkeypatch, 2)
    result = invoked(*asked)
    assert result.exit_code == 128 + signal.SIGTERM
    assert "the same command goes on from there" in result.stderr
    with pytest.raises(SettingsError, match="was begun by a number of --epochs"):
        command(*asked[:-4], "--budget", 1, "--results", tmp_path)
    stopping(monkeypatch, math.inf)
    result = invoked(*asked)
    assert result.exit_code == 0
    assert "going on" in result.stderr

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("smore_paper.cli._working.work_through", interrupt)
    result = invoked(*asked)
    assert (result.exit_code, "rows that are done stay" in result.stderr) == (130, True)


def test_a_row_that_fails_is_an_exit_code(baseline, monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise DataError("not a grid")

    monkeypatch.setattr(baseline, "fit", refuse)
    asked = ("rollout", "--dataset", "wave", "--model", "fno", "--budget", 1, "--results", tmp_path)
    result = invoked(*asked)
    assert (result.exit_code, "not a grid" in result.stdout) == (1, True)


def test_the_command_lists_what_there_is(tmp_path):
    with pytest.raises(SettingsError, match=r"--model takes fno, .*, opinf; got gru"):
        command("rollout", "--model", "gru", "--results", tmp_path)
    with pytest.raises(SettingsError, match="no benchmark called 'burgers'"):
        command("rollout", "--dataset", "burgers", "--results", tmp_path)


def test_the_command_says_which_fits_are_missing(tmp_path):
    with pytest.raises(SettingsError, match=r"run these first, .* giving --budget"):
        command("rollout", "--dataset", "wave", "--model", "dino", "--results", tmp_path)


def row(model, recipe, steps, status="done"):
    told = {"dataset": "wave", "model": model, "recipe": recipe, "status": status}
    return told | {"per_step_mse": steps}


def test_errors_of_each_snapshot_are_means_over_seeds():
    rows = [row("fno", "baseline", "1.0 3.0"), row("fno", "baseline", "3.0 5.0")]
    rows += [row("smore-lrlq", "fast", "0.5 inf"), row("cno", "baseline", None, "failed")]
    errors = mean_errors(rows)
    assert {which: list(steps) for which, steps in errors.items()} == {
        ("fno", "baseline"): [2.0, 4.0],
        ("smore-lrlq", "fast"): [0.5, np.inf],
    }
    (axes,) = per_snapshot_figure(errors, "wave").axes
    drawn = {line.get_label(): line.get_xydata() for line in axes.lines}
    np.testing.assert_array_equal(drawn["FNO"], [[2, 2.0], [3, 4.0]])
    np.testing.assert_array_equal(drawn["SMORE-LRLQ, fast"], [[2, 0.5], [3, np.nan]])
    assert axes.get_yscale() == "log"
    assert axes.lines[-1].get_xdata() == [10.5, 10.5]  # between the windows


def test_fields_are_drawn_on_the_scale_of_the_truth():
    x = np.linspace(0, 1, 12)
    coords = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    truth = np.sin(3 * coords[:, 0])
    fields = {
        which: Trajectories.from_arrays(
            np.stack([truth, forecast])[None, None], coords, [0.0], channels=["u", "u_forecast"]
        )
        for which, forecast in {
            ("fno", "baseline"): 100 * truth,
            ("smore-koopman", "fast"): truth + 0.25,
        }.items()
    }
    told = {which: f"{which[0]} told" for which in fields}
    figure = field_figure(fields, "wave", titles=told)
    titles = [axes.get_title() for axes in figure.axes]
    assert [title for title in titles if title] == ["truth", "fno told", "smore-koopman told"]
    upper, lower = figure.axes[:4], figure.axes[4:8]
    low, high = truth.min(), truth.max()
    assert [axes.collections[0].get_clim() for axes in upper[:3]] == [(low, high)] * 3
    top = np.log10(high - low)
    for axes in lower[1:3]:
        assert axes.collections[0].get_clim() == pytest.approx((top - 3, top), abs=1e-12)
    np.testing.assert_allclose(lower[2].collections[0].get_array(), np.log10(0.25), rtol=1e-6)


@pytest.mark.parametrize(("error", "decades"), [(1e-2, 3), (1e-5, 5.5), (1e-12, 8), (np.nan, 3)])
def test_errors_are_told_apart_down_to_those_of_the_best_model(error, decades):
    x = np.linspace(0, 1, 5)
    coords = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    truth = coords[:, 0]
    fields = {
        (model, "fast"): Trajectories.from_arrays(
            np.stack([truth, truth + each])[None, None],
            coords,
            [0.0],
            channels=["u", "u_forecast"],
            missing="mask",
        )
        for model, each in (("smore-koopman", error), ("smore-lrlq", 0.5))
    }
    panel = field_figure(fields, "wave").axes[5]
    assert panel.collections[0].get_clim() == pytest.approx((-decades, 0), abs=1e-6)


def test_nothing_is_drawn_without_results(tmp_path):
    assert draw_rollouts(tmp_path) == []


def test_models_that_are_kept_are_those_of_the_rows(tmp_path):
    run = Run("rollout", "wave", "smore-koopman", "fast", 0)
    ledger, measure = rollout_table.rollout_table(tmp_path, Limits(), tmp_path)
    (row,) = work_through(ledger, [run], measure, lambda _: None)
    kept = SMORE.load(tmp_path / f"{run.key}.smore")
    assert kept.evaluate(TEST).full_mse == pytest.approx(row["full_mse"], rel=1e-5)
