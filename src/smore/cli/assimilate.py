"""`smore assimilate`: from a stream of sensors to whole fields, and forecasts from there."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from smore.assimilation import Analysis, read_stream
from smore.cli.forecast import parse_noise, parse_times
from smore.cli.options import ChannelOption
from smore.cli.output import Json, console, error_console, print_json, print_table
from smore.cli.points import points_of, say_few_points
from smore.data import require_data_format, save_dataset
from smore.errors import UnobservedWarning
from smore.model import SMORE
from smore.plotting import (
    chosen_channels,
    is_film,
    require_drawable,
    require_figure_format,
    save_figure,
)
from smore.surrogate import instants_of


def assimilate(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    stream: Annotated[
        Path,
        typer.Argument(
            help="Observations over time: CSV with columns time, the coordinates, channels "
            "(blank where nothing was observed) and if need be sensor; or NetCDF, Zarr (CF "
            "points, time series and trajectories, or fields with gaps)."
        ),
    ],
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Let what came later tell about earlier times too.")
    ] = False,
    forecast: Annotated[
        str | None,
        typer.Option(
            metavar="TIMES",
            help="Forecast from the end of the stream: '0.5,1.0', 'START:STOP:STEP', ISO dates, or "
            "'+10d:1d' from its last time on.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="NetCDF or Zarr file to write.")
    ] = Path("analysis.nc"),
    points: Annotated[
        Path | None,
        typer.Option(
            help="Fields at the points of this file: NetCDF, a mesh file, or CSV with the "
            "coordinates; default: the training mesh."
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="Standard deviation of the instruments in the data's units, '0.1' or "
            "'u=0.1,v=0.3'; default: estimated by likelihood."
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option(help="Take sensors out that contradict all others, and back in.")
    ] = True,
    figure: Annotated[
        Path | None, typer.Option(help="Draw fields and error bars here; .gif: a film.")
    ] = None,
    channel: ChannelOption = None,
    as_json: Json = False,
) -> None:
    """Whole fields at all times of STREAM, with standard deviations, and forecasts after it."""
    require_data_format(output)
    require_figure_format(figure, films=True)
    model = SMORE.load(model_file)
    description = model.surrogate_.description
    chosen_channels(description, channel)  # refuse unknown ones
    if figure is not None:
        require_drawable(description.space)
    parse = partial(
        parse_times, clock=description.clock, pace=description.pace, option="--forecast"
    )
    if forecast is not None and not forecast.startswith("+"):
        parse(forecast)  # refuse what cannot be understood at once
    told_noise = parse_noise(noise)
    where = None if points is None else points_of(points, description.space)
    readings = read_stream(stream, model.surrogate_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnobservedWarning)  # they are printed below
        analysis = model.assimilate(readings, noise=told_noise, smooth=smooth, watch=watch)
    instants = analysis.times
    if forecast is not None:
        later = instants_of(description.clock, parse(forecast, start=float(instants[-1])))
        instants = np.union1d(instants, later)
    fields = analysis.fields(description.clock.to_values(instants), where)
    save_dataset(fields, output)
    if where is None and model.surrogate_.mesh is not None:
        say_few_points(model.surrogate_.mesh)
    if figure is not None:
        drawn = model.plot.analysis(analysis, fields, channel=channel, animate=is_film(figure))
        save_figure(drawn, figure)
    if as_json:
        written = {"output": str(output), "figure": None if figure is None else str(figure)}
        print_json(written | analysis.to_dict())
        return
    _print(analysis, output, len(instants))
    if figure is not None:
        console.print(f"figure: {figure}")


def _print(analysis: Analysis, output: Path, num_times: int) -> None:
    told = analysis.to_dict()
    kind = "filtered" if analysis.smoothed is None else "smoothed"
    console.print(f"[bold]{output}[/]: fields at {num_times} times, {kind}")
    rows: list[list[Any]] = [
        ["observed values", told["values"]],
        ["of these taken", told["values_taken"]],
        ["sensors", told["sensors"]],
        ["latent directions", told["state_latent_directions"]],
        ["of these determined at the end", round(told["state_determined"][0])],
        ["variance left open at the end", f"{told['state_prior_share'][0]:.2%}"],
        ["log likelihood", told["log_likelihood"]],
    ]
    how = "told" if analysis.levels.told else "found"
    rows += [[f"noise of {name}, {how}", value] for name, value in told["noise"].items()]
    print_table("What the stream says", ["", ""], rows)
    for caution in told["cautions"]:
        error_console.print(f"note: {caution}", markup=False, soft_wrap=True)
