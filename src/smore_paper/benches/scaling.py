"""What an epoch costs against the number of points, in the same memory throughout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from smore.settings import Settings
from smore_paper.measuring.generated import Generated
from smore_paper.presets import preset_settings
from smore_paper.tables.capacity.measure import MEGABYTE
from smore_paper.tables.capacity.streamed_fit import fit_generated

GRIDS = (64, 128, 256, 512, 1024, 2048)
SEQUENCES, SNAPSHOTS = 2, 10
PRESET = "ns-lrlq"
# So little that all but the smallest grid are decoded in chunks.
DEFAULT_MEMORY = "200MB"


@dataclass(frozen=True)
class GridCost:
    """One epoch of Algorithm 1 on one grid, streamed from disk.

    Attributes:
        reading_seconds: to read, check and copy the data beforehand.
        seconds: of the epoch.
        peak_megabytes: largest resident memory of a fresh process, libraries included.
        chunk_size: points decoded at once; None for all.
    """

    grid: int
    points: int
    reading_seconds: float
    seconds: float
    peak_megabytes: float
    chunk_size: int | None


@dataclass(frozen=True)
class ScalingBench:
    """How time and memory grow with the number of points.

    Attributes:
        memory: what a fit may hold beside libraries, see `Settings.memory`.
        time_exponent: slope of log seconds over log points, by least squares.
        memory_ratio: peak of the largest grid over that of the smallest.
    """

    preset: str
    memory: str
    sequences: int
    snapshots: int
    grids: tuple[GridCost, ...]
    time_exponent: float
    memory_ratio: float
    threads: int


def bench_scaling(grids: Sequence[int], memory: str, scratch: Path | None = None) -> ScalingBench:
    """Measure every grid in a process of its own.

    Args:
        grids: points along each side, at least two of them, increasing.
        memory: of every fit.
        scratch: folder for generated data; by default that of smore's cache.

    Raises:
        DataError: the disk is too small, or the machine's memory.
    """
    settings = preset_settings(
        PRESET, recipe="paper", epochs=1, validation_fraction=0.0, memory=memory
    )
    costs = tuple(grid_cost(grid, settings, scratch) for grid in grids)
    return ScalingBench(
        preset=PRESET,
        memory=memory,
        sequences=SEQUENCES,
        snapshots=SNAPSHOTS,
        grids=costs,
        time_exponent=exponent([cost.points for cost in costs], [cost.seconds for cost in costs]),
        memory_ratio=costs[-1].peak_megabytes / costs[0].peak_megabytes,
        threads=torch.get_num_threads(),
    )


def grid_cost(grid: int, settings: Settings, scratch: Path | None) -> GridCost:
    """What an epoch takes on one grid."""
    data = Generated(grid, SEQUENCES, SNAPSHOTS)
    measured = fit_generated(data, settings, scratch)
    fit = measured.result
    return GridCost(
        grid,
        data.points,
        fit.reading_seconds,
        fit.seconds_per_epoch,
        measured.peak / MEGABYTE,
        fit.chunk_size,
    )


def exponent(points: Sequence[int], seconds: Sequence[float]) -> float:
    """a of seconds ~ points^a, by least squares of logarithms."""
    slope, _ = np.polyfit([math.log(n) for n in points], [math.log(t) for t in seconds], 1)
    return float(slope)
