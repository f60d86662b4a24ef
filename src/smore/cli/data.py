"""`smore data`: make the benchmark data, and look into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from smore import datasets
from smore.cli.fields import with_fields_of
from smore.cli.options import GeometryOption, MissingOption
from smore.cli.output import Json, console, print_json, print_table, span
from smore.data import Trajectories, stored
from smore.data.normalization import channel_moments
from smore.datasets.catalogue import ALIASES
from smore.model import as_trajectories
from smore.progress import ProgressLine

app = typer.Typer(help="Make the benchmark data; look into a file.", no_args_is_help=True)
generate_app = typer.Typer(
    help="Simulate a benchmark into the cache ($SMORE_CACHE, else ~/.cache/smore).",
    no_args_is_help=True,
)
app.add_typer(generate_app, name="generate")


def load_benchmark(name: str, **options: Any) -> datasets.Benchmark:
    """A benchmark from the cache; simulated first, with a progress line, when it is not there."""
    settings = datasets.make_options(name, **options)
    line: ProgressLine | None = None

    def show(done: int, total: int, description: str) -> None:
        nonlocal line
        if line is None:
            line = ProgressLine(f"simulating {datasets.resolve(name)}", total).__enter__()
        line.update(done, description)

    try:
        return datasets.generate(name, settings, progress=show)
    finally:
        if line is not None:
            line.__exit__(None, None, None)


def _add_generator(name: str) -> None:
    problem = datasets.CATALOGUE[name]

    @with_fields_of(problem.options)
    def command(as_json: Json = False, **options: Any) -> None:
        benchmark = load_benchmark(name, **options)
        if as_json:
            print_json(
                {
                    "name": benchmark.name,
                    "folder": str(benchmark.folder),
                    "options": benchmark.options.model_dump(mode="json"),
                    "train": dict(benchmark.train.sizes),
                    "test": dict(benchmark.test.sizes),
                }
            )
            return
        print_table(
            f"{benchmark.name} in {benchmark.folder}",
            ["file", *map(str, benchmark.train.sizes)],
            [
                ["train.nc", *benchmark.train.sizes.values()],
                ["test.nc", *benchmark.test.sizes.values()],
            ],
        )

    command.__doc__ = f"{problem.title}.\n\n{problem.note}"
    generate_app.command(name)(command)
    for alias, full in ALIASES.items():
        if full == name:
            generate_app.command(alias, hidden=True)(command)


for _name in datasets.CATALOGUE:
    _add_generator(_name)


@app.command("info")
def info(
    path: Annotated[Path, typer.Argument(help="A NetCDF or Zarr file.")],
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
    console.print(f"[bold]{path}[/]", highlight=False)
    for label in ("sequences", "snapshots", "time_step", "time_units", "points", "meshes"):
        console.print(f"  {label.replace('_', ' '):<12} {summary[label]}", highlight=False)
    console.print(f"  {'space':<12} {summary['geometry']} ({', '.join(summary['coordinates'])})")
    if summary["missing_fraction"]:
        console.print(f"  {'missing':<12} {summary['missing_fraction']:.2%} of all values")
    print_table(
        "Channels",
        ["name", "units", "mean", "standard deviation"],
        [[c["name"], c["units"], c["mean"], c["std"]] for c in summary["channels"]],
    )


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
        "geometry": trajectories.space.geometry,
        "coordinates": list(trajectories.space.names),
        "missing_fraction": unseen / total,
        "channels": [
            {"name": c.name, "units": c.units, "mean": float(m), "std": float(s)}
            for c, m, s in zip(trajectories.channels, mean, deviation, strict=True)
        ],
    }
