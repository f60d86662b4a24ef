"""`smore sparse`: how few points of the first snapshot are enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from smore.cli.output import Json, console, print_json, print_table
from smore.errors import SettingsError
from smore.inference import FitMethod
from smore.inputs import as_trajectories
from smore.model import SMORE
from smore.plotting import require_figure_format, save_figure
from smore.runtime import ProgressLine, show
from smore_paper.claims import SPARSE_CLAIMS, SPARSE_OBSERVABILITY
from smore_paper.cli.generate import load_benchmark
from smore_paper.tables.sparse.draw import sparse_figure
from smore_paper.tables.sparse.sweep import VISIBLE, Level, claimed_preset, planned, sweep


def sparse(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    data: Annotated[
        Path | None, typer.Argument(help="Trajectories to forecast: a NetCDF or Zarr file.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Use the test set of a benchmark instead.")
    ] = None,
    visible: Annotated[
        str | None,
        typer.Option(help="Fractions of the points, such as '0.1,0.02'; default: the paper's."),
    ] = None,
    masks: Annotated[int, typer.Option(min=1, help="Random masks per fraction.")] = 3,
    placed: Annotated[
        bool, typer.Option(help="Also place as many sensors well, up to a tenth of the points.")
    ] = True,
    method: Annotated[
        FitMethod, typer.Option(help="How initial states are inferred.")
    ] = "posterior",
    figure: Annotated[Path | None, typer.Option(help="Draw errors and observability here.")] = None,
    as_json: Json = False,
) -> None:
    """Forecast from fewer and fewer visible points of the first snapshot.

    Rows for the table come from `smore reproduce sparse --model DATASET=MODEL`.
    """
    if (data is None) == (dataset is None):
        raise SettingsError("say what to forecast: a file, or a benchmark with --dataset")
    require_figure_format(figure)
    fractions = VISIBLE if visible is None else parse_fractions(visible)
    model = SMORE.load(model_file)
    settings = model.surrogate_.description.settings
    benchmark = None if dataset is None else load_benchmark(dataset)
    preset = None if benchmark is None else claimed_preset(benchmark.name, settings)
    source = data if benchmark is None else benchmark.test
    assert source is not None
    levels = sweep(
        model,
        as_trajectories(source),
        fractions=fractions,
        seeds=range(masks),
        placed=placed,
        method=method,
        claims=None if preset is None else SPARSE_CLAIMS[preset],
    )
    found = _collect(levels, len(planned(fractions, placed=placed)))
    if figure is not None:
        assert settings.latent_dim is not None  # fit has chosen it
        where = data if benchmark is None else benchmark.name
        heading = f"{preset or settings.dynamics} model of {where}"
        save_figure(sparse_figure(found, settings.latent_dim, heading), figure)
    if as_json:
        print_json({"model": str(model_file), "levels": [asdict(level) for level in found]})
        return
    _print(found, preset)
    if figure is not None:
        console.print(f"figure: {figure}")


def parse_fractions(text: str) -> tuple[float, ...]:
    """Fractions as the user writes them."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(
            f"--visible takes fractions separated by commas, such as 0.1,0.02; got {text!r}"
        ) from None


def _collect(levels: Iterator[Level], total: int) -> list[Level]:
    """All levels, counted while they come."""
    found = []
    with ProgressLine("visible points", total) as line:
        for level in levels:
            found.append(level)
            error = show(level.full_mse)
            line.update(len(found), f"{level.count:,} points {level.placement}: error {error}")
    return found


def _print(levels: list[Level], preset: str | None) -> None:
    """One row per fraction: random masks, placed sensors and the paper side by side."""
    placed = {level.visible: level.full_mse for level in levels if level.placement == "placed"}
    rows = [
        [
            f"{100 * level.visible:.3g}%",
            level.count,
            level.full_mse,
            max((error for error in level.full_mse_per_mask if error is not None), default=None),
            placed.get(level.visible),
            level.paper_full_mse,
            level.observability,
        ]
        for level in levels
        if level.placement == "random"
    ]
    print_table(
        "Mean squared error, full window, from part of the first snapshot",
        ["visible", "points", "random", "worst mask", "placed", "paper", "c_S"],
        rows,
    )
    console.print("random: median over masks, and their c_S")
    if preset is not None:
        zeros = [f"{100 * v:.3g}%" for v, seen in SPARSE_OBSERVABILITY[preset].items() if seen == 0]
        console.print(f"paper: {preset}, with c_S = 0 at {', '.join(zeros)}")
