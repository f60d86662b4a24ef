"""`smore sensors`: where to measure, and how much of the field is known then."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from smore.analysis import (
    SensorPlan,
    parse_region,
    plan_sensors,
    require_blank_table,
    told_share,
)
from smore.cli.forecast import parse_noise
from smore.cli.output import Json, console, print_json, print_table
from smore.cli.points import points_of
from smore.data import CSV_SUFFIX, NETCDF_SUFFIXES, ZARR_SUFFIX, Mesh, is_mesh_file
from smore.errors import DataError, SettingsError
from smore.model import SMORE
from smore.plotting import (
    require_drawable,
    require_figure_format,
    save_figure,
    sensor_figure,
    with_units,
)
from smore.surrogate import Surrogate

# Sensors listed on the screen.
NUM_SHOWN = 10


def sensors(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    count: Annotated[int, typer.Option(min=1, help="How many sensors.")],
    allowed: Annotated[
        str | None,
        typer.Option(
            metavar="REGION|FILE",
            help="Where they may stand: a region of the training mesh, 'x=0.2:0.8,y=:0.5', or "
            "the points of a NetCDF, Zarr or CSV file, at which the field is then wanted too; "
            "default: the whole training mesh.",
        ),
    ] = None,
    channels: Annotated[
        str | None, typer.Option(metavar="A,B", help="What they measure; default: all channels.")
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="X|A=X,B=Y",
            help="Standard deviation of the instrument, in the data's units; default: 0.",
        ),
    ] = None,
    history: Annotated[
        int, typer.Option(min=1, help="Snapshots over which they are watched (smore assimilate).")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Of the random sensors compared with.")] = 0,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="CSV file to write, for measurements.")
    ] = Path("sensors.csv"),
    figure: Annotated[
        Path | None, typer.Option(help="Draw what they leave unknown, and random ones, here.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Choose the points to measure at, and say how well the field is known from there.

    How well is an average over the training mesh, or over the points of FILE.
    """
    require_figure_format(figure)
    surrogate = SMORE.load(model_file).surrogate_
    space = surrogate.description.space
    require_blank_table(output, space.names)
    if figure is not None:
        require_drawable(space)
    candidates, mask = _places(surrogate, allowed)
    known = [channel.name for channel in surrogate.description.channels]
    observed = known if channels is None else [name.strip() for name in channels.split(",")]
    plan = plan_sensors(
        surrogate,
        count,
        candidates=candidates,
        allowed=mask,
        channels=observed,
        noise=_deviations(parse_noise(noise), observed),
        history=history,
        seed=seed,
    )
    plan.write_csv(output)
    if figure is not None:
        save_figure(sensor_figure(surrogate, plan, surrogate.mesh or candidates), figure)
    if as_json:
        written = {"output": str(output), "figure": None if figure is None else str(figure)}
        print_json(plan.to_dict() | written)
        return
    _print(plan, surrogate)
    told = "" if noise is None else f" --noise {noise}"
    if history > 1:
        console.print(
            f"next: measure at all {count} points in {output} over {history} snapshots, add a "
            f"column time and a row for each, then run\nsmore assimilate {model_file} "
            f"{output}{told}",
            soft_wrap=True,
        )
    else:
        console.print(
            f"next: measure at all {count} points in {output}, fill in its blanks, then run\n"
            f"smore forecast {model_file} {output}{told}",
            soft_wrap=True,
        )
    if figure is not None:
        console.print(f"figure: {figure}")


def _places(surrogate: Surrogate, allowed: str | None) -> tuple[Mesh, NDArray[np.bool_] | None]:
    """The candidates, and at which of them a sensor may stand."""
    space = surrogate.description.space
    suffixes = (*NETCDF_SUFFIXES, ZARR_SUFFIX, CSV_SUFFIX)
    if allowed is not None and (
        Path(allowed).suffix in suffixes or Path(allowed).exists() or is_mesh_file(allowed)
    ):
        return points_of(Path(allowed), space), None
    if surrogate.mesh is None:
        raise DataError(
            "this model was trained on several meshes, or on a very large one, and has none to "
            "choose from: say where sensors may stand with --allowed FILE"
        )
    if allowed is None:
        return surrogate.mesh, None
    return surrogate.mesh, parse_region(allowed, space)(surrogate.mesh.coords)


def _deviations(noise: float | dict[str, float] | None, channels: list[str]) -> list[float]:
    """The noise of each channel that is measured, 0 where none was given."""
    if not isinstance(noise, dict):
        return [noise or 0.0] * len(channels)
    unknown = [name for name in noise if name not in channels]
    if unknown:
        raise SettingsError(
            f"--noise is about channels that are measured, {', '.join(channels)}; got "
            f"{', '.join(unknown)}"
        )
    return [noise.get(name, 0.0) for name in channels]


def _print(plan: SensorPlan, surrogate: Surrogate) -> None:
    count, space = len(plan.coords), surrogate.description.space
    chosen, random = ("sensor is", "one") if count == 1 else ("sensors are", "ones")
    console.print(
        f"{count} {chosen} expected to explain {told_share(plan.explained)} of the variance of the "
        f"field; {count} random {random} {told_share(plan.random_explained)}",
        style="green" if plan.gain >= 1 else "yellow",
    )
    shown = min(count, NUM_SHOWN)
    print_table(
        "The most informative first" if shown == count else f"The {shown} most informative",
        ["sensor", *map(with_units, space.names, space.units)],
        [
            [number + 1, *(f"{value:.6g}" for value in row)]
            for number, row in enumerate(plan.coords[:shown].tolist())
        ],
    )
    console.print(_observability(plan, surrogate.decoder.latent_dim))


def _observability(plan: SensorPlan, latent_dim: int) -> str:
    """c_S, and what it means."""
    value, count, names = plan.placement.observability, len(plan.coords), ", ".join(plan.channels)
    if value > 0:
        return (
            f"observability c_S = {value:.3g}: the sensors see every change of {names}, the "
            "faintest with this gain (0 would be: some are invisible)"
        )
    why = f", as always with fewer sensors than the {latent_dim} latents of a channel"
    return (
        f"observability c_S = 0: some changes of {names} are invisible to the sensors"
        f"{why if count < latent_dim else ''}; there forecasts rely on what was usual in training"
    )
