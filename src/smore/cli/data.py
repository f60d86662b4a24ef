"""`smore data info`: how a file is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from smore.cli.options import GeometryOption, MissingOption
from smore.cli.output import Json, console, print_json, print_table, span
from smore.data import Trajectories, channel_moments, stored
from smore.inputs import as_trajectories


def info(
    path: Annotated[Path, typer.Argument(help="A NetCDF, Zarr or mesh file, or an OpenFOAM case.")],
    missing: MissingOption = "refuse",
    geometry: GeometryOption = None,
    as_json: Json = False,
) -> None:
    """Show how smore reads a file: sequences, times, points, channels."""
    trajectories = stored(as_trajectories(path, missing, None, geometry), show_progress=True)
    summary = summarise(trajectories)
    if as_json:
        print_json(summary)
        return
    console.print(f"[bold]{path}[/]")
    for label in ("sequences", "snapshots", "time_step", "time_units", "points", "cells", "meshes"):
        if label == "cells" and summary[label] is None:
            continue
        console.print(f"  {label.replace('_', ' '):<12} {summary[label]}")
    console.print(f"  {'space':<12} {summary['geometry']} ({', '.join(summary['coordinates'])})")
    if summary["missing_fraction"]:
        console.print(f"  {'missing':<12} {summary['missing_fraction']:.2%} of all values")
    print_table(
        "Channels",
        ["name", "units", "mean", "standard deviation"],
        [[c["name"], c["units"], c["mean"], c["std"]] for c in summary["channels"]],
    )


def _cells(trajectories: Trajectories) -> str | None:
    """How many cells there are and where values are, of meshes that have any."""
    cells = [mesh.tessellation for mesh in trajectories.meshes if mesh.tessellation is not None]
    if not cells:
        return None
    where = "one value a cell" if cells[0].on_cells else "values at their nodes"
    return f"{span([each.num_cells for each in cells])}, {where}"


def summarise(trajectories: Trajectories) -> dict[str, Any]:
    """What a file holds, in plain values."""
    lengths = [sequence.num_snapshots for sequence in trajectories]
    points = [sequence.mesh.num_points for sequence in trajectories]
    steps = np.concatenate([np.diff(sequence.times) for sequence in trajectories])
    mean, deviation = channel_moments(trajectories)
    total = sum(int(np.prod(sequence.source.shape)) for sequence in trajectories)
    unseen = total - sum(sequence.num_values for sequence in trajectories)
    return {
        "sequences": len(trajectories),
        "snapshots": span(lengths),
        "time_step": span(steps.round(12).tolist()) if len(steps) else None,
        "time_units": trajectories.clock.units or None,
        "points": span(points),
        "meshes": len(trajectories.meshes),
        "cells": _cells(trajectories),
        "geometry": trajectories.space.geometry,
        "coordinates": list(trajectories.space.names),
        "missing_fraction": unseen / total,
        "channels": [
            {"name": c.name, "units": c.units, "mean": float(m), "std": float(s)}
            for c, m, s in zip(trajectories.channels, mean, deviation, strict=True)
        ],
    }
