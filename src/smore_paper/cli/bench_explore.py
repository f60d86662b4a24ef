"""`smore bench explore`: how fast a page follows the hand."""

from __future__ import annotations

from typing import Annotated

import typer

from smore.cli.output import Json
from smore_paper.benches.explore import bench_explorer
from smore_paper.cli.bench_results import Results, kept, tell_all


def explore(
    resolution: Annotated[
        list[int] | None,
        typer.Option(min=8, help="Points per axis; may be repeated; default: 64 and 256."),
    ] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Drag a sensor in a browser: milliseconds from the mouse to the picture."""
    found = kept((bench_explorer(points) for points in resolution or (64, 256)), results)
    tell_all(
        found,
        as_json,
        "A sensor is dragged: milliseconds a move",
        ["points per axis", "latents", "median", "nine of ten", "largest", "answer alone"],
        ["resolution", "latents", "median_ms", "p90_ms", "largest_ms", "answer_ms"],
    )
