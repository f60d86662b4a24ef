"""`smore`: the commands, and what happens when one goes wrong."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from smore.cli.lazy_group import LazyGroup
from smore.errors import SmoreError

app = typer.Typer(
    cls=LazyGroup,
    help="Stable, mesh-agnostic surrogates of time-dependent PDEs.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def common(
    threads: Annotated[
        int | None, typer.Option(help="Threads of this process; default: one per core.")
    ] = None,
    debug: Annotated[bool, typer.Option(help="Show the traceback of an error.")] = False,
) -> None:
    if threads is not None:
        from smore.runtime import set_threads  # which takes torch

        set_threads(threads)


def main() -> None:
    """Run a command; an error is one line on standard error and exit code 2."""
    error_console = Console(stderr=True, highlight=False)
    warnings.showwarning = lambda message, *_: error_console.print(
        "[yellow]warning:[/]", escape(str(message)), soft_wrap=True
    )
    warnings.simplefilter("once")
    warnings.simplefilter("ignore", DeprecationWarning)  # of libraries, for their developers
    try:
        app()
    except (SmoreError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        error_console.print("[red]error:[/]", escape(str(error)), soft_wrap=True)
        sys.exit(2)
