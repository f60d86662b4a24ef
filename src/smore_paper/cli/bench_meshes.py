"""`smore bench other-mesh|large-mesh`: meshes of domains with holes, and of many cells."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from smore.cli.output import Json
from smore.errors import SettingsError
from smore_paper.benches.large_mesh import bench_large_mesh
from smore_paper.benches.other_meshes import NUM_MESHES, study_other_mesh
from smore_paper.cli.bench_results import Results, kept, tell, tell_all
from smore_paper.datasets.unstructured import PROBLEMS


def other_mesh(
    problem: Annotated[
        list[str] | None,
        typer.Option(help=f"Some of {', '.join(PROBLEMS)}; may be repeated; default: all."),
    ] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Train on four of five meshes of a domain with holes, forecast the fifth; each in turn.

    Beside it POD + DMD on one mesh, with fields carried there and back by radial basis functions.
    """
    for name in problem or ():
        if name not in PROBLEMS:
            raise SettingsError(f"there is no problem {name!r}; choose from {', '.join(PROBLEMS)}")
    jobs = [(name, fifth) for name in problem or PROBLEMS for fifth in range(NUM_MESHES)]
    found = kept((study_other_mesh(*job) for job in jobs), results)
    tell_all(
        found,
        as_json,
        "Trained on four meshes: squared errors over the variance",
        ["problem", "without", "training meshes", "there", "ratio", "RBF + POD + DMD", "seconds"],
        ["problem", "fifth", "training_error", "other_error", "ratio", "rbf_error", "seconds"],
    )


def large_mesh(
    folder: Annotated[Path, typer.Argument(help="Where there is room for some gigabytes.")],
    side: Annotated[int, typer.Option(min=2, help="Cubes a side, six tetrahedra each.")] = 70,
    snapshots: Annotated[int, typer.Option(min=2, help="Snapshots that are read.")] = 50,
    times: Annotated[int, typer.Option(min=1, help="Times that are forecast.")] = 5,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Read, fit, forecast and write a mesh of two million cells; time and resident memory."""
    (result,) = kept([bench_large_mesh(side, snapshots, times, folder)], results)
    tell(
        asdict(result),
        as_json,
        f"{result.cells:,} cells, {result.snapshots} snapshots, as PVD",
        ["", "seconds", "MB in all"],
        [
            ["opened", result.open_seconds, result.open_megabytes],
            ["fitted", result.fit_seconds, result.fit_megabytes],
            ["forecast and written", result.forecast_seconds, result.forecast_megabytes],
        ],
    )
