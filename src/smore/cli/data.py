"""`smore data info`: how a file is read, why, and what was left out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from smore.cli.options import GeometryOption, MissingOption
from smore.cli.output import Json, console, print_json, print_table
from smore.cli.reading import with_reading
from smore.data import Pace, Trajectories, channel_moments, shown, stored, told_steps
from smore.runtime import span, told_instant

# Fields that take less are looked at without being asked to.
LOOKED_AT = 64 * 2**20
UNREADABLE = "values were not looked at"


@with_reading
def info(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="NetCDF, Zarr or mesh files, or an OpenFOAM case."),
    ],
    missing: MissingOption = "refuse",
    geometry: GeometryOption = None,
    values: Annotated[
        bool | None,
        typer.Option(help="Look at the values too: means, missing ones; default: if they are few."),
    ] = None,
    as_json: Json = False,
    reading: dict[str, Any] | None = None,
) -> None:
    """Show how smore reads files: what is taken for what and why, and what is left out.

    Values are read only where they are few, or with --values.
    """
    how = {"missing": "mask", "geometry": geometry, **(reading or {})}
    trajectories = Trajectories.open(list(paths), lazy=True, **how)
    size = sum(_bytes(sequence.source) for sequence in trajectories)
    looked = size <= LOOKED_AT if values is None else values
    summary = summarise(trajectories, looked) | {"fields_bytes": size}
    if as_json:
        print_json(summary)
        return
    title = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files, {paths[0]} and others"
    console.print(title, style="bold", markup=False, soft_wrap=True)
    _print(summary, looked)


def _bytes(source: Any) -> int:
    return int(np.prod(source.shape)) * source.dtype.itemsize


def _print(summary: dict[str, Any], looked: bool) -> None:
    def line(label: str, text: object) -> None:
        console.print(f"  {label:<12} {text}", markup=False, soft_wrap=True)

    for label in ("sequences", "snapshots"):
        line(label, summary[label])
    if summary["from"] is not None:
        line("times", f"{summary['from']} to {summary['to']}, every {summary['time_step']}")
    line("points", summary["points"])
    if summary["cells"] is not None:
        line("cells", summary["cells"])
    line("meshes", summary["meshes"])
    extents = ", ".join(
        f"{shown(c['name'])} {c['from']:g} to {c['to']:g} {shown(c['units'])}".strip()
        for c in summary["extents"]
    )
    line("space", f"{summary['geometry']} ({extents})")
    for note in summary["reading"]["notes"]:
        line("note", shown_whole(note))
    taken = summary["reading"]["taken"]
    print_table(
        "Taken", ["name", "as", "because of"],
        [[shown(t["name"]), t["part"], shown_whole(t["why"])] for t in taken],
        right=False,
    )  # fmt: skip
    if left := summary["reading"]["left_out"]:
        rows = [[shown(each["name"]), shown_whole(each["why"])] for each in left]
        print_table("Left out", ["name", "because it is"], rows, right=False)
    columns = ["name", "units", *(["mean", "standard deviation"] if looked else [])]
    print_table(
        "Channels", columns,
        [[shown(c["name"]), shown(c["units"]), *([c["mean"], c["std"]] if looked else [])]
         for c in summary["channels"]],
    )  # fmt: skip
    if not looked:
        size = summary["fields_bytes"] / 2**30
        console.print(f"{UNREADABLE} ({size:.3g} GiB); --values looks at them")
    elif summary["missing_fraction"]:
        console.print(
            f"missing: {summary['missing_fraction']:.2%} of all values; fit and evaluate take "
            "them with "
            "--missing mask",
            soft_wrap=True,
        )


def shown_whole(text: str) -> str:
    """Words about a file, on one line."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _cells(trajectories: Trajectories) -> str | None:
    """How many cells there are and where values are, of meshes that have any."""
    cells = [mesh.tessellation for mesh in trajectories.meshes if mesh.tessellation is not None]
    if not cells:
        return None
    where = "one value a cell" if cells[0].on_cells else "values at their nodes"
    return f"{span([each.num_cells for each in cells])}, {where}"


def summarise(trajectories: Trajectories, looked: bool = True) -> dict[str, Any]:
    """What files hold, in plain values; means and missing values only if `looked` at."""
    lengths = [sequence.num_snapshots for sequence in trajectories]
    steps = np.concatenate([np.diff(sequence.times) for sequence in trajectories])
    clock, space = trajectories.clock, trajectories.space
    pace = Pace.of(trajectories) if len(steps) else Pace(scale=1.0)
    first = min(float(sequence.times[0]) for sequence in trajectories)
    last = max(float(sequence.times[-1]) for sequence in trajectories)
    ends = [told_instant(value) for value in clock.to_values(np.array([first, last]))]
    known = _looked_at(trajectories) if looked else None
    numbers = [None] * trajectories.num_channels, [None] * trajectories.num_channels
    fraction = None
    if known is not None:
        numbers = tuple(each.tolist() for each in channel_moments(known))
        total = sum(int(np.prod(sequence.source.shape)) for sequence in known)
        fraction = 1 - sum(sequence.num_values for sequence in known) / total
    return {
        "sequences": len(trajectories),
        "snapshots": span(lengths),
        "time_step": told_steps(clock, pace, steps),
        "time_units": clock.units or None,
        "from": ends[0] if max(lengths) > 1 or clock.kind == "datetime" else None,
        "to": ends[1],
        "points": span([sequence.mesh.num_points for sequence in trajectories]),
        "meshes": len(trajectories.meshes),
        "cells": _cells(trajectories),
        "geometry": space.geometry,
        "coordinates": list(space.names),
        "extents": _extents(trajectories),
        "missing_fraction": fraction,
        "channels": [
            {"name": c.name, "units": c.units, "mean": mean, "std": deviation}
            for c, mean, deviation in zip(trajectories.channels, *numbers, strict=True)
        ],
        "reading": {} if trajectories.reading is None else trajectories.reading.to_dict(),
    }


def _looked_at(trajectories: Trajectories) -> Trajectories:
    """With all values checked: in memory, or by way of a scratch file where they are many."""
    size = sum(_bytes(sequence.source) for sequence in trajectories)
    return trajectories.load() if size <= LOOKED_AT else stored(trajectories, show_progress=True)


def _extents(trajectories: Trajectories) -> list[dict[str, Any]]:
    reach = np.concatenate([mesh.reach for mesh in trajectories.meshes])
    return [
        {"name": name, "units": units, "from": float(low), "to": float(high)}
        for name, units, low, high in zip(
            trajectories.space.names,
            trajectories.space.units,
            reach.min(0),
            reach.max(0),
            strict=True,
        )
    ]
