"""`smore bench`: measurements, each in one run."""

from __future__ import annotations

from typing import Annotated

import typer

from smore.cli.output import Json, print_json, print_table
from smore.experiments.epoch_bench import bench_epoch
from smore.presets import preset

app = typer.Typer(help="Measure how fast smore is here.", no_args_is_help=True)


@app.callback()
def benches() -> None:
    """Measure how fast smore is here."""


@app.command("epoch")
def epoch(
    preset_name: Annotated[
        str, typer.Option("--preset", help="One of the paper's configurations.")
    ] = "ns-lrlq",
    columns: Annotated[
        int, typer.Option(help="Snapshots the textbook side is timed on, then scaled up.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Time the decoder part of one epoch: snapshot by snapshot against the affine engine."""
    result = bench_epoch(preset(preset_name), columns)
    if as_json:
        print_json(result.to_dict())
        return
    print_table(
        f"Decoder part of one epoch, {result.preset}: {result.columns:,} fields of "
        f"{result.points:,} points",
        ["", "seconds"],
        [
            [
                f"textbook (scaled up from {result.textbook_columns} fields)",
                result.textbook_seconds,
            ],
            ["engine", result.engine_seconds],
            ["speed-up", result.speedup],
            ["largest relative gradient difference", result.max_relative_gradient_difference],
        ],
    )
