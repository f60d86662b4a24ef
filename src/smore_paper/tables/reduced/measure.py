"""The main comparison on reduced benchmarks, where every model is trained until it converges.

Everyone has the same training windows and the same validation trajectories, which are forecast at
full length and choose the weights; nobody sees test data. Neural operators end when validation
does not get better any more (`convergence`), Algorithm 1 after the paper's number of epochs; the
curves are kept. Rates are those of a method's authors, and for SMORE, whose authors state none,
what `rates` chose for LRLQ on Navier-Stokes. The fast recipe and the classical methods have nothing
to select and train on the same windows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from smore.data import Trajectories, channel_moments
from smore.evaluation import Evaluation, evaluate_fields
from smore.model import SMORE
from smore_paper.baselines.base import Baseline
from smore_paper.baselines.convergence import fit_until_converged
from smore_paper.measuring.forecast_time import (
    baseline_forecast_seconds,
    smore_forecast_seconds,
)
from smore_paper.tables.compared import BY_SMORE, CLASSICAL, HORIZON, SEEDLESS, VARIANTS
from smore_paper.tables.ledger import Ledger, Row, Run, Table
from smore_paper.tables.rates.measure import Rates, require_rates
from smore_paper.tables.reduced.sizes import (
    ReducedData,
    reduced_classical,
    reduced_data,
    reduced_operator,
    reduced_settings,
)
from smore_paper.tables.resumable_fit import resumable_fit
from smore_paper.tables.rollout.measure import mean_field

NAME = "reduced"
EPOCHS = 5000  # of Algorithm 1
SEEDS = 3
RATES_OF = ("navier-stokes", "smore-lrlq")
# An Algorithm 1 whose validation error fell by less in its last fifth has converged.
LATE_GAIN = 0.1


@dataclass(frozen=True)
class ReducedFigures:
    """What is measured of a run.

    Attributes:
        validation_mse: the lowest of the curve.
        converged: yes or no; empty where there is no curve.
        decoder_rate, dynamics_rate: of Algorithm 1.
        best_epoch: after how many epochs the weights that are scored were reached.
        seconds: of training.
        forecast_seconds: of one test sequence, all being forecast together.
        curve: epochs:error of every validation, separated by spaces.
    """

    in_horizon_mse: float | None
    extrapolation_mse: float | None
    full_mse: float | None
    validation_mse: float | None
    converged: str
    decoder_rate: float | None
    dynamics_rate: float | None
    parameters: int
    points: int
    sequences: int
    epochs: int
    best_epoch: int
    seconds: float
    forecast_seconds: float
    curve: str


COLUMNS = tuple(column.name for column in fields(ReducedFigures))


@dataclass(frozen=True, eq=False)
class _Trained:
    """A model after its training."""

    evaluation: Evaluation
    parameters: int
    epochs: int
    seconds: float
    forecast_seconds: float
    best_epoch: int | None = None
    converged: bool | None = None
    rates: Rates | None = None
    curve: Sequence[tuple[int, float]] = ()


def reduced_runs(names: Sequence[str], models: Sequence[str], num_seeds: int) -> list[Run]:
    """Every model on every benchmark, seed by seed."""
    return [
        Run(NAME, dataset, model, recipe, seed)
        for seed in range(num_seeds)
        for dataset in names
        for model, recipe in VARIANTS
        if model in models and (seed == 0 or model not in SEEDLESS)
    ]


def reduced_table(results: Path) -> Table:
    """`results/reduced.csv`."""
    ledger = Ledger(results, NAME, COLUMNS)

    def measure(run: Run) -> Row:
        data = reduced_data(run.dataset)
        checkpoints = ledger.checkpoints(run)
        if run.model in BY_SMORE:
            rates = _rates(run, results)
            trained = _smore(run, rates, data, checkpoints)
        elif run.model in CLASSICAL:
            trained = _classical(run, data)
        else:
            trained = _operator(run, data, checkpoints)
        return asdict(_figures(trained, data))

    return ledger, measure


def _rates(run: Run, results: Path) -> Rates | None:
    """Of Algorithm 1; DINo has its authors', which are also the recipe's own."""
    if run.recipe == "fast":
        return None
    if run.model == "dino":
        own = reduced_settings(run.dataset, run.model).replace(recipe="paper")
        return Rates(own.decoder_learning_rate, own.dynamics_learning_rate)
    return require_rates(results, *RATES_OF)


def _smore(run: Run, rates: Rates | None, data: ReducedData, checkpoints: Path) -> _Trained:
    fast = rates is None
    settings = reduced_settings(run.dataset, run.model).replace(seed=run.seed)
    if rates is not None:
        settings = settings.replace(recipe="paper", epochs=EPOCHS, **asdict(rates))
    model = SMORE.from_settings(settings)
    selects = None if fast else data.validation
    divergence = resumable_fit(model, data.train, select_on=selects, checkpoints=checkpoints)
    if divergence is not None:
        warnings.warn(str(divergence), RuntimeWarning, stacklevel=2)
    description = model.surrogate_.description
    record, method = description.training, "posterior" if fast else "adam"
    hidden = description.settings.hidden_dim or 0
    return _Trained(
        evaluation=model.evaluate(data.test, method=method),  # type: ignore[arg-type]
        parameters=model.num_parameters + description.coordinate_map.decoder_dim * hidden,
        epochs=record.epochs_run,
        seconds=record.seconds,
        forecast_seconds=smore_forecast_seconds(model, data.test, method),  # type: ignore[arg-type]
        best_epoch=record.selected_epoch + 1,
        converged=None if fast else has_converged(record.history),
        rates=rates,
        curve=[(epoch + 1, error) for epoch, error in record.history],
    )


def has_converged(history: Sequence[tuple[int, float]]) -> bool:
    """Whether the last fifth of a curve brought little; forecasts that overflow are no news."""
    errors = [error for _, error in history]
    before, best = _lowest(errors[: -max(1, len(errors) // 5)]), _lowest(errors)
    return best is not None and before is not None and best > (1 - LATE_GAIN) * before


def _lowest(errors: Sequence[float]) -> float | None:
    """Of those that are finite."""
    return min(filter(math.isfinite, errors), default=None)


def _classical(run: Run, data: ReducedData) -> _Trained:
    baseline = reduced_classical(run.dataset, run.model)
    baseline.fit(data.train, seed=run.seed, epochs=1, progress=True)
    return _scored(baseline, data)


def _operator(run: Run, data: ReducedData, checkpoints: Path) -> _Trained:
    operator = reduced_operator(run.dataset, run.model)
    went = fit_until_converged(
        operator, data.train, data.validation, seed=run.seed, checkpoints=checkpoints
    )
    return _scored(
        operator, data, best_epoch=went.best_epoch, converged=went.converged, curve=went.curve
    )


def _scored(baseline: Baseline, data: ReducedData, **curve: object) -> _Trained:
    evaluation = evaluate_fields(
        data.test,
        baseline.forecast(data.test, data.test.sequences[0].num_snapshots - 1),
        training_mean=mean_field(data.train),
        training_variance=channel_moments(data.train)[1] ** 2,
        horizon=HORIZON,
    )
    return _Trained(
        evaluation,
        baseline.num_parameters,
        baseline.epochs_run,
        baseline.seconds,
        baseline_forecast_seconds(baseline, data.test),
        **curve,  # type: ignore[arg-type]
    )


def _figures(trained: _Trained, data: ReducedData) -> ReducedFigures:
    errors, converged = [error for _, error in trained.curve], trained.converged
    windows = ("in_horizon_mse", "extrapolation_mse", "full_mse")
    return ReducedFigures(
        **{name: getattr(trained.evaluation, name) for name in windows},
        validation_mse=_lowest(errors),
        converged="" if converged is None else "yes" if converged else "no",
        decoder_rate=None if trained.rates is None else trained.rates.decoder_rate,
        dynamics_rate=None if trained.rates is None else trained.rates.dynamics_rate,
        parameters=trained.parameters,
        points=_points(data.train),
        sequences=len(data.train),
        epochs=trained.epochs,
        best_epoch=trained.epochs if trained.best_epoch is None else trained.best_epoch,
        seconds=float(f"{trained.seconds:.3g}"),
        forecast_seconds=float(f"{trained.forecast_seconds:.3g}"),
        curve=" ".join(f"{epoch}:{error:.4g}" for epoch, error in trained.curve),
    )


def _points(data: Trajectories) -> int:
    return data.sequences[0].mesh.num_points
