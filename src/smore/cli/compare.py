"""`smore compare`: several methods on the same data, ours and others'."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from smore.cli.options import MissingOption
from smore.cli.output import Json, console, print_json, print_table, say
from smore.cli.reading import say_reading, with_reading
from smore.comparison import MINUTES, USUAL, model_names
from smore.comparison import compare as compared
from smore.inputs import as_trajectories
from smore.plotting import require_figure_format, save_figure


@with_reading
def compare(
    train: Annotated[
        Path, typer.Argument(metavar="TRAIN", help="Trajectories to learn from, or a pattern.")
    ],
    test: Annotated[
        Path, typer.Argument(metavar="TEST", help="Trajectories to forecast, or a pattern.")
    ],
    models: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help=f"Out of {', '.join(model_names())}; or module:Class of your own module.py here.",
        ),
    ] = ",".join(USUAL),
    seeds: Annotated[
        int, typer.Option(min=1, help="Fits of every model that has random numbers.")
    ] = 1,
    minutes: Annotated[
        float, typer.Option(min=0.001, help="Of a fit, for models that train by epochs.")
    ] = MINUTES,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Steps ahead; default: half of one record, else all.")
    ] = None,
    origins: Annotated[
        int | None, typer.Option(min=1, help="How many forecasts; default: 5, or one a sequence.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw errors against lead time here.")] = None,
    missing: MissingOption = "refuse",
    as_json: Json = False,
    reading: dict[str, Any] | None = None,
) -> None:
    """Fit several models to TRAIN, forecast TEST, and score all forecasts in the same way.

    A model of your own is a class with `fit(train)` and `forecast(first, times)`.
    """
    require_figure_format(figure)
    known, truth = (as_trajectories([each], missing, **(reading or {})) for each in (train, test))
    say_reading(known)
    names = [name.strip() for name in models.split(",") if name.strip()]
    found = compared(
        known,
        truth,
        names,
        seeds=seeds,
        minutes=minutes,
        horizon=horizon,
        origins=origins,
        say=say,
    )
    if figure is not None:
        save_figure(found.figure(), figure)
    if as_json:
        print_json(found.to_dict())
        return
    print_table(*found.table())
    console.print(found.verdict(), markup=False)
    for failure in found.failures():
        console.print(f"failed: {failure}", markup=False)
    if figure is not None:
        console.print(f"figure: {figure}", markup=False)
