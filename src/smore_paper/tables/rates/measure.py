"""Learning rates of Algorithm 1, which the paper does not state, screened on training data alone.

A quarter of the training sequences in minibatches of a quarter, so that an epoch has as many
minibatches, and with them the loss the scale, that it has on all of them. What is compared is the
error of forecasts of training sequences over the training window, in the data's units: losses of
latents cannot be, as every decoder has a scale of its own. No test data are read.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path

from smore.data import Trajectories
from smore.errors import SettingsError
from smore.model import SMORE
from smore.settings import Settings
from smore_paper import datasets
from smore_paper.tables.compared import HORIZON, paper_preset
from smore_paper.tables.ledger import Ledger, Row, Run, Table, read_rows
from smore_paper.tables.resumable_fit import resumable_fit

NAME = "rates"
PORTION = 4  # of the training sequences, one in so many
FORECAST = 32  # training sequences that are forecast, at most
# From epoch 687 on training is a plain rollout (0.99 · 0.99^epoch < 1e-3).
EPOCHS = 1000
GRID = (1e-3, 3e-3, 1e-2)
SEEDS = 3
# Further seeds are for pairs whose error with the first is at most so many times the lowest.
RULED_OUT = 2.0
# The models of the paper's recipe that are trained anew, those that tell most first.
MODELS = (
    ("navier-stokes", "smore-lrlq"),
    ("wave", "smore-lrlq"),
    ("navier-stokes", "smore-koopman"),
    ("shallow-water", "smore-koopman"),
    ("wave", "smore-koopman"),
)


@dataclass(frozen=True)
class Rates:
    """Of decoder and dynamics; that of the latents is DINo's."""

    decoder_rate: float
    dynamics_rate: float


@dataclass(frozen=True)
class RatesFigures:
    """What is measured of a run.

    Attributes:
        training_mse: of forecasts of training sequences after the last epoch; inf if the training
            turned non-finite.
        curve: the same after every hundred epochs, separated by spaces.
    """

    sequences: int
    batch_size: int
    epochs: int
    epochs_run: int
    training_mse: float
    curve: str
    seconds: float


COLUMNS = tuple(column.name for column in fields(RatesFigures))


def first_runs(names: Sequence[str], models: Sequence[str]) -> list[Run]:
    """Every pair of rates of the grid, by the first seed."""
    return [
        _run(dataset, model, 0, Rates(*pair))
        for dataset, model in MODELS
        if dataset in names and model in models
        for pair in product(GRID, GRID)
    ]


def further_runs(rows: Sequence[Row], first: Sequence[Run], num_seeds: int) -> list[Run]:
    """The pairs that the first seed does not rule out, by the other seeds."""
    errors = {row["key"]: row["training_mse"] for row in rows if row["status"] == "done"}
    lowest: dict[tuple[str, str], float] = {}
    for run in first:
        which = (run.dataset, run.model)
        lowest[which] = min(lowest.get(which, math.inf), errors.get(run.key, math.inf))
    return [
        _run(run.dataset, run.model, seed, Rates(**run.variant))
        for seed in range(1, num_seeds)
        for run in first
        if errors.get(run.key, math.inf) <= RULED_OUT * lowest[run.dataset, run.model]
    ]


def _run(dataset: str, model: str, seed: int, rates: Rates) -> Run:
    return Run(NAME, dataset, model, "paper", seed, asdict(rates))


def rates_table(results: Path, epochs: int) -> Table:
    """`results/rates.csv`."""
    ledger = Ledger(results, NAME, COLUMNS)

    def measure(run: Run) -> Row:
        train = Trajectories.from_xarray(datasets.load(run.dataset).train).leading(HORIZON)
        return asdict(screened(run, train, epochs, ledger.checkpoints(run)))

    return ledger, measure


def screened(run: Run, train: Trajectories, epochs: int, checkpoints: Path | None) -> RatesFigures:
    """Train on a part of `train` and forecast some of it."""
    part = train.select(range(max(1, len(train) // PORTION)))
    settings = screening_settings(run, epochs)
    model = SMORE.from_settings(settings)
    seen = part.select(range(min(FORECAST, len(part))))
    divergence = resumable_fit(model, part, select_on=seen, checkpoints=checkpoints)
    record = model.surrogate_.description.training
    errors = [error for _, error in record.history]
    return RatesFigures(
        sequences=len(part),
        batch_size=settings.batch_size,
        epochs=epochs,
        epochs_run=record.epochs_run,
        training_mse=errors[-1] if divergence is None else math.inf,
        curve=" ".join(f"{error:.4g}" for error in errors),
        seconds=round(record.seconds, 1),
    )


def screening_settings(run: Run, epochs: int) -> Settings:
    """The paper's model with the rates of `run`."""
    settings = paper_preset(run.dataset, run.model).settings
    return settings.replace(
        recipe="paper",
        seed=run.seed,
        epochs=epochs,
        batch_size=max(1, settings.batch_size // PORTION),
        **run.variant,
    )


def chosen_rates(rows: Sequence[Row], dataset: str, model: str) -> Rates | None:
    """The pair with the lowest median error over seeds; None before its screening is done.

    Of pairs that the first seed does not rule out, which must have been tried with as many seeds.
    """
    errors: dict[Rates, dict[int, float]] = {}
    for row in rows:
        if (row["dataset"], row["model"]) == (dataset, model) and row["status"] == "done":
            pair = Rates(row["decoder_rate"], row["dynamics_rate"])
            errors.setdefault(pair, {})[row["seed"]] = row["training_mse"]
    first = {pair: found.get(0, math.inf) for pair, found in errors.items()}
    left = [pair for pair in first if first[pair] <= RULED_OUT * min(first.values())]
    if len({len(errors[pair]) for pair in left}) != 1:
        return None
    return min(left, key=lambda pair: statistics.median(errors[pair].values()))


def require_rates(results: Path, dataset: str, model: str) -> Rates:
    """What `results/rates.csv` chose.

    Raises:
        SettingsError: nothing was screened.
    """
    path = results / f"{NAME}.csv"
    rates = chosen_rates(read_rows(path), dataset, model)
    if rates is None:
        raise SettingsError(
            f"no rates of {model} on {dataset} in {path}, or not by all seeds; run `smore "
            "reproduce rates` first"
        )
    return rates
