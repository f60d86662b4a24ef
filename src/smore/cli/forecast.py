"""`smore forecast`: from observations of an initial state to fields at later times."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from smore.cli.output import Json, console, error_console, print_json, span
from smore.data import Clock, Missing, Trajectories
from smore.data.files import save_dataset
from smore.errors import SettingsError
from smore.inference import FitMethod
from smore.model import SMORE


def forecast(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    observations: Annotated[
        Path, typer.Argument(help="Values at any points: a NetCDF or Zarr file.")
    ],
    times: Annotated[
        str | None,
        typer.Option(
            help="When: '0.5,1.0', 'START:STOP:STEP' (numbers, STOP included) or ISO dates; "
            "default: ten steps of the training data."
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="NetCDF or Zarr file to write.")
    ] = Path("forecast.nc"),
    points: Annotated[
        Path | None,
        typer.Option(help="Forecast at the points of this file; default: the training mesh."),
    ] = None,
    method: Annotated[FitMethod, typer.Option(help="How the state is inferred.")] = "posterior",
    missing: Annotated[Missing, typer.Option(help="Missing values: refuse or mask.")] = "refuse",
    as_json: Json = False,
) -> None:
    """Forecast whole fields from the first snapshot of OBSERVATIONS."""
    model = SMORE.load(model_file)
    observed = Trajectories.open(observations, missing=missing)
    if any(sequence.num_snapshots > 1 for sequence in observed):
        error_console.print("note: only the first snapshot of the observations is used")
    observed = observed.leading(1)
    state = model.infer(observed, method=method)
    description = model.surrogate_.description
    clock = description.clock
    if times is None:
        latest = float(state.times.max())
        instants = clock.to_values(latest + description.time_step * np.arange(1, 11))
    else:
        instants = parse_times(times, clock)
    where: Any = None
    if points is not None:
        place = Trajectories.open(points, missing="mask")
        where = place.order_coordinates(description.space.names).sequences[0].mesh
    result = model.forecast(observed, instants, points=where, method=method)
    save_dataset(result, output)
    shown = [f"{value:.12g}" if clock.kind == "number" else str(value) for value in instants]
    summary = {
        "output": str(output),
        "sequences": len(state),
        "times": shown,
        "observed_values": state.num_values.tolist(),
        "latent_dim": int(state.flat.shape[1]),
    }
    if as_json:
        print_json(summary)
        return
    console.print(
        f"[bold]{output}[/]: {len(state)} sequences at {len(shown)} times from {shown[0]} to "
        f"{shown[-1]}, each from {span(state.num_values.tolist())} observed values",
        highlight=False,
    )


def parse_times(text: str, clock: Clock) -> NDArray[np.generic]:
    """Times as the user writes them, on the model's clock."""
    try:
        if clock.kind == "datetime":
            return np.array(text.split(","), dtype="datetime64[us]")
        if ":" in text:
            start, stop, step = map(float, text.split(":"))
            if not step > 0 or stop < start:
                raise SettingsError(
                    f"--times {text}: START:STOP:STEP needs STOP >= START, STEP > 0"
                )
            values = start + step * np.arange(np.floor((stop - start) / step + 1e-9) + 1)
        else:
            values = np.array([float(part) for part in text.split(",")])
        if clock.kind == "timedelta":
            return (values * 1e6).round().astype("timedelta64[us]")
        return values
    except ValueError:
        kind = "ISO dates" if clock.kind == "datetime" else "numbers, or START:STOP:STEP"
        raise SettingsError(f"--times takes {kind} separated by commas, got {text!r}") from None
