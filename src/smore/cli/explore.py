"""`smore explore`: a page on this machine to play with a model."""

from __future__ import annotations

import warnings
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from smore.assimilation import read_stream
from smore.cli.options import MissingOption
from smore.cli.output import console, say
from smore.cli.reading import say_reading, with_reading
from smore.errors import UnobservedWarning
from smore.explore import Names, explorer_server
from smore.model import SMORE


@with_reading
def explore(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="Trajectories that give sensors their values, and forecasts what to compare.",
        ),
    ] = None,
    stream: Annotated[
        Path | None,
        typer.Option(help="Observations over time to follow, as `smore assimilate` reads them."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any that is free.")
    ] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    missing: MissingOption = "refuse",
    reading: dict[str, Any] | None = None,
) -> None:
    """Place and drag sensors in a browser, and see field, error bar and forecast follow.

    The page is on this machine only: other hosts and origins are refused.
    """
    model = SMORE.load(model_file)
    trajectories = analysis = None
    if data is not None:
        trajectories = model.observations(data, missing=missing, **(reading or {}))
        say_reading(trajectories)
    if stream is not None:
        say(f"following {stream} ...")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnobservedWarning)  # they are on the page
            analysis = model.assimilate(read_stream(stream, model.surrogate_))
    told = [None if path is None else str(path) for path in (data, stream)]
    server = explorer_server(
        model, Names(str(model_file), *told), data=trajectories, analysis=analysis, port=port
    )
    console.print(server.url, soft_wrap=True)
    say("open this address in a browser of this machine; Ctrl-C ends it")
    if browser:
        server.io_loop.add_callback(webbrowser.open, server.url)
    server.start()
    try:
        server.io_loop.start()
    except KeyboardInterrupt:
        server.stop()
