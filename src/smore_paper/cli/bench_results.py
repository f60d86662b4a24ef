"""What a bench found: kept in a file as it comes, then JSON for machines or a table for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from smore.cli.output import print_json, print_table
from smore_paper.results import append_row

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Result = TypeVar("Result", bound="DataclassInstance")

Results = Annotated[Path | None, typer.Option(help="Append the result to this CSV file.")]
PresetName = Annotated[str, typer.Option("--preset", help="One of the paper's configurations.")]


def kept(found: Iterable[Result], results: Path | None, **about: Any) -> list[Result]:
    """All results; each is in the file as soon as it is there, with what else there is to say."""
    collected = []
    for result in found:
        collected.append(result)
        if results is not None:
            append_row(results, about | asdict(result))
    return collected


def tell(
    told: Any, as_json: bool, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """All that is `told` as JSON, or else a table of the most of it."""
    if as_json:
        print_json(told)
    else:
        print_table(title, columns, rows)


def tell_all(
    found: Sequence[DataclassInstance],
    as_json: bool,
    title: str,
    columns: Sequence[str],
    cells: Sequence[str | Callable[[Any], Any]],
) -> None:
    """A row for every result, whose cells are fields of it, or made of it."""
    rows = [
        [getattr(each, cell) if isinstance(cell, str) else cell(each) for cell in cells]
        for each in found
    ]
    tell([asdict(each) for each in found], as_json, title, columns, rows)
