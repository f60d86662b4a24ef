"""What the commands of `smore reproduce` share: options, and how runs are done and shown."""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from smore.cli.output import console, print_json, print_table, say
from smore.errors import InterruptedTrainingError, SettingsError
from smore_paper import datasets
from smore_paper.cli.generate import load_benchmark
from smore_paper.tables.ledger import Row, Run, Table, work_through

RESULTS = Path("experiments/results")

Datasets = Annotated[
    list[str] | None, typer.Option("--dataset", help="A benchmark; may be repeated; default: all.")
]
Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds, counted from 0.")]
Results = Annotated[
    Path, typer.Option(help="Folder of tables and figures; what has a row there is not run again.")
]


def chosen_benchmarks(given: Sequence[str] | None, known: Collection[str]) -> list[str]:
    """The benchmarks asked for by full name, simulated before any clock starts."""
    names = full_names(given, known)
    simulate(names)
    return names


def full_names(given: Sequence[str] | None, known: Collection[str]) -> list[str]:
    """The benchmarks asked for by full name."""
    full = None if given is None else [datasets.resolve(name) for name in given]
    return among(full, known, "--dataset")


def simulate(names: Sequence[str]) -> None:
    """Have the benchmarks in the cache."""
    for name in names:
        load_benchmark(name)


def among(given: Sequence[str] | None, known: Collection[str], option: str) -> list[str]:
    """What was asked for, or everything."""
    unknown = [name for name in given or () if name not in known]
    if unknown:
        raise SettingsError(f"{option} takes {', '.join(known)}; got {', '.join(unknown)}")
    return list(dict.fromkeys(given or known))


def do_runs(table: Table, runs: Sequence[Run]) -> list[Row]:
    """The rows of `runs`; when told to stop, say what becomes of the one that is not done."""
    try:
        ledger, measure = table
        return work_through(ledger, runs, measure, say)
    except InterruptedTrainingError as stopped:
        say("stopped, with a checkpoint: the same command goes on from there")
        raise typer.Exit(128 + stopped.signal) from None
    except KeyboardInterrupt:
        say("stopped: rows that are done stay; this one goes on from its checkpoint if it has one")
        raise typer.Exit(128 + signal.SIGINT) from None


def show_rows(
    rows: Sequence[Row], columns: Mapping[str, str], figures: Sequence[Path], as_json: bool
) -> None:
    """Print rows and files; exit code 1 if a row failed."""
    if as_json:
        print_json(rows)
    else:
        _print_rows(rows, columns)
        for path in figures:
            console.print(f"figure: {path}")
    if any(row["status"] == "failed" for row in rows):
        raise typer.Exit(1)


def _print_rows(rows: Sequence[Row], columns: Mapping[str, str]) -> None:
    """A table for each benchmark, by column of the file and heading; then what failed, and why."""
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = [row for row in rows if row["dataset"] == dataset]
        values = [[row[name] for name in columns] for row in here]
        print_table(dataset, list(columns.values()), values)
    for row in rows:
        if row["status"] == "failed":
            console.print(f"failed: {row['key']}: {row['remark']}", markup=False)
