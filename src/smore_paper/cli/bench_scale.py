"""`smore bench memory|capacity|scaling`: what a resolution costs in memory and time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from smore.cli.output import Json, console, print_json, print_table, say
from smore.errors import SettingsError
from smore_paper.benches.memory import bench_memory
from smore_paper.benches.scaling import DEFAULT_MEMORY as SCALING_MEMORY
from smore_paper.benches.scaling import GRIDS, bench_scaling
from smore_paper.benches.team import TeamBench, bench_team
from smore_paper.cli.capacity import Bound, Grids, Memory, Models, Scratch, Sequences, asked_runs
from smore_paper.cli.generate import load_benchmark
from smore_paper.presets import preset
from smore_paper.results import append_row
from smore_paper.tables.capacity.measure import SMORE_MODEL, Capacity
from smore_paper.tables.capacity.run import DEFAULT_BOUND, DEFAULT_MEMORY, measured_capacity

Results = Annotated[Path | None, typer.Option(help="Append the result to this CSV file.")]


def memory(
    preset_name: Annotated[
        str, typer.Option("--preset", help="One of the paper's configurations.")
    ] = "ns-lrlq",
    chunk_size: Annotated[int, typer.Option(min=1, help="Points decoded at once.")] = 512,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Memory and time of an epoch: chunks of points, all at once, and snapshot by snapshot."""
    load_benchmark(preset(preset_name).dataset)  # simulated before anything is measured
    result = bench_memory(preset_name, chunk_size)
    if results is not None:
        append_row(results, result.to_dict())
    if as_json:
        print_json(result.to_dict())
        return
    print_table(
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


def capacity(
    grid: Grids = None,
    sequences: Sequences = None,
    memory: Memory = DEFAULT_MEMORY,
    model: Models = None,
    bound: Bound = DEFAULT_BOUND,
    scratch: Scratch = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """The largest square grids: SMORE streamed from disk, and baselines in bounded memory."""
    found = []
    for run in asked_runs(grid, sequences, memory, model, bound):
        found.append(measured_capacity(run, scratch, say))
        if results is not None:
            append_row(results, found[-1].to_dict())
    if as_json:
        print_json({"cases": [each.to_dict() for each in found]} | _points_ratio(found))
        return
    print_table(
        "Square grids that models are trained on",
        ["model", "grid", "paper", "MB", "bound", "held", "s per epoch"],
        [
            [
                each.model,
                each.grid,
                each.paper_grid,
                each.peak_megabytes,
                each.bound_megabytes,
                each.within_bound,
                each.seconds_per_epoch,
            ]
            for each in found
        ],
    )


def _points_ratio(found: Sequence[Capacity]) -> dict[str, float]:
    """Points of SMORE's largest grid over those of the best baseline's, if there are both."""
    ours = [each.points for each in found if each.model == SMORE_MODEL]
    theirs = [each.points for each in found if each.model != SMORE_MODEL]
    return {"points_ratio": max(ours) / max(theirs)} if ours and theirs else {}


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
    told = found.to_dict() | {"team": shared.to_dict(), "speedup": shared.speedup}
    if results is not None:
        for cost in told["grids"]:
            append_row(results, found.to_dict() | {"grids": len(grids)} | cost)
    if as_json:
        print_json(told)
        return
    print_table(
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
    console.print(
        f"time grows like points^{found.time_exponent:.2f}, memory by a factor of "
        f"{found.memory_ratio:.2f} in all; {shared.processes[-1]} processes are "
        f"{shared.speedup:.2f} times as fast as one ({shared.points:,} points, one thread each)",
        highlight=False,
    )


def _flat(shared: TeamBench) -> dict[str, Any]:
    """Lists as texts, for a cell of a table."""
    lists = {name: " ".join(map(str, getattr(shared, name))) for name in ("processes", "seconds")}
    return shared.to_dict() | lists
