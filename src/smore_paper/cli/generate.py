"""`smore data generate`: the benchmark data, simulated here."""

from __future__ import annotations

from typing import Any

import typer

from smore.cli.fields import with_fields_of
from smore.cli.output import Json, print_json, print_table
from smore.data import Trajectories
from smore.inputs import as_trajectories
from smore.runtime import ProgressLine
from smore_paper import datasets
from smore_paper.datasets.catalogue import ALIASES

app = typer.Typer(
    help="Simulate a benchmark into the cache ($SMORE_CACHE, else ~/.cache/smore).",
    no_args_is_help=True,
    add_completion=False,
)


def load_benchmark(name: str, **options: Any) -> datasets.Benchmark:
    """A benchmark from the cache; simulated first, with a progress line, when it is not there."""
    line: ProgressLine | None = None

    def show(done: int, total: int, description: str) -> None:
        nonlocal line
        if line is None:
            line = ProgressLine(f"simulating {datasets.resolve(name)}", total).__enter__()
        line.update(done, description)

    try:
        return datasets.load(name, progress=show, **options)
    finally:
        if line is not None:
            line.__exit__(None, None, None)


def load_test_set(name: str, further: int | None = None) -> Trajectories:
    """The test set of a benchmark, or so many trajectories that come after it.

    Whatever was tuned on the test set is to be judged on the latter.
    """
    usual = as_trajectories(load_benchmark(name).test)
    if further is None:
        return usual
    count = len(set(usual.groups))
    more = as_trajectories(load_benchmark(name, num_test=count + further).test)
    return more.select(range(len(usual), len(more)))


def _add_generator(name: str) -> None:
    problem = datasets.CATALOGUE[name]

    @with_fields_of(problem.options)
    def command(as_json: Json = False, **options: Any) -> None:
        benchmark = load_benchmark(name, **options)
        if as_json:
            print_json(
                {
                    "name": benchmark.name,
                    "folder": str(benchmark.folder),
                    "options": benchmark.options.model_dump(mode="json"),
                    "train": dict(benchmark.train.sizes),
                    "test": dict(benchmark.test.sizes),
                }
            )
            return
        print_table(
            f"{benchmark.name} in {benchmark.folder}",
            ["file", *map(str, benchmark.train.sizes)],
            [
                ["train.nc", *benchmark.train.sizes.values()],
                ["test.nc", *benchmark.test.sizes.values()],
            ],
        )

    command.__doc__ = f"{problem.title}.\n\n{problem.note}"
    app.command(name)(command)
    for alias, full in ALIASES.items():
        if full == name:
            app.command(alias, hidden=True)(command)


for _name in datasets.CATALOGUE:
    _add_generator(_name)
