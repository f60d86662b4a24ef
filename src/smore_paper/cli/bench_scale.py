"""`smore bench memory|scaling|reading|large-grid`: what a resolution costs in memory and time."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from smore.cli.output import Json, console
from smore.errors import SettingsError
from smore_paper.benches.large_grid import bench_large_grid
from smore_paper.benches.memory import bench_memory
from smore_paper.benches.reading import bench_reading
from smore_paper.benches.scaling import DEFAULT_MEMORY as SCALING_MEMORY
from smore_paper.benches.scaling import GRIDS, bench_scaling
from smore_paper.benches.team import TeamBench, bench_team
from smore_paper.cli.bench_results import PresetName, Results, kept, tell, tell_all
from smore_paper.cli.capacity import Scratch
from smore_paper.cli.generate import load_benchmark
from smore_paper.measuring.generated import Generated
from smore_paper.presets import preset
from smore_paper.results import append_row

LARGE_GRID_SNAPSHOTS = 20


def memory(
    preset_name: PresetName = "ns-lrlq",
    chunk_size: Annotated[int, typer.Option(min=1, help="Points decoded at once.")] = 512,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Memory and time of an epoch: chunks of points, all at once, and snapshot by snapshot."""
    load_benchmark(preset(preset_name).dataset)  # simulated before anything is measured
    (result,) = kept([bench_memory(preset_name, chunk_size)], results)
    tell(
        asdict(result),
        as_json,
        f"One epoch of Algorithm 1, {result.preset}, {result.threads} threads",
        ["", "MB beyond data", "seconds"],
        [
            ["a minibatch snapshot by snapshot", result.textbook_megabytes, None],
            ["engine, all points at once", result.unchunked_megabytes, result.unchunked_seconds],
            [
                f"engine, {result.chunk_size} points at once",
                result.chunked_megabytes,
                result.chunked_seconds,
            ],
            ["less memory in chunks, more time", result.memory_ratio, result.time_ratio],
        ],
    )


def reading(
    repeats: Annotated[int, typer.Option(min=1, help="Of which the fastest counts.")] = 3,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Fingerprint and scratch copy of a streamed file, beside a plain load and a write."""
    found = kept(bench_reading(repeats), results)
    tell_all(
        found,
        as_json,
        f"Streaming {found[0].megabytes:.0f} MB, seconds",
        ["file", "load", "write", "streamed", "ratio"],
        ["layout", "load_seconds", "write_seconds", "stream_seconds", "ratio"],
    )


def scaling(
    grid: Annotated[
        list[int] | None,
        typer.Option(min=1, help=f"Points a side; may be repeated; default: {GRIDS}."),
    ] = None,
    memory: Annotated[str, typer.Option(help="What a fit may hold beside libraries.")] = (
        SCALING_MEMORY
    ),
    scratch: Scratch = None,
    results: Results = None,
    team_results: Annotated[
        Path | None, typer.Option(help="Append what processes gain to this CSV file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Cost of an epoch against the number of points, streamed, and what a second process gains."""
    grids = sorted(set(grid or GRIDS))
    if len(grids) < 2:
        raise SettingsError(f"a slope needs two or more --grid, got {len(grids)}")
    shared = bench_team()
    if team_results is not None:
        append_row(team_results, _flat(shared))
    found = bench_scaling(grids, memory, scratch)
    told = asdict(found) | {"team": asdict(shared), "speedup": shared.speedup}
    if results is not None:
        for cost in told["grids"]:
            append_row(results, asdict(found) | {"grids": len(grids)} | cost)
    tell(
        told,
        as_json,
        f"One epoch of Algorithm 1, {found.preset}, {found.sequences} x {found.snapshots} "
        f"snapshots, {found.threads} threads",
        ["grid", "points", "seconds", "seconds to read", "MB", "points at once"],
        [
            [
                f"{cost.grid} x {cost.grid}",
                cost.points,
                cost.seconds,
                cost.reading_seconds,
                cost.peak_megabytes,
                cost.chunk_size or "all",
            ]
            for cost in found.grids
        ],
    )
    if as_json:
        return
    console.print(
        f"time grows like points^{found.time_exponent:.2f}, memory by a factor of "
        f"{found.memory_ratio:.2f} in all; {shared.processes[-1]} processes are "
        f"{shared.speedup:.2f} times as fast as one ({shared.points:,} points, one thread each)",
    )


def large_grid(
    grid: Annotated[int, typer.Option(min=8, help="Points a side.")] = 4096,
    sequences: Annotated[int, typer.Option(min=1, help="Of twenty snapshots each.")] = 4,
    memory: Annotated[str, typer.Option(help="What the fit may hold beside libraries.")] = "500MB",
    scratch: Scratch = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """A whole fit of a grid streamed from disk: time, passes over the data, resident memory."""
    data = Generated(grid, sequences, LARGE_GRID_SNAPSHOTS)
    (result,) = kept([bench_large_grid(data, memory, scratch)], results)
    tell(
        asdict(result),
        as_json,
        f"{grid} x {grid} points, {sequences} x {LARGE_GRID_SNAPSHOTS} snapshots, "
        f"{result.megabytes / 1e3:.1f} GB, default settings",
        ["decoder", "seconds", "passes", "MB in all", "decoder's error", "least possible"],
        [
            [
                result.decoder,
                result.seconds,
                result.passes,
                result.peak_megabytes,
                result.decoder_error,
                result.pod_limit,
            ]
        ],
    )


def _flat(shared: TeamBench) -> dict[str, Any]:
    """Lists as texts, for a cell of a table."""
    lists = {name: " ".join(map(str, getattr(shared, name))) for name in ("processes", "seconds")}
    return asdict(shared) | lists
