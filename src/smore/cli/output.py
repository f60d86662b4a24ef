"""Results for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from smore.evaluation import Evaluation
from smore.runtime import show

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

# Numbers are coloured in tables alone. In a file or a pipe nothing is cut to the 80 columns of a
# screen.
WIDE = 200
# A name such as mine:M: is text, no picture.
console = Console(highlight=False, emoji=False)
if not console.is_terminal:
    console = Console(highlight=False, emoji=False, width=WIDE)
error_console = Console(stderr=True, highlight=False, emoji=False)


def say(text: str) -> None:
    """Tell what goes on, on standard error, where progress belongs."""
    error_console.print(text, markup=False, soft_wrap=True)


def print_json(result: Any) -> None:
    """`result` as JSON on standard output, numbers in full precision."""
    print(json.dumps(result, indent=2, allow_nan=True))


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: bool = True,
    head: bool = True,
) -> None:
    """A table; the first column is left-aligned, the others are right-aligned if `right`.

    Without a `head` the columns have no names. On a narrow screen cells go on in the next line:
    nothing is cut.
    """
    table = Table(title=title, title_justify="left", header_style="bold", show_header=head)
    for number, column in enumerate(columns):
        table.add_column(
            escape(column), justify="right" if number and right else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(escape(show(value)) for value in row))
    console.print(table, highlight=True)


def print_evaluation(evaluation: Evaluation) -> None:
    """Errors beside those of persistence and climatology, then the verdict."""
    e = evaluation
    print_table(*e.table())
    relative = ", ".join(f"{name} {value:.2%}" for name, value in e.relative_l2.items())
    console.print(f"error norm over field norm: {relative}")
    style = "green" if e.beats_references else "bold red"
    console.print(e.verdict(), style=style)
    if (limit := e.limit()) is not None:
        console.print(limit)
