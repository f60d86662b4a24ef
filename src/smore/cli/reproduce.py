"""`smore reproduce`: the paper's tables, measured here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from smore import datasets
from smore.cli.data import load_benchmark
from smore.cli.output import Json, console, error_console, print_json, print_table
from smore.errors import SettingsError
from smore.experiments.claims import SPARSE_CLAIMS
from smore.experiments.page import write_page
from smore.experiments.recipe_bench import BEST_PRESETS
from smore.experiments.reproduction import Ledger, Measure, Row, Run, work_through
from smore.experiments.rollout_table import (
    LABELS,
    RECIPES,
    Limits,
    rollout_ledger,
    rollout_measure,
    rollout_runs,
)
from smore.experiments.sparse import VISIBLE, Level, claimed_preset, planned, sweep
from smore.experiments.stability_table import DATASETS as STABILITY_DATASETS
from smore.experiments.stability_table import (
    DEFAULT_EPOCHS,
    PAPER_EPOCHS,
    stability_ledger,
    stability_measure,
    stability_runs,
)
from smore.model import SMORE, as_trajectories
from smore.plotting import save_figure
from smore.plotting.rollout import draw_rollouts
from smore.plotting.sparse import sparse_figure
from smore.presets import preset
from smore.settings import Settings

app = typer.Typer(
    help="Measure the paper's tables here. Each command goes on where it stopped, and several "
    "processes may share one table: start the same command as often as there are cores, with "
    "`smore --threads 1`.",
    no_args_is_help=True,
)

RESULTS = Path("experiments/results")
SPARSE = "sparse"

Datasets = Annotated[
    list[str] | None, typer.Option("--dataset", help="A benchmark; may be repeated; default: all.")
]
Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds, counted from 0.")]
Results = Annotated[
    Path, typer.Option(help="Folder of tables and figures; what has a row there is not run again.")
]


@app.command("rollout")
def rollout(
    dataset: Datasets = None,
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
            min=0.0,
            help="Minutes of a training; default: the time of the SMORE fits, at least ten.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Epochs of the paper's recipe, and most that baselines get."),
    ] = None,
    results: Results = RESULTS,
    models: Annotated[
        Path | None, typer.Option(help="Folder to keep SMORE's fitted models in.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The main comparison: every model on every benchmark, errors snapshot by snapshot, fields."""
    names = _benchmarks(dataset, datasets.BENCHMARKS)
    chosen = _chosen(model, LABELS, "--model")
    limits = Limits(budget, epochs)
    runs = rollout_runs(names, chosen, _chosen(recipe, RECIPES, "--recipe"), seeds, limits)
    ledger = rollout_ledger(results)
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
    rows = work_through(ledger, runs, rollout_measure(ledger, limits, models), _say)
    drawn = draw_rollouts(results)
    if as_json:
        print_json(rows)
        return
    columns = {"model": "model", "recipe": "recipe", "seed": "seed", "full_mse": "full"}
    _print_rows(rows, columns | {"ratio": "ratio", "epochs": "epochs", "seconds": "seconds"})
    for path in drawn:
        console.print(f"figure: {path}", highlight=False)


