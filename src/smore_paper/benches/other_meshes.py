"""Trained on four meshes, asked about a fifth: two problems in domains with holes.

Each of the five is the fifth in turn: by how much a simulation differs from the others, which no
model of them can know, differs from mesh to mesh.

Beside it the way that needs no mesh-free decoder: fields of all meshes interpolated to the first
one by radial basis functions, POD + DMD there, and its forecasts interpolated back.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator

from smore.data import Mesh, Trajectories
from smore.model import SMORE
from smore.surrogate import PodDmd, advance, decode
from smore_paper.datasets.unstructured import simulated

Array = NDArray[np.float64]

NUM_MESHES = 5
# Snapshots of the flow to learn from, and trajectories of heat.
NUM_TRAINING = {"flow": 60, "heat": 24}
RANKS = (4, 8, 16, 24, 32)
NEIGHBOURS = 24


@dataclass(frozen=True)
class OtherMesh:
    """Mean squared errors of forecasts over the variance, weighted by cells.

    Attributes:
        problem: "flow" or "heat".
        fifth: number of the mesh that was not trained on.
        cells_least, cells_most: cells of the five meshes.
        training_error: on the four meshes that were trained on, at times or of trajectories that
            were not.
        other_error: the same on the fifth mesh.
        ratio: of the latter to the former.
        rbf_rank: of POD + DMD, the best of several on the fifth mesh itself.
        rbf_error: of it on the fifth mesh.
        persistence_error: on the fifth mesh.
        seconds: of the fit.
    """

    problem: str
    fifth: int
    cells_least: int
    cells_most: int
    training_error: float
    other_error: float
    ratio: float
    rbf_rank: int
    rbf_error: float
    persistence_error: float
    seconds: float


def study_other_mesh(problem: str, fifth: int) -> OtherMesh:
    """Fit four meshes, forecast all five."""
    seeds = [seed for seed in range(NUM_MESHES) if seed != fifth]
    parts = [_split(problem, simulated(problem, seed)) for seed in (*seeds, fifth)]
    training = _together([part[0] for part in parts[:-1]])
    started = time.perf_counter()
    model = SMORE().fit(training, progress=False)
    seconds = time.perf_counter() - started
    errors = [_error(test, _forecast(model, test)) for _, test in parts]
    test = parts[-1][1]
    rank, rbf = min(
        ((rank, _error(test, _rbf_forecast(parts, rank))) for rank in RANKS),
        key=lambda each: each[1],
    )
    counts = [_mesh(each).tessellation.num_cells for _, each in parts]  # type: ignore[union-attr]
    on_training = float(np.mean(errors[:-1]))
    return OtherMesh(
        problem,
        fifth,
        min(counts),
        max(counts),
        on_training,
        errors[-1],
        errors[-1] / on_training,
        rank,
        rbf,
        _error(test, [np.repeat(each.fields[:1], each.num_snapshots - 1, 0) for each in test]),
        seconds,
    )


def _split(problem: str, data: Trajectories) -> tuple[Trajectories, Trajectories]:
    """What is learned from, and what is forecast."""
    count = NUM_TRAINING[problem]
    if problem == "heat":
        return data.select(range(count)), data.select(range(count, len(data)))
    (whole,) = data.sequences
    later = replace(data, sequences=(whole.snapshots(slice(count - 1, None)),))
    return data.leading(count), later


def _together(parts: list[Trajectories]) -> Trajectories:
    sequences = [sequence for part in parts for sequence in part]
    return replace(parts[0], sequences=tuple(sequences), groups=tuple(range(len(sequences))))


def _mesh(data: Trajectories) -> Mesh:
    return data.sequences[0].mesh


def _forecast(model: SMORE, test: Trajectories) -> list[NDArray]:
    """(times, channels, points) of every sequence from its first snapshot."""
    surrogate = model.surrogate_
    known = surrogate.aligned(test)
    state = model.infer(known.leading(1))
    wanted = np.stack([sequence.times[1:] for sequence in known])
    latents = advance(surrogate, state, wanted)[:, 1:]
    return [decode(surrogate, each, _mesh(test)) for each in latents]


def _error(test: Trajectories, forecasts: list[NDArray]) -> float:
    weights = _mesh(test).weights
    missed = told = 0.0
    for sequence, forecast in zip(test, forecasts, strict=True):
        truth = sequence.fields[1:].astype(float)
        missed += float(((forecast - truth) ** 2 @ weights).sum())
        mean = truth @ weights / weights.sum()
        told += float(((truth - mean.mean(axis=0)[:, None]) ** 2 @ weights).sum())
    return missed / told


def _rbf_forecast(parts: list[tuple[Trajectories, Trajectories]], rank: int) -> list[NDArray]:
    """POD + DMD on the first mesh, from fields of the others that were interpolated there."""
    home, test = _mesh(parts[0][0]), parts[-1][1]
    away = _mesh(test)
    rows = [
        _carried(sequence.fields, sequence.mesh, home)
        for part, _ in parts[:-1]
        for sequence in part
    ]
    model = PodDmd.fit([row.reshape(len(row), -1) for row in rows], rank)
    found = []
    for sequence in test:
        first = _carried(sequence.fields[:1], away, home).reshape(-1)
        later = model.forecast(first, sequence.num_snapshots - 1)
        fields = later.reshape(len(later), test.num_channels, home.num_points)
        found.append(_carried(fields, home, away))
    return found


def _carried(fields: NDArray, source: Mesh, target: Mesh) -> Array:
    """Fields (times, channels, points) of one mesh on another."""
    if source.same_points(target):
        return np.asarray(fields, float)
    columns = fields.reshape(-1, fields.shape[-1]).T
    interpolation = RBFInterpolator(source.coords, columns, neighbors=NEIGHBOURS)
    return interpolation(target.coords).T.reshape(*fields.shape[:-1], target.num_points)
