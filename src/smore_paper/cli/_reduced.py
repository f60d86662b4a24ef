"""`smore reproduce reduced` and `cost`: small benchmarks on which all converge; what they cost."""

from __future__ import annotations

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
from smore_paper.tables.compared import LABELS
from smore_paper.tables.cost.measure import cost_runs, cost_table
from smore_paper.tables.cost.page import draw_cost
from smore_paper.tables.reduced.draw import draw_reduced
from smore_paper.tables.reduced.measure import SEEDS, reduced_runs, reduced_table

Models = Annotated[
    list[str] | None,
    typer.Option("--model", help=f"Some of {', '.join(LABELS)}; may be repeated; default: all."),
]


def reduced(
    dataset: Datasets = None,
    model: Models = None,
    seeds: Seeds = SEEDS,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """Every model on benchmarks of 16 x 16 points, each trained until it converges."""
    names = chosen_benchmarks(dataset, datasets.BENCHMARKS)
    runs = reduced_runs(names, among(model, LABELS, "--model"), seeds)
    rows = do_runs(reduced_table(results), runs)
    columns = {"model": "model", "recipe": "recipe", "seed": "seed", "full_mse": "full"}
    columns |= {"converged": "converged", "epochs": "epochs", "seconds": "training, s"}
    columns |= {"forecast_seconds": "forecast, s"}
    show_rows(rows, columns, draw_reduced(results), as_json)


def cost(
    dataset: Datasets = None,
    model: Models = None,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """How long forecasts take at full size; drawn with the errors and times of `rollout`."""
    names = chosen_benchmarks(dataset, datasets.BENCHMARKS)
    rows = do_runs(cost_table(results), cost_runs(names, among(model, LABELS, "--model")))
    columns = {"model": "model", "recipe": "recipe", "forecast_seconds": "forecast, s"}
    show_rows(rows, columns, draw_cost(results), as_json)
