"""`smore forecast`: from observations of an initial state to fields at later times."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from smore.cli.options import ChannelOption, MissingOption
from smore.cli.output import (
    Json,
    console,
    error_console,
    print_json,
    print_table,
)
from smore.cli.points import points_of, say_few_points
from smore.cli.reading import say_reading, with_reading
from smore.cli.times import parse_times
from smore.data import require_data_format, save_dataset
from smore.errors import SettingsError
from smore.inference import FitMethod, LatentState
from smore.model import SMORE
from smore.plotting import chosen_channels, is_film, require_figure_format, save_figure
from smore.runtime import shown_passes, span, told_instant
from smore.surrogate import Description

# Bytes of fields from which on a forecast is decoded piece by piece.
LARGE_FORECAST = 2**28


@with_reading
def forecast(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    observations: Annotated[
        Path,
        typer.Argument(
            help="Values at any points: a NetCDF or Zarr file, or CSV with a column for every "
            "coordinate and channel, blank where nothing was observed."
        ),
    ],
    times: Annotated[
        str | None,
        typer.Option(
            help="When: '0.5,1.0', '0.5:10:0.5' (STOP included), ISO dates, '1980-01:1981-12:1M', "
            "or '+10d:1d' from the observations on; default: ten steps of the training data."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="When: so many steps of the training data.")
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="File to write: .nc, .zarr, or with cells .pvd, .xdmf."
        ),
    ] = Path("forecast.nc"),
    points: Annotated[
        Path | None,
        typer.Option(
            help="Forecast at the points of this file: NetCDF, a mesh file, or CSV with the "
            "coordinates; default: the training mesh."
        ),
    ] = None,
    method: Annotated[FitMethod, typer.Option(help="How the state is inferred.")] = "posterior",
    noise: Annotated[
        str | None,
        typer.Option(
            help="Standard deviation of the instruments in the data's units, '0.1' or "
            "'u=0.1,v=0.3'; default: estimated where there are values to spare, else 0."
        ),
    ] = None,
    uncertainty: Annotated[
        bool, typer.Option(help="Write a standard deviation beside every channel.")
    ] = True,
    missing: MissingOption = "refuse",
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw the first forecast and its uncertainty here; .gif: a film."),
    ] = None,
    channel: ChannelOption = None,
    as_json: Json = False,
    reading: dict[str, Any] | None = None,
) -> None:
    """Forecast whole fields from the first snapshot of OBSERVATIONS."""
    require_data_format(output)
    require_figure_format(figure, films=True)
    model = SMORE.load(model_file)
    description = model.surrogate_.description
    chosen_channels(description, channel)  # refuse unknown ones
    clock = description.clock
    if times is not None and steps is not None:
        raise SettingsError("say when with --times or with --steps, not both")
    if times is not None and not times.startswith("+"):
        parse_times(times, clock, description.pace)  # refuse what cannot be understood at once
    observed = model.observations(observations, missing=missing, **(reading or {}))
    say_reading(observed)
    if any(sequence.num_snapshots > 1 for sequence in observed):
        error_console.print("note: only the first snapshot of the observations is used")
    observed = observed.leading(1)
    with shown_passes("inferring"):
        state = model.infer(observed, method=method, noise=parse_noise(noise))
    latest = float(state.times.max())
    if times is None:
        instants = clock.to_values(description.following(latest, steps or 10))
    else:
        instants = parse_times(times, clock, description.pace, latest)
    where: Any = None
    if points is not None:
        where = points_of(points, description.space)
    elif model.surrogate_.mesh is None:
        where = [sequence.mesh for sequence in observed]
    else:
        say_few_points(model.surrogate_.mesh)
    num_fields = len(state) * len(instants) * len(description.channels)
    lazy = _is_large(where or model.surrogate_.mesh, num_fields)
    result = model.forecast(state, instants, points=where, uncertainty=uncertainty, lazy=lazy)
    with shown_passes("writing"):
        save_dataset(result, output)
    if figure is not None:
        drawn = model.plot.forecast(result, observed, channel=channel, animate=is_film(figure))
        save_figure(drawn, figure)
    shown = [f"{value:.12g}" if clock.kind == "number" else str(value) for value in instants]
    summary = {"output": str(output), "sequences": len(state), "times": shown}
    if as_json:
        print_json(summary | state.to_dict())
        return
    console.print(
        f"[bold]{output}[/]: {len(state)} sequences at {len(shown)} times from "
        f"{told_instant(instants[0])} to {told_instant(instants[-1])}",
    )
    _print_state(state, description)
    if figure is not None:
        console.print(f"figure: {figure}")


def _is_large(where: Any, num_fields: int) -> bool:
    """Whether so many fields on a mesh are better decoded while they are written."""
    meshes = where if isinstance(where, list) else [where]
    if any(mesh is not meshes[0] for mesh in meshes):
        return False
    return 4 * num_fields * meshes[0].num_points > LARGE_FORECAST


def _print_state(state: LatentState, description: Description) -> None:
    """How much was observed, and how well that determines the states."""
    rows = state.rows()
    assert state.observability is not None
    joint = state.observability.shape[1] < len(description.channels)
    names = ["all channels"] if joint else [channel.name for channel in description.channels]
    for name, values in zip(names, state.observability.T.tolist(), strict=True):
        rows.append([f"observability c_S of {name}", span([f"{value:.3g}" for value in values])])
    for number, channel in enumerate(description.channels):
        if state.noise is not None:
            scale = description.normalization.scale[number]
            level = f"{scale * float(state.noise[number]) ** 0.5:.3g} {channel.units}".strip()
            rows.append([f"noise and unresolved detail of {channel.name}", level])
    print_table("What the observations say about the initial state", ["", ""], rows)


def parse_noise(text: str | None) -> float | dict[str, float] | None:
    """'0.1', or 'u=0.1,v=0.3' by channel."""
    if text is None:
        return None
    try:
        if "=" not in text:
            return float(text)
        pairs = [part.split("=") for part in text.split(",")]
        return {name.strip(): float(value) for name, value in pairs}
    except ValueError:
        raise SettingsError(
            f"--noise takes a number, or channel=number separated by commas, got {text!r}"
        ) from None
