"""`smore modes`: what the learned dynamics consist of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from smore.analysis import DynamicModes, dynamic_modes, mode_fields
from smore.cli.options import ChannelOption
from smore.cli.output import Json, console, print_json, print_table
from smore.cli.points import points_of
from smore.data import save_dataset
from smore.errors import DataError
from smore.model import SMORE
from smore.plotting import chosen_channels, require_figure_format, save_figure

RATES = ("frequency", "growth_rate", "efolding_time", "damping_ratio")


def modes(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    count: Annotated[int, typer.Option(min=1, help="How many modes, the strongest first.")] = 8,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write their fields here: .nc, .zarr, or with cells .vtu, .xdmf."
        ),
    ] = None,
    points: Annotated[
        Path | None,
        typer.Option(help="Fields at the points of this file; default: the training mesh."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the spectrum and the strongest modes here.")
    ] = None,
    channel: ChannelOption = None,
    as_json: Json = False,
) -> None:
    """List periods, growth rates and amplitudes of the modes that the dynamics consist of."""
    require_figure_format(figure)
    model = SMORE.load(model_file)
    surrogate = model.surrogate_
    chosen_channels(surrogate.description, channel)  # refuse unknown ones
    found = dynamic_modes(surrogate)
    where = None if points is None else points_of(points, surrogate.description.space)
    if output is not None:
        mesh = where or surrogate.mesh
        if mesh is None:
            raise DataError("this model was trained on several meshes: say where with --points")
        save_dataset(mode_fields(surrogate, found, mesh, count), output)
    if figure is not None:
        save_figure(model.plot.modes(points=where, channel=channel), figure)
    rows = _rows(found, count)
    if as_json:
        told = {"about": found.about, "time_units": found.time_units, "condition": found.condition}
        told |= {"cautions": found.cautions(), "num_modes": len(found), "modes": rows}
        told |= {"output": None if output is None else str(output)}
        print_json(told | {"figure": None if figure is None else str(figure)})
        return
    _print_modes(found, rows)
    for name, path in (("fields", output), ("figure", figure)):
        if path is not None:
            console.print(f"{name}: {path}")


def _rows(found: DynamicModes, count: int) -> list[dict[str, Any]]:
    """The strongest modes; None for the period of a mode that does not oscillate."""
    return [
        {
            "mode": index + 1,
            "period": float(found.period[index]) if found.pair[index] else None,
            **{name: float(getattr(found, name)[index]) for name in RATES},
            "amplitude": float(found.amplitudes[index]),
            "amplitude_share": float(found.amplitude_share[index]),
            "pair": bool(found.pair[index]),
        }
        for index in range(min(count, len(found)))
    ]


def _print_modes(found: DynamicModes, rows: list[dict[str, Any]]) -> None:
    time = f" ({found.time_units})" if found.time_units else ""
    per_time = f" (1/{found.time_units})" if found.time_units else ""
    columns = {"mode": "mode", f"period{time}": "period", f"frequency{per_time}": "frequency"}
    columns |= {f"growth rate{per_time}": "growth_rate", f"e-folding{time}": "efolding_time"}
    print_table(
        f"The strongest {len(rows)} of {len(found)} modes",
        [*columns, "amplitude share"],
        [[*(row[n] for n in columns.values()), f"{row['amplitude_share']:.1%}"] for row in rows],
    )
    console.print(f"about: {found.about}")
    for caution in found.cautions():
        console.print(f"caution: {caution}", style="yellow")
