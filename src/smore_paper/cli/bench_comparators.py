"""`smore bench comparators`: streams of sensors beside other libraries, on cases of theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from smore.cli.output import Json
from smore_paper.benches.assimilation.comparators.dapper_cases import learned_filters
from smore_paper.benches.assimilation.comparators.shred import three_sensors
from smore_paper.cli.bench_results import Results, kept, tell_all

Case = Literal["raanes2015", "bocquet2019", "double-gyre"]


def comparators(
    case: Annotated[
        Case, typer.Argument(help="DAPPER's raanes2015 or bocquet2019, PySHRED's double-gyre.")
    ],
    seeds: Annotated[int, typer.Option(min=1, help="Number of runs.")] = 3,
    first_seed: Annotated[int, typer.Option(min=0, help="Seeds count from this one.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Of PySHRED; its tutorial has 100.")] = 100,
    environments: Annotated[
        Path, typer.Option(help="Where `make comparators` put the libraries.")
    ] = Path(".venv-comparators"),
    results: Results = None,
    as_json: Json = False,
) -> None:
    """A learned model on other libraries' cases of data assimilation, beside these libraries."""
    runs = range(first_seed, first_seed + seeds)
    found: Iterable[Any]
    if case == "double-gyre":
        found = three_sensors(runs, epochs, environments)
    else:
        found = learned_filters(case, runs, environments)
    told = kept(found, results)
    names = list(asdict(told[0]))
    tell_all(told, as_json, case, names, names)
