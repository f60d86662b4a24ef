"""A mesh of millions of cells: read, fitted, forecast and written, with the memory that it took."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smore.data import (
    Channel,
    Clock,
    Sequence,
    Space,
    Tessellation,
    Trajectories,
    save_dataset,
    tessellated_mesh,
)
from smore.model import SMORE
from smore_paper.measuring.fresh_process import alone, peak_bytes, reset_peak

TETRAHEDRON = 10
# The six tetrahedra of a cube, by its corners 0 to 7 in binary.
SIX = ((0, 1, 3, 7), (0, 1, 5, 7), (0, 2, 3, 7), (0, 2, 6, 7), (0, 4, 5, 7), (0, 4, 6, 7))
NUM_WAVES = 6
STEP = 0.1


@dataclass(frozen=True)
class LargeMesh:
    """What it took.

    Attributes:
        cells, nodes: of the mesh; there is a value for every cell.
        snapshots: that were read.
        forecast_times: that were written.
        open_seconds: names, times, cells and weights.
        fit_seconds: reading, copying and fitting all fields.
        forecast_seconds: inferring, decoding and writing.
        open_megabytes, fit_megabytes, forecast_megabytes: most resident memory until then, in all.
        error: mean squared error of the forecast over the variance.
    """

    cells: int
    nodes: int
    snapshots: int
    forecast_times: int
    open_seconds: float
    fit_seconds: float
    forecast_seconds: float
    open_megabytes: float
    fit_megabytes: float
    forecast_megabytes: float
    error: float


def bench_large_mesh(side: int, num_snapshots: int, num_forecast: int, folder: Path) -> LargeMesh:
    """Cubes of `side` a side, six tetrahedra each, in a folder with room for the files."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "large.pvd"
    try:
        alone(_write, side, num_snapshots + num_forecast, source)
        return alone(_measure, source, num_snapshots, num_forecast, folder)
    finally:
        for name in ("large", "forecast"):
            (folder / f"{name}.pvd").unlink(missing_ok=True)
            shutil.rmtree(folder / name, ignore_errors=True)


def _write(side: int, num_times: int, path: Path) -> None:
    mesh = tessellated_mesh(_cube(side), "box")
    times = np.linspace(0.0, STEP * (num_times - 1), num_times)
    fields = np.empty((num_times, 1, mesh.num_points), np.float32)
    phase = [mesh.coords @ np.array([1.0, 0.5 * k, 0.3 * k]) * 3 for k in range(1, NUM_WAVES + 1)]
    for number, now in enumerate(times):
        waves = [np.sin(each - (1 + 0.4 * k) * now) / (1 + k) for k, each in enumerate(phase)]
        fields[number, 0] = np.sum(waves, axis=0)
    space = Space(names=("x", "y", "z"), units=("m",) * 3)
    sequence = Sequence(times, fields, mesh)
    Trajectories((sequence,), (Channel(name="u"),), space, Clock(units="s"), (0,)).save(path)


def _cube(side: int) -> Tessellation:
    axis = np.linspace(0, 1, side + 1)
    nodes = np.stack([e.ravel() for e in np.meshgrid(axis, axis, axis, indexing="ij")], axis=1)
    at = np.arange(len(nodes)).reshape((side + 1,) * 3)
    ends = (slice(None, -1), slice(1, None))
    corners = [at[ends[c >> 2], ends[c >> 1 & 1], ends[c & 1]].ravel() for c in range(8)]
    cells = np.stack([np.stack([corners[c] for c in six], axis=1) for six in SIX], axis=1)
    flat = cells.reshape(-1)
    count = len(flat) // 4
    kinds, offsets = np.full(count, TETRAHEDRON), 4 * np.arange(count + 1)
    return Tessellation.checked(nodes, kinds, offsets, flat, on_cells=True)


def _measure(source: Path, num_snapshots: int, num_forecast: int, folder: Path) -> LargeMesh:
    reset_peak()
    clock = time.perf_counter
    started = clock()
    whole = Trajectories.open(source, lazy=True)
    opened, open_peak = clock(), peak_bytes()
    training = whole.leading(num_snapshots)
    model = SMORE().fit(training, progress=False)
    fitted, fit_peak = clock(), peak_bytes()
    sequence = whole.sequences[0]
    last = Trajectories(
        (sequence.snapshots(slice(num_snapshots - 1, num_snapshots)),),
        whole.channels,
        whole.space,
        whole.clock,
        (0,),
    )
    times = sequence.times[num_snapshots:]
    forecast = model.forecast(last, times, points=sequence.mesh, uncertainty=False, lazy=True)
    save_dataset(forecast, folder / "forecast.pvd")
    written, forecast_peak = clock(), peak_bytes()
    cells = sequence.mesh.tessellation
    assert cells is not None
    return LargeMesh(
        cells.num_cells,
        len(cells.nodes),
        num_snapshots,
        num_forecast,
        opened - started,
        fitted - opened,
        written - fitted,
        open_peak / 1e6,
        fit_peak / 1e6,
        forecast_peak / 1e6,
        _error(sequence, folder / "forecast.pvd", num_snapshots),
    )


def _error(truth: Sequence, written: Path, first: int) -> float:
    """Of the last snapshot that was written."""
    found = Trajectories.open(written, lazy=True).sequences[0]
    count = found.num_snapshots
    ours = found.snapshots(slice(count - 1, count)).fields[0, 0]
    theirs = truth.snapshots(slice(first + count - 1, first + count)).fields[0, 0]
    return float(np.mean((ours - theirs) ** 2) / np.var(theirs))