@app.command("stability")
def stability(
    dataset: Datasets = None,
    seeds: Seeds = 1,
    epochs: Annotated[
        int, typer.Option(min=1, help=f"Epochs of each run; the paper has {PAPER_EPOCHS:,}.")
    ] = DEFAULT_EPOCHS,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """SMORE-LRLQ with its four mechanisms on and off: ten configurations over latent dimension."""
    runs = stability_runs(_benchmarks(dataset, STABILITY_DATASETS), seeds)
    rows = work_through(stability_ledger(results), runs, stability_measure(epochs), _say)
    if as_json:
        print_json(rows)
        return
    columns = {"configuration": "configuration", "latent_dim": "p", "full_mse": "full"}
    columns |= {"paper_full_mse": "paper", "first_non_finite_epoch": "non-finite"}
    _print_rows(rows, columns | {"paper_first_non_finite_epoch": "paper"})


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
    masks: Annotated[int, typer.Option(min=1, help="Random masks per fraction.")] = 3,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """Forecasts from ever fewer visible points of the first snapshot, with observability."""
    files = dict(_model_file(text) for text in model or ())
    given = [*files] if files and dataset is None else dataset
    names = _benchmarks(given, datasets.BENCHMARKS)
    sources = {name: _source(name, files.get(name)) for name in names}
    ledger = Ledger(results, SPARSE, [name for name in _LEVEL if name not in _SWEPT])
    runs = [
        Run(SPARSE, name, source.name, source.settings.recipe, source.settings.seed, swept)
        for name, source in sources.items()
        for swept in _levels()
    ]
    rows = work_through(ledger, runs, _sparse_measure(sources, masks), _say)
    for name, source in sources.items():
        here = [row for row in rows if row["dataset"] == name and row["status"] == "done"]
        if here and source.settings.latent_dim is not None:
            figure = sparse_figure([_level(row) for row in here], source.settings.latent_dim)
            save_figure(figure, results / f"{SPARSE}_{name}.png")
    if as_json:
        print_json(rows)
        return
    columns = {"visible": "visible", "placement": "points", "full_mse": "full"}
    _print_rows(rows, columns | {"paper_full_mse": "paper", "observability": "c_S"})


@app.command("page")
def page(
    results: Results = RESULTS,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path(
        "docs/reproduction.md"
    ),
) -> None:
    """Write the page that sets all tables beside the paper, and draw their figures anew."""
    draw_rollouts(results)
    write_page(results, output)
    console.print(str(output), highlight=False)


# The sparse table: a run is a level of a sweep.

_LEVEL = tuple(column.name for column in fields(Level))
_SWEPT = ("visible", "placement")


@dataclass(frozen=True, eq=False)
class _Source:
    """Where the model of a benchmark comes from.

    Args:
        name: what rows call it: the preset that the paper reports, or else the dynamics.
        settings: of the model.
        model: loads or fits it, once.
    """

    name: str
    settings: Settings
    model: Callable[[], SMORE]


def _source(dataset: str, path: Path | None) -> _Source:
    """The model in a file, or the paper's best for this benchmark, to be fitted when needed."""
    if path is not None:
        loaded = SMORE.load(path)
        settings = loaded.surrogate_.description.settings
        name = claimed_preset(dataset, settings) or settings.dynamics
        return _Source(name, settings, lambda: loaded)
    name = next(each for each in BEST_PRESETS if preset(each).dataset == dataset)

    @functools.cache
    def fitted() -> SMORE:
        return SMORE.from_preset(name).fit(datasets.load(dataset).train)

    return _Source(name, preset(name).settings, fitted)


def _model_file(text: str) -> tuple[str, Path]:
    """`wave=model.smore` -> benchmark and file."""
    name, equals, path = text.partition("=")
    if not equals or not path:
        raise SettingsError(f"--model takes DATASET=FILE, such as wave=wave.smore; got {text!r}")
    return datasets.resolve(name), Path(path)


def _levels() -> list[dict[str, Any]]:
    return [dict(zip(_SWEPT, level, strict=True)) for level in planned(VISIBLE, placed=True)]


def _sparse_measure(sources: dict[str, _Source], masks: int) -> Measure:
    def measure(run: Run) -> Row:
        levels = sweep(
            sources[run.dataset].model(),
            as_trajectories(datasets.load(run.dataset).test),
            fractions=(run.variant["visible"],),
            seeds=range(masks),
            placed=run.variant["placement"] == "placed",
            method="posterior",
            claims=SPARSE_CLAIMS.get(run.model),
        )
        *_, level = levels  # placed sensors come after random points
        told = level.to_dict() | {"full_mse_per_mask": " ".join(map(str, level.full_mse_per_mask))}
        return {name: told[name] for name in _LEVEL if name not in _SWEPT}

    return measure


def _level(row: Row) -> Level:
    """A row as the level it was."""
    per_mask = tuple(float(error) for error in str(row["full_mse_per_mask"]).split())
    return Level(**{name: row[name] for name in _LEVEL} | {"full_mse_per_mask": per_mask})


# What all commands use.


def _benchmarks(given: Sequence[str] | None, known: Collection[str]) -> list[str]:
    """The benchmarks asked for by full name, simulated before any clock starts."""
    names = _chosen(
        None if given is None else [datasets.resolve(name) for name in given], known, "--dataset"
    )
    for name in names:
        load_benchmark(name)
    return names


def _chosen(given: Sequence[str] | None, known: Collection[str], option: str) -> list[str]:
    """What was asked for, or everything."""
    unknown = [name for name in given or () if name not in known]
    if unknown:
        raise SettingsError(f"{option} takes {', '.join(known)}; got {', '.join(unknown)}")
    return list(dict.fromkeys(given or known))


def _say(text: str) -> None:
    """On standard error, where progress belongs."""
    error_console.print(text, highlight=False, markup=False, soft_wrap=True)


def _print_rows(rows: Sequence[Row], columns: Mapping[str, str]) -> None:
    """A table for each benchmark, by column of the file and heading; then what failed, and why."""
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = [row for row in rows if row["dataset"] == dataset]
        values = [[row[name] for name in columns] for row in here]
        print_table(dataset, list(columns.values()), values)
    for row in rows:
        if row["status"] == "failed":
            console.print(f"failed: {row['key']}: {row['remark']}", highlight=False, markup=False)
