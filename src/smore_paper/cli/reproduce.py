"""`smore reproduce`: the paper's tables, measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from smore.cli.output import Json, console, say
from smore.errors import SettingsError
from smore.inference import FitMethod
from smore.plotting import save_figure
from smore_paper import datasets
from smore_paper.cli import _paper_recipe, _reduced, _stability
from smore_paper.cli._working import (
    RESULTS,
    Datasets,
    Results,
    Seeds,
    among,
    chosen_benchmarks,
    do_runs,
    show_rows,
    simulate,
)
from smore_paper.cli.capacity import (
    MODELS,
    Bound,
    Grids,
    Memory,
    Models,
    Scratch,
    Sequences,
    cases_of,
)
from smore_paper.fast_products import use_fast_products
from smore_paper.page.whole import write_page
from smore_paper.tables.capacity.draw import draw_capacity
from smore_paper.tables.capacity.measure import (
    DEFAULT_BOUND,
    DEFAULT_MEMORY,
    capacity_runs,
    capacity_table,
)
from smore_paper.tables.compared import LABELS, RECIPES, Recipe
from smore_paper.tables.cost.page import draw_cost
from smore_paper.tables.ledger import Row
from smore_paper.tables.pointwise.measure import DATASET as POINTWISE_DATASET
from smore_paper.tables.pointwise.measure import DEFAULT_EPOCHS as POINTWISE_EPOCHS
from smore_paper.tables.pointwise.measure import PAPER_EPOCHS as POINTWISE_PAPER_EPOCHS
from smore_paper.tables.pointwise.measure import (
    pointwise_runs,
    pointwise_table,
)
from smore_paper.tables.reduced.draw import draw_reduced
from smore_paper.tables.rollout.draw import draw_rollouts
from smore_paper.tables.rollout.measure import Limits, rollout_runs, rollout_table
from smore_paper.tables.selection import Selection
from smore_paper.tables.sparse.draw import sparse_figure
from smore_paper.tables.sparse.draw_fields import draw_sparse_fields
from smore_paper.tables.sparse.measure import (
    METHOD,
    Source,
    level_of,
    model_source,
    sparse_runs,
    sparse_table,
    which,
)
from smore_paper.tables.stability.draw import draw_stability

app = typer.Typer(
    help="Measure the paper's tables here. Rows that are done stay, and the same command goes on "
    "with the others; a training of SMORE by epochs goes on from its checkpoint, others begin "
    "again. Several processes may share one table: start the same command as often as there are "
    "cores, with `smore --threads 1`.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def _begin() -> None:
    use_fast_products()


app.command("rates")(_paper_recipe.rates)
app.command("algorithm1")(_paper_recipe.algorithm1)
app.command("reduced")(_reduced.reduced)
app.command("cost")(_reduced.cost)
app.command("stability")(_stability.stability)


@app.command("rollout")
def rollout(
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            help="A benchmark, or the data of the paper's text, such as wave-literal; may be "
            "repeated; default: the three benchmarks."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help=f"Some of {', '.join(LABELS)}; may be repeated; default: all."),
    ] = None,
    recipe: Annotated[
        list[str] | None, typer.Option(help="Of SMORE: fast or paper; default: both.")
    ] = None,
    seeds: Seeds = 1,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            help="Minutes of a training; default: the time of the SMORE fits by the fast recipe, "
            "whose rows come first, and at least ten.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Epochs of the paper's recipe, and most that baselines get."),
    ] = None,
    selection: Annotated[
        Selection | None,
        typer.Option(
            help="What chooses the weights of SMORE by the paper's recipe, DINo, FNO, CNO and "
            "Transolver: the error on the test set, the error on training trajectories that are "
            "held out, or nothing; default: the habit of each (test, held-out, and last for the "
            "other three)."
        ),
    ] = None,
    results: Results = RESULTS,
    models: Annotated[
        Path | None, typer.Option(help="Folder to keep SMORE's fitted models in.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The main comparison: every model on every benchmark, errors snapshot by snapshot, fields."""
    names = chosen_benchmarks(dataset or [*datasets.BENCHMARKS], datasets.CATALOGUE)
    chosen = among(model, LABELS, "--model")
    limits = Limits(budget, epochs)
    recipes = among(recipe, RECIPES, "--recipe")
    runs = rollout_runs(names, chosen, recipes, seeds, limits, selection)
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
    rows = do_runs(rollout_table(results, limits, models), runs)
    columns = {"model": "model", "recipe": "recipe", "seed": "seed", "full_mse": "full"}
    columns |= {"ratio": "ratio", "epochs": "epochs", "seconds": "seconds"}
    columns |= {"selection": "selected on"}
    show_rows(rows, columns, draw_rollouts(results), as_json)


