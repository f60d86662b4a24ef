"""The two problems on any of their meshes, simulated once and kept with their cells."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from smore.data import (
    Channel,
    Clock,
    Mesh,
    Sequence,
    Space,
    Tessellation,
    Trajectories,
    tessellated_mesh,
)
from smore.runtime import default_root
from smore_paper.datasets.unstructured.flow import FlowOptions, simulate_flow
from smore_paper.datasets.unstructured.heat import HeatOptions, simulate_heat
from smore_paper.datasets.unstructured.shapes import SHAPES
from smore_paper.datasets.unstructured.triangulating import triangulated

PROBLEMS = {"flow": "cylinders", "heat": "slit"}
SPACE = Space(names=("x", "y"), units=("m", "m"))
# Initial states of heat: those to learn from, then those to be forecast.
HEAT_SEEDS = (*range(24), *range(100, 108))
TRIANGLE = 5
# Which meshes a seed stands for: those of before had leaks in their walls.
MESHES = 2


def simulated(problem: str, mesh_seed: int, folder: Path | None = None) -> Trajectories:
    """A problem on one mesh: "flow", one sequence, or "heat", one for every initial state.

    Args:
        problem: one of `PROBLEMS`.
        mesh_seed: which mesh.
        folder: where simulations are kept; by default smore's cache.
    """
    options = FlowOptions() if problem == "flow" else HeatOptions()
    told = "-".join(f"{value:g}" for value in asdict(options).values())
    path = (
        folder or default_root() / "unstructured"
    ) / f"{problem}-mesh{MESHES}-{mesh_seed}-{told}.nc"
    if not path.exists():
        _simulate(problem, mesh_seed, options).save(path)
    return Trajectories.open(path)


def _simulate(problem: str, mesh_seed: int, options: FlowOptions | HeatOptions) -> Trajectories:
    points, triangles = triangulated(SHAPES[PROBLEMS[problem]], mesh_seed, options.fineness)
    mesh = _mesh(points, triangles)
    if isinstance(options, FlowOptions):
        times, velocities = simulate_flow(points, triangles, options)
        channels = tuple(
            Channel(name=f"U_{axis}", units="m s-1", long_name=f"{axis} component of U")
            for axis in "xy"
        )
        sequences: tuple[Sequence, ...] = (Sequence(times, velocities.astype(np.float32), mesh),)
    else:
        found = [simulate_heat(points, triangles, seed, options) for seed in HEAT_SEEDS]
        channels = (Channel(name="temperature", units="K"),)
        sequences = tuple(
            Sequence(times, fields[:, None].astype(np.float32), mesh) for times, fields in found
        )
    groups = tuple(range(len(sequences)))
    return Trajectories(sequences, channels, SPACE, Clock(units="s"), groups)


def _mesh(points: np.ndarray, triangles: np.ndarray) -> Mesh:
    count = len(triangles)
    cells = Tessellation.checked(
        points,
        np.full(count, TRIANGLE),
        3 * np.arange(count + 1),
        triangles.ravel(),
        on_cells=False,
    )
    return tessellated_mesh(cells, "box")
