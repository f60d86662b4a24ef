"""`smore report`: everything about a model on one page, to be mailed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from smore.cli.options import MissingOption
from smore.cli.output import console, say
from smore.cli.reading import say_reading, with_reading
from smore.errors import SettingsError, unwritable
from smore.model import SMORE
from smore.report import report_page
from smore.runtime import shown_passes, write_atomically

SUFFIXES = (".html", ".htm")


@with_reading
def report(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[TEST]...",
            help="Trajectories that the model has not seen: NetCDF or Zarr files, or a pattern.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The page to write, .html.")
    ] = Path("report.html"),
    sequence: Annotated[
        int, typer.Option(min=1, help="Which sequence of TEST the player shows.")
    ] = 1,
    missing: MissingOption = "refuse",
    reading: dict[str, Any] | None = None,
) -> None:
    """Write one HTML file that says what a model is, how well it forecasts and what it cannot do.

    It needs no network and no server: open it in a browser, mail it, print it.
    """
    if output.suffix.lower() not in SUFFIXES:
        raise SettingsError(f"a report is written to a file that ends in .html, got {output}")
    if not data and sequence != 1:
        raise SettingsError("--sequence says which sequence of TEST is shown: give some")
    model = SMORE.load(model_file)
    truth = None
    if data:
        truth = model.read(list(data), missing=missing, **(reading or {}))
        say_reading(truth)
    with shown_passes("reporting"):
        html = report_page(
            model,
            truth,
            name=model_file.name,
            test_name=", ".join(path.name for path in data or []),
            sequence=sequence - 1,
            say=say,
        )
    try:
        write_atomically(output, [html.encode()])
    except OSError as error:
        raise SettingsError(unwritable(output, error)) from error
    console.print(
        f"{output}: {len(html.encode()) / 1e6:.1f} MB, open it in a browser", markup=False
    )
