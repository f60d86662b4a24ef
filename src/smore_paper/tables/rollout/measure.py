"""The main comparison: every model on every benchmark, beside the paper's errors.

What is fair on two cores: a baseline gets at least the wall-clock time of the SMORE fits that it
is compared with, those of the fast recipe on the same data, and at least ten minutes. Time, epochs
and device stand in every row, and what chose the weights that are scored. By habit only the paper's
recipe sees the test set, because that is the paper's protocol; see `selection`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smore.data import Trajectories, channel_moments
from smore.errors import SettingsError
from smore.evaluation import Evaluation, evaluate_fields
from smore.inference import FitMethod
from smore.model import SMORE
from smore.runtime import resolve_device
from smore.settings import Settings
from smore.training import checkpoint_files, prepare
from smore_paper.baselines.base import Baseline
from smore_paper.measuring.one_epoch import seconds_per_epoch
from smore_paper.tables.compared import (
    BASELINE,
    BY_SMORE,
    CLASSICAL,
    HORIZON,
    SEEDLESS,
    SMORE_MODELS,
    VARIANTS,
    make_baseline,
    paper_claim,
    paper_parameters,
    paper_preset,
    supervising_and_test,
)
from smore_paper.tables.kept_snapshot import (
    fields_beside_truth,
    forecast_snapshot,
    snapshot_index,
)
from smore_paper.tables.ledger import Ledger, Row, Run, Table
from smore_paper.tables.resumable_fit import resumable_fit
from smore_paper.tables.selection import SELECTED_ON, Selection, divided, habit

NAME = "rollout"
LEAST_MINUTES = 10.0
# What chose the rest, of models that have no weights of several epochs to choose from.
ONE_STATE = {
    "fast": "training data",
    "pod-dmd": "nothing to select",
    "opinf": "held-out training trajectories (ridge)",
}


@dataclass(frozen=True)
class Limits:
    """What the user allows.

    Args:
        minutes: wall-clock time of a training in place of the rule above.
        epochs: most passes over the data; without `minutes`, what the paper's recipe runs.
    """

    minutes: float | None = None
    epochs: int | None = None


@dataclass(frozen=True)
class Figures:
    """What is measured of a run.

    Attributes:
        per_step_mse: of every step, separated by spaces.
        ratio: full_mse over the paper's; None, as all of the paper's, for methods it does not have.
        parameters: as the paper counts them.
        budget_minutes: time that training was allowed, None if it was not limited.
        epochs: passes over the data that were completed, decoder steps of the fast recipe.
        seconds: wall-clock time of the training.
        selection: what chose the weights that are scored.
    """

    in_horizon_mse: float | None
    extrapolation_mse: float | None
    full_mse: float | None
    per_step_mse: str
    paper_in_horizon_mse: float | None
    paper_extrapolation_mse: float | None
    paper_full_mse: float | None
    ratio: float | None
    parameters: int
    paper_parameters: int | None
    budget_minutes: float | None
    epochs: int
    seconds: float
    device: str
    selection: str


COLUMNS = tuple(column.name for column in fields(Figures))


@dataclass(frozen=True, eq=False)
class Trained:
    """A model after its training, on test data.

    Args:
        evaluation: its scores.
        snapshot: (channels, points) its forecast of the snapshot that is kept.
        parameters: as the paper counts them.
    """

    evaluation: Evaluation
    snapshot: NDArray[np.floating]
    parameters: int
    epochs: int
    seconds: float
    device: str


def rollout_runs(
    names: Sequence[str],
    models: Sequence[str],
    recipes: Sequence[str],
    num_seeds: int,
    limits: Limits,
    selection: Selection | None = None,
) -> list[Run]:
    """All runs, one seed after the other; those whose time depends on others come after them.

    Args:
        names: benchmarks.
        models: keys of LABELS.
        recipes: of SMORE.
        num_seeds: seeds are counted from 0.
        limits: what the user allows.
        selection: one protocol for all that have weights to choose from; by default their habits.
    """
    runs = [
        Run(NAME, name, model, recipe, seed, _variant(model, recipe, selection))
        for seed in range(num_seeds)
        for name in names
        for model, recipe in VARIANTS
        if model in models
        and (recipe == BASELINE or recipe in recipes)
        and (seed == 0 or model not in SEEDLESS)
    ]
    return [
        replace(run, after=compared_with(run)) if is_timed(run, limits) else run for run in runs
    ]


def _variant(model: str, recipe: str, selection: Selection | None) -> dict[str, Selection]:
    """A protocol, where it is not what the model does anyway: such rows are the same."""
    own = habit(model, recipe)
    if selection is None or own in (None, selection):
        return {}
    return {"selection": selection}


def is_timed(run: Run, limits: Limits) -> bool:
    """Whether `run` gets the time of the fits that it is compared with."""
    if run.recipe == "fast" or run.model in CLASSICAL or limits.minutes is not None:
        return False
    return run.recipe != "paper" or limits.epochs is None


def compared_with(run: Run) -> tuple[str, ...]:
    """Keys of the SMORE fits by the fast recipe, of the same data and seed."""
    return tuple(Run(NAME, run.dataset, model, "fast", run.seed).key for model in SMORE_MODELS)


def rollout_table(results: Path, limits: Limits, models: Path | None = None) -> Table:
    """`results/rollout.csv`; the forecast of one snapshot is kept beside its rows.

    Args:
        models: folder to keep SMORE's models in, each as `KEY.smore`.
    """
    ledger = Ledger(results, NAME, COLUMNS)

    def measure(run: Run) -> Row:
        minutes = budget_minutes(run, ledger.rows(), limits)
        train, test = supervising_and_test(run.dataset)
        allowed = Limits(minutes, limits.epochs)
        if run.model in BY_SMORE:
            checkpoints = ledger.checkpoints(run)
            if minutes is not None:
                _require_none(checkpoints, run)
            by_epochs = checkpoints if minutes is None else None
            trained = _smore(run, train, test, allowed, models, by_epochs)
        else:
            trained = _baseline(run, train, test, allowed)
        if run.seed == 0 and not run.variant:  # figures show models by their habits
            path = fields_path(results, run.dataset, run.model, run.recipe)
            fields_beside_truth(test, trained.snapshot).save(path)
        return asdict(_figures(run, trained, minutes))

    return ledger, measure


def _require_none(checkpoints: Path, run: Run) -> None:
    """Refuse to throw away what an attempt that was limited by epochs has reached."""
    if checkpoint_files(checkpoints):
        raise SettingsError(
            f"{run.key} was begun by a number of --epochs, and its checkpoint is in {checkpoints}; "
            "give that number to go on, or remove the folder to limit the training by time"
        )


def budget_minutes(run: Run, rows: Sequence[Row], limits: Limits) -> float | None:
    """Minutes that `run` may train for; None where it takes what it takes."""
    if is_timed(run, limits):
        compared = [row for row in rows if row["key"] in compared_with(run)]
        # A fit that failed took its time, too.
        longest = max(row["seconds"] or row["run_seconds"] for row in compared)
        return max(LEAST_MINUTES, longest / 60)
    return None if run.recipe == "fast" or run.model in CLASSICAL else limits.minutes


def _smore(
    run: Run,
    train: Trajectories,
    test: Trajectories,
    limits: Limits,
    models: Path | None,
    checkpoints: Path | None,
) -> Trained:
    """SMORE or DINo in the paper's size; one that diverges is scored by its last good state."""
    recipe = "fast" if run.recipe == "fast" else "paper"
    settings = paper_preset(run.dataset, run.model).settings.replace(recipe=recipe, seed=run.seed)
    train, selects = _divided(run, train, test)
    if recipe == "paper":
        if selects is None:
            settings = settings.replace(validation_fraction=0.0)
        settings = settings.replace(epochs=_epochs(settings, train, selects, limits))
    model = SMORE.from_settings(settings)
    divergence = resumable_fit(model, train, select_on=selects, checkpoints=checkpoints)
    if divergence is not None:
        warnings.warn(str(divergence), RuntimeWarning, stacklevel=2)
    if models is not None and run.model in SMORE_MODELS:
        model.save(models / f"{run.key}.smore")
    method: FitMethod = "adam" if recipe == "paper" else "posterior"
    description = model.surrogate_.description
    assert description.settings.hidden_dim is not None
    fixed_at_zero = description.coordinate_map.decoder_dim * description.settings.hidden_dim
    return Trained(
        evaluation=model.evaluate(test, method=method),
        snapshot=forecast_snapshot(model, model.surrogate_.aligned(test), method),
        parameters=model.num_parameters + fixed_at_zero,
        epochs=description.training.epochs_run,
        seconds=description.training.seconds,
        device=str(next(model.surrogate_.decoder.parameters()).device),
    )