@app.command("sparse")
def sparse(
    dataset: Datasets = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATASET=FILE",
            help="A fitted model of a benchmark; may be repeated; default: fit the paper's best.",
        ),
    ] = None,
    recipe: Annotated[
        Recipe | None,
        typer.Option(
            help="Of the models: fast, or paper (Algorithm 1, selected on the test set); default: "
            "that of the files, else fast."
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Epochs of the paper's recipe where it is fitted here."),
    ] = None,
    method: Annotated[
        FitMethod, typer.Option(help="How initial states are inferred; the paper's is adam.")
    ] = METHOD,
    masks: Annotated[int, typer.Option(min=1, help="Random masks per fraction.")] = 3,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """Forecasts from ever fewer visible points of the first snapshot, with observability.

    The paper's way is `--recipe paper --method adam`. Such a fit takes long and has no checkpoint
    here: `smore reproduce rollout --recipe paper --models FOLDER` has, and --model takes its files.
    """
    if epochs is not None and recipe != "paper":
        raise SettingsError("--epochs belongs to --recipe paper; the fast recipe has none")
    files = dict(_model_file(text) for text in model or ())
    given = [*files] if files and dataset is None else dataset
    names = chosen_benchmarks(given, datasets.BENCHMARKS)
    sources = {name: model_source(name, files.get(name), recipe, epochs) for name in names}
    table = sparse_table(results, sources, masks, method)
    rows = do_runs(table, sparse_runs(sources, method))
    drawn = [*_draw_sweeps(results, rows, sources, method), *draw_sparse_fields(results)]
    columns = {"recipe": "recipe", "method": "method", "visible": "visible"}
    columns |= {"placement": "points", "full_mse": "full"}
    show_rows(rows, columns | {"paper_full_mse": "paper", "observability": "c_S"}, drawn, as_json)


@app.command("pointwise")
def pointwise(
    seeds: Seeds = 1,
    epochs: Annotated[
        int,
        typer.Option(min=1, help=f"Epochs of each run; the paper has {POINTWISE_PAPER_EPOCHS:,}."),
    ] = POINTWISE_EPOCHS,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """Memory, time and error of SMORE-LRLQ on Navier-Stokes, with and without chunks of points."""
    simulate([POINTWISE_DATASET])  # before any clock starts
    rows = do_runs(pointwise_table(results, epochs), pointwise_runs(seeds))
    columns = {"chunk_size": "points at once", "memory_megabytes": "MB"}
    columns |= {"paper_memory_megabytes": "paper", "seconds": "seconds", "paper_seconds": "paper"}
    columns |= {"full_mse": "full", "paper_full_mse": "paper", "epochs": "epochs"}
    show_rows(rows, columns, [], as_json)


@app.command("capacity")
def capacity(
    grid: Grids = None,
    sequences: Sequences = None,
    memory: Memory = DEFAULT_MEMORY,
    model: Models = None,
    bound: Bound = DEFAULT_BOUND,
    scratch: Scratch = None,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """The largest square grids: SMORE streamed from disk, and baselines in bounded memory."""
    chosen = among(model, MODELS, "--model")
    runs = capacity_runs(chosen, cases_of(grid, sequences), memory, bound)
    rows = do_runs(capacity_table(results, scratch, say), runs)
    columns = {"model": "model", "grid": "grid", "paper_grid": "paper", "peak_megabytes": "MB"}
    columns |= {"bound_megabytes": "bound", "within_bound": "held"}
    columns |= {"seconds_per_epoch": "s per epoch"}
    show_rows(rows, columns, draw_capacity(results), as_json)


_FIGURES = (
    draw_rollouts,
    draw_reduced,
    draw_cost,
    draw_stability,
    draw_sparse_fields,
    draw_capacity,
)


@app.command("page")
def page(
    results: Results = RESULTS,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path(
        "docs/reproduction.md"
    ),
) -> None:
    """Write the page that sets all tables beside the paper, and draw their figures anew."""
    for draw in _FIGURES:
        draw(results)
    write_page(results, output)
    console.print(str(output))


def _draw_sweeps(
    results: Path, rows: Sequence[Row], sources: Mapping[str, Source], method: FitMethod
) -> list[Path]:
    """Draw the sweep of every benchmark that has rows; the figures' files."""
    drawn = []
    for name, source in sources.items():
        here = [row for row in rows if row["dataset"] == name and row["status"] == "done"]
        if here and source.settings.latent_dim is not None:
            levels = [level_of(row) for row in here]
            file = which(name, source.settings.recipe, method)
            heading = source.name + file.removeprefix(name).replace("_", ", ")
            figure = sparse_figure(levels, source.settings.latent_dim, heading)
            drawn.append(results / f"sparse_{file}.png")
            save_figure(figure, drawn[-1])
    return drawn


def _model_file(text: str) -> tuple[str, Path]:
    """`wave=model.smore` -> benchmark and file."""
    name, equals, path = text.partition("=")
    if not equals or not path:
        raise SettingsError(f"--model takes DATASET=FILE, such as wave=wave.smore; got {text!r}")
    return datasets.resolve(name), Path(path)
