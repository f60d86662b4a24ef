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

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

# Numbers are coloured in tables alone. In a file or a pipe nothing is cut to the 80 columns of a
# screen.
WIDE = 200
console = Console(highlight=False)
if not console.is_terminal:
    console = Console(highlight=False, width=WIDE)
error_console = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Tell what goes on, on standard error, where progress belongs."""
    error_console.print(text, markup=False, soft_wrap=True)


def print_json(result: Any) -> None:
    """`result` as JSON on standard output, numbers in full precision."""
    print(json.dumps(result, indent=2, allow_nan=True))


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: bool = True
) -> None:
    """A table; the first column is left-aligned, the others are right-aligned if `right`.

    On a narrow screen cells go on in the next line: nothing is cut.
    """
    table = Table(title=title, title_justify="left", header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(
            escape(column), justify="right" if number and right else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(escape(show(value)) for value in row))
    console.print(table, highlight=True)


def show(value: Any) -> str:
    """A number to three digits, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def span(values: Sequence[Any]) -> Any:
    """The value all have in common, or "lowest to highest"."""
    low, high = min(values), max(values)
    return low if low == high else f"{low} to {high}"


def told_instant(value: Any) -> str:
    """A time on one line, without the zeros of a full hour."""
    text = f"{value:.12g}" if isinstance(value, float) else str(value).replace(" ", "T")
    return text.removesuffix(".000000").removesuffix("T00:00:00")


def print_evaluation(evaluation: Evaluation) -> None:
    """Errors beside those of persistence and climatology, then the verdict."""
    e = evaluation
    rows = [["model", e.in_horizon_mse, e.extrapolation_mse, e.full_mse, e.full_nmse]]
    for reference in ("persistence", "climatology", "decoder"):
        told = "decoder alone" if reference == "decoder" else reference
        columns = ("in_horizon_mse", "extrapolation_mse", "mse", "nmse")
        rows.append([told, *(getattr(e, f"{reference}_{column}") for column in columns)])
    print_table(
        f"Forecasts of {e.num_sequences} sequences from their first snapshot",
        ["mean squared error", "in-horizon", "extrapolation", "full window", "per variance"],
        rows,
    )
    relative = ", ".join(f"{name} {value:.2%}" for name, value in e.relative_l2.items())
    console.print(f"error norm over field norm: {relative}")
    style = "green" if e.beats_references else "bold red"
    console.print(e.verdict(), style=style)
    if (limit := e.limit()) is not None:
        console.print(limit)
