"""How fast the filter is, beside filterpy: fixed sensors, many times, both in one run."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.assimilation import (
    Gaussian,
    Readings,
    SteadyFilter,
    Transition,
    run_fixed,
    steady_filter,
)

Array = NDArray[np.float64]

REPEATS = 3


@dataclass(frozen=True)
class FilterSpeed:
    """Seconds for all times of one stream.

    Attributes:
        steady_seconds: with the steady gain, its Riccati equation included.
        exact_seconds: with exact covariances at every time.
        filterpy_seconds: filterpy, step by step.
        steady_speedup, exact_speedup: filterpy's time over these.
        steady_difference: largest difference of means from filterpy's in the last tenth of times.
        exact_difference: the same of exact covariances, at all times.
        memory_ratio: peak memory of the steady run, that of twice as many times over it.
    """

    dim: int
    sensors: int
    times: int
    steady_seconds: float
    exact_seconds: float
    filterpy_seconds: float
    steady_speedup: float
    exact_speedup: float
    steady_difference: float
    exact_difference: float
    memory_ratio: float


def filter_speed(dim: int = 200, sensors: int = 100, times: int = 1000) -> FilterSpeed:
    """A random rotation with damping and noise, watched by fixed sensors."""
    from filterpy.kalman import KalmanFilter

    random = np.random.default_rng(0)
    matrix = 0.99 * np.linalg.qr(random.normal(size=(dim, dim)))[0]
    transition = Transition(matrix, np.zeros(dim), 0.1 * np.eye(dim))
    rows = random.normal(size=(sensors, dim)) / dim**0.5
    fixed = Readings(rows, np.zeros(sensors), np.full(sensors, 0.1))
    truth, values = random.normal(size=dim), np.empty((times, sensors))
    for index in range(times):
        values[index] = rows @ truth + 0.1 * random.normal(size=sensors)
        truth = matrix @ truth + 0.1 * random.normal(size=dim)

    first = Gaussian(np.zeros(dim), np.eye(dim))

    def stepped() -> Array:
        theirs = KalmanFilter(dim_x=dim, dim_z=sensors)
        theirs.x, theirs.P, theirs.F, theirs.H = np.zeros(dim), np.eye(dim), matrix, rows
        theirs.Q, theirs.R = 0.01 * np.eye(dim), 0.01 * np.eye(sensors)
        means = []
        for index, seen in enumerate(values):
            if index:
                theirs.predict()
            theirs.update(seen)
            means.append(theirs.x)
        return np.array(means)

    def exactly() -> Array:
        return np.array([state.mean for state in run_fixed(first, transition, fixed, values)])

    def steadily() -> Array:
        return np.array([*steady_filter(transition, fixed).run(np.zeros(dim), values)])

    filterpy_seconds, means = _quickest(stepped)
    exact_seconds, exact = _quickest(exactly)
    steady_seconds, steady = _quickest(steadily)
    settled = steady_filter(transition, fixed)
    once, twice = (_peak(settled, values, repeats) for repeats in (1, 2))
    late = slice(times - times // 10, None)
    return FilterSpeed(
        dim=dim,
        sensors=sensors,
        times=times,
        steady_seconds=round(steady_seconds, 3),
        exact_seconds=round(exact_seconds, 2),
        filterpy_seconds=round(filterpy_seconds, 2),
        steady_speedup=filterpy_seconds / steady_seconds,
        exact_speedup=filterpy_seconds / exact_seconds,
        steady_difference=float(np.abs(steady[late] - means[late]).max()),
        exact_difference=float(np.abs(exact - means).max()),
        memory_ratio=twice / once,
    )


def _quickest(work: Callable[[], Array]) -> tuple[float, Array]:
    """Seconds of the quickest of some runs, on a machine that others may use, and the result."""
    best, found = np.inf, np.empty(0)
    for _ in range(REPEATS):
        started = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - started)
    return best, found


def _peak(settled: SteadyFilter, values: np.ndarray, repeats: int) -> int:
    """Bytes that a steady run takes at most, over the readings so many times."""
    tracemalloc.start()
    for _ in settled.run(np.zeros(len(settled.gain)), _again(values, repeats)):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _again(values: np.ndarray, repeats: int) -> Iterator[np.ndarray]:
    for _ in range(repeats):
        yield from values
