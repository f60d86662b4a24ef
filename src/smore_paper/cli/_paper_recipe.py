"""`smore reproduce rates` and `algorithm1`: the paper's own recipe, to its end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from smore.cli.output import Json
from smore_paper import datasets
from smore_paper.cli._working import (
    RESULTS,
    Datasets,
    Results,
    Seeds,
    among,
    chosen_benchmarks,
    do_runs,
    show_rows,
)
from smore_paper.tables.algorithm1.measure import (
    EPOCHS,
    PROTOCOLS,
    algorithm1_runs,
    algorithm1_table,
)
from smore_paper.tables.rates.measure import EPOCHS as SCREENED_EPOCHS
from smore_paper.tables.rates.measure import MODELS, first_runs, further_runs, rates_table
from smore_paper.tables.rates.measure import SEEDS as SCREENED_SEEDS
from smore_paper.tables.selection import Selection

Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="smore-lrlq or smore-koopman; may be repeated; default: both."),
]


def rates(
    dataset: Datasets = None,
    model: Models = None,
    seeds: Seeds = SCREENED_SEEDS,
    epochs: Annotated[int, typer.Option(min=100, help="Epochs of each run.")] = SCREENED_EPOCHS,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """Learning rates of the paper's recipe, screened on training data: no test data are read.

    All pairs by the first seed; those that are not ruled out by it by the others.
    """
    names = chosen_benchmarks(dataset, datasets.BENCHMARKS)
    chosen = among(model, _SCREENED, "--model")
    table, first = rates_table(results, epochs), first_runs(names, chosen)
    rows = do_runs(table, first)
    rows += do_runs(table, further_runs(rows, first, seeds))
    columns = {"model": "model", "seed": "seed", "decoder_rate": "decoder"}
    columns |= {"dynamics_rate": "dynamics", "training_mse": "training error"}
    show_rows(rows, columns | {"seconds": "seconds"}, [], as_json)


def algorithm1(
    dataset: Datasets = None,
    model: Models = None,
    selection: Annotated[
        list[str] | None,
        typer.Option(
            help="What chooses the epoch: test (the paper's) or held-out (training trajectories "
            "that are held out); may be repeated; default: both."
        ),
    ] = None,
    seeds: Seeds = 3,
    epochs: Annotated[int, typer.Option(min=100, help="Epochs of each run.")] = EPOCHS,
    models: Annotated[Path | None, typer.Option(help="Folder to keep the models in.")] = None,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """The paper's recipe with the rates that `rates` chose, as many epochs as in the paper.

    Navier-Stokes LRLQ by every seed, other models by the first; held-out selection by the first.
    """
    names = chosen_benchmarks(dataset, datasets.BENCHMARKS)
    chosen = among(model, _SCREENED, "--model")
    protocols: list[Selection] = among(selection, PROTOCOLS, "--selection")  # type: ignore[assignment]
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
    runs = algorithm1_runs(names, chosen, protocols, seeds)
    rows = do_runs(algorithm1_table(results, epochs, models), runs)
    columns = {"model": "model", "seed": "seed", "selection": "selected on"}
    columns |= {"full_mse": "full", "ratio": "ratio", "last_full_mse": "last state"}
    show_rows(rows, columns | {"epochs_run": "epochs", "seconds": "seconds"}, [], as_json)


_SCREENED = tuple(dict.fromkeys(name for _, name in MODELS))