def selection_of(run: Run) -> Selection | None:
    """The protocol of a run, given or by habit; None if there is nothing to choose."""
    return run.variant.get("selection", habit(run.model, run.recipe))


def _divided(
    run: Run, train: Trajectories, test: Trajectories
) -> tuple[Trajectories, Trajectories | None]:
    """What `run` trains on, and what selects its weights."""
    selection = selection_of(run)
    return (train, None) if selection is None else divided(selection, train, test, run.seed)


def _epochs(
    settings: Settings, train: Trajectories, selects: Trajectories | None, limits: Limits
) -> int:
    """Epochs of Algorithm 1: at most the paper's, those asked for and those there is time for."""
    most = settings.epochs if limits.epochs is None else limits.epochs
    if limits.minutes is None:
        return most
    started = time.monotonic()
    device = resolve_device(settings.device)
    each = seconds_per_epoch(prepare(train, selects, settings, device), device)
    left = 60 * limits.minutes - (time.monotonic() - started)
    return min(most, max(1, int(left / each)))


def _baseline(run: Run, train: Trajectories, test: Trajectories, limits: Limits) -> Trained:
    baseline = make_baseline(run.dataset, run.model)
    seconds = None if limits.minutes is None else 60 * limits.minutes
    epochs = 1 if run.model in CLASSICAL else limits.epochs
    given, selects = _divided(run, train, test)
    baseline.fit(
        given, seed=run.seed, seconds=seconds, epochs=epochs, select_on=selects, progress=True
    )
    evaluation, forecast = evaluate_baseline(baseline, train, test)
    return Trained(
        evaluation,
        forecast[0, snapshot_index(test) - 1],
        baseline.num_parameters,
        baseline.epochs_run,
        baseline.seconds,
        baseline.device,
    )


