"""PySHRED's double gyre: whole flows from three sensors of one component, watched over time.

PySHRED learns a map from the last 25 readings to the flow, by descent; SMORE learns modes and how
they move in closed form, once for any sensors, and filters. Same trajectories, same split, same
sensors, same noise.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from smore.assimilation import Stream, assimilate
from smore.model import SMORE
from smore.surrogate import Surrogate
from smore_paper.benches.assimilation.comparators.double_gyre import (
    NOISE,
    NUM_SENSORS,
    SHAPE,
    TIMES,
    Flows,
    X,
    Y,
    make_flows,
)
from smore_paper.benches.assimilation.comparators.environment import run_comparator

LAGS = 25


@dataclass(frozen=True)
class ThreeSensors:
    """Squared errors over the variance of the test flows, both components.

    Attributes:
        epochs: that PySHRED trained for.
        error: all times; `late`: without the first 25, for which PySHRED has no full history.
        pyshred_error: the same of PySHRED; and `late`.
        ratio: error over PySHRED's.
        seconds: of training, of the processor; and PySHRED's.
        speedup: of training.
        covered: share of true values in the 90% intervals; PySHRED has none.
    """

    seed: int
    epochs: int
    latent_dim: int
    error: float
    error_late: float
    pyshred_error: float
    pyshred_error_late: float
    ratio: float
    seconds: float
    pyshred_seconds: float
    speedup: float
    covered: float


def three_sensors(seeds: range, epochs: int, environments: Path) -> Iterator[ThreeSensors]:
    """With trajectories, sensors and noise of every seed."""
    for seed in seeds:
        theirs = run_comparator(environments, "pyshred", seed, epochs)
        yield compared(seed, make_flows(seed), theirs)


def compared(seed: int, flows: Flows, theirs: dict[str, np.ndarray]) -> ThreeSensors:
    """Our analyses of the test flows beside what PySHRED found."""
    started = time.process_time()
    model = SMORE().fit(training_data(flows))
    seconds = time.process_time() - started
    truth = np.stack([flows.u[-flows.num_test :], flows.v[-flows.num_test :]], axis=2)
    found, deviation = _analysed(model.surrogate_, flows)
    others = np.stack([theirs["u"], theirs["v"]], axis=2)
    ours, ours_late = _errors(found, truth)
    error, late = _errors(others, truth)
    return ThreeSensors(
        seed=seed,
        epochs=int(theirs["epochs"]),
        latent_dim=model.surrogate_.dynamics.dim,
        error=ours,
        error_late=ours_late,
        pyshred_error=error,
        pyshred_error_late=late,
        ratio=ours / error,
        seconds=round(seconds, 2),
        pyshred_seconds=round(float(theirs["seconds"]), 1),
        speedup=float(theirs["seconds"]) / seconds,
        covered=float((np.abs(found - truth) <= 1.645 * deviation).mean()),
    )


def training_data(flows: Flows) -> xr.Dataset:
    """The trajectories to learn from."""
    shape = (flows.num_train, len(TIMES), *SHAPE)
    dims = ("sequence", "time", "x", "y")
    return xr.Dataset(
        {
            "u": (dims, flows.u[: flows.num_train].reshape(shape)),
            "v": (dims, flows.v[: flows.num_train].reshape(shape)),
        },
        coords={"time": TIMES, "x": X, "y": Y},
    )


def _analysed(surrogate: Surrogate, flows: Flows) -> tuple[np.ndarray, np.ndarray]:
    """Fields and deviations (sequences, times, channels, points) of the test streams."""
    x, y = (axis.ravel()[flows.sensors] for axis in np.meshgrid(X, Y, indexing="ij"))
    names = [f"sensor {number}" for number in range(NUM_SENSORS)]
    fields, deviations, levels = [], [], None
    for measured in flows.measured[-flows.num_test :]:
        values = np.stack([measured, np.full_like(measured, np.nan)], axis=-1)  # v is not seen
        stream = Stream.of(
            np.repeat(TIMES, NUM_SENSORS),
            np.tile(np.column_stack([x, y]), (len(TIMES), 1)),
            values.reshape(-1, 2),
            names * len(TIMES),
            surrogate,
        )
        analysis = assimilate(surrogate, stream, noise=NOISE, watch=False, levels=levels)
        levels = analysis.levels
        found = analysis.fields(TIMES)
        fields.append(_table(found, ""))
        deviations.append(_table(found, "_std"))
    return np.stack(fields), np.stack(deviations)


def _table(found: xr.Dataset, suffix: str) -> np.ndarray:
    columns = [found[name + suffix].values.reshape(len(TIMES), -1) for name in ("u", "v")]
    return np.stack(columns, axis=1)


def _errors(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Squared errors over the variance of each component, at all times and without the first."""
    squared = np.square(found - truth).mean(axis=(0, 3)) / truth.var(axis=(0, 1, 3))
    return float(squared.mean()), float(squared[LAGS:].mean())