def evaluate_baseline(
    baseline: Baseline, train: Trajectories, test: Trajectories
) -> tuple[Evaluation, NDArray[np.float32]]:
    """Scores of forecasts from first snapshots, and the forecasts."""
    num_steps = max(sequence.num_snapshots for sequence in test) - 1
    forecast = baseline.forecast(test, num_steps)
    evaluation = evaluate_fields(
        test,
        forecast,
        training_mean=mean_field(train),
        training_variance=channel_moments(train)[1] ** 2,
        horizon=HORIZON,
    )
    return evaluation, forecast


def _figures(run: Run, trained: Trained, minutes: float | None) -> Figures:
    evaluation, claim = trained.evaluation, paper_claim(run.dataset, run.model)
    full, claimed = evaluation.full_mse, None if claim is None else claim.full_mse
    windows = ("in_horizon_mse", "extrapolation_mse", "full_mse")
    return Figures(
        **{window: getattr(evaluation, window) for window in windows},
        **{f"paper_{window}": getattr(claim, window, None) for window in windows},
        per_step_mse=" ".join(map(str, evaluation.per_step_mse)),
        ratio=None if full is None or claimed is None else full / claimed,
        parameters=trained.parameters,
        paper_parameters=paper_parameters(run.dataset, run.model),
        budget_minutes=None if minutes is None else round(minutes, 2),
        epochs=trained.epochs,
        seconds=round(trained.seconds, 1),
        device=trained.device,
        selection=_selected_on(run),
    )


def _selected_on(run: Run) -> str:
    """What chose the weights that are scored, in words."""
    selection = selection_of(run)
    if selection is not None:
        return SELECTED_ON[selection]
    return ONE_STATE[run.model if run.recipe == BASELINE else run.recipe]


def mean_field(train: Trajectories) -> NDArray[np.float64]:
    """(channels, points) mean of all snapshots."""
    total = sum(sequence.fields.sum(0, dtype=np.float64) for sequence in train)
    mean: NDArray[np.float64] = total / sum(sequence.num_snapshots for sequence in train)
    return mean


def fields_path(results: Path, dataset: str, model: str, recipe: str) -> Path:
    """Where the forecast of one snapshot is kept."""
    name = model if recipe == BASELINE else f"{model}-{recipe}"
    return results / f"fields_{dataset}_{name}.nc"
