"""Two cases of DAPPER, with a model that was learned in place of the true one.

`LA/raanes2015`: a wave that runs around a circle of 1,000 points, damped and stirred by noise of
rank 50, 40 points observed every 5 steps. Damping and noise have to be learned; with the true ones
the Kalman filter is exact. `KS/bocquet2019`: the Kuramoto-Sivashinsky equation, chaotic, all of its
128 points observed with noise as large as the solution. DAPPER simulates truth, observations and
the training data (states of the system, without noise of observation), and runs its own filters.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from smore.assimilation import Stream, assimilate
from smore.model import SMORE
from smore_paper.benches.assimilation.comparators.environment import run_comparator


@dataclass(frozen=True)
class Case:
    """What is learned from, and how.

    Args:
        observed: points, evenly along the circle.
        training: steps of the system that are learned from,
        pieces: cut into so many trajectories.
        times: of the observations.
        settings: of the model, where they are not the defaults.
    """

    observed: int
    training: int
    pieces: int
    times: int
    settings: dict[str, Any]


CASES = {
    "raanes2015": Case(40, 5000, 50, 100, {"latent_dim": 50}),
    "bocquet2019": Case(128, 20_000, 1000, 2000, {"dynamics": "quadratic", "latent_dim": 60}),
}


@dataclass(frozen=True)
class LearnedFilter:
    """Errors of analyses, root mean squares over space, then the mean over times after a burn-in.

    Attributes:
        training: steps of the system that the model was learned from.
        times: at which there are observations.
        rmse: of the filter with the learned model.
        stated: what its error bars say.
        true_model_rmse: of DAPPER's filter with the true model: the exact Kalman filter
            (raanes2015), an EnKF of 20 members (bocquet2019).
        ratio: of the two.
        enkf_rmse: raanes2015: of an EnKF of 30 members with the true model.
        oi_rmse: bocquet2019: of optimal interpolation, which has no model.
        climatology_rmse: of the mean.
        fit_seconds, filter_seconds: of the processor.
    """

    case: str
    seed: int
    training: int
    pieces: int
    times: int
    latent_dim: int
    rmse: float
    stated: float
    true_model_rmse: float
    ratio: float
    enkf_rmse: float | None
    oi_rmse: float | None
    climatology_rmse: float
    fit_seconds: float
    filter_seconds: float


def learned_filters(name: str, seeds: range, environments: Path) -> Iterator[LearnedFilter]:
    """One case, with training data, truth and observations of every seed."""
    case = CASES[name]
    for seed in seeds:
        given = run_comparator(environments, "dapper", name, seed, case.training, case.times)
        yield learned_filter(name, case, seed, given)


def learned_filter(name: str, case: Case, seed: int, given: dict[str, np.ndarray]) -> LearnedFilter:
    """The errors of one run that DAPPER made."""
    started = time.process_time()
    model = SMORE(**case.settings).fit(_training_data(given, case.pieces))
    fitted = time.process_time()
    surrogate = model.surrogate_
    seen = given["seen"]
    points = _evenly(given["truth"].shape[1], case.observed)
    stream = Stream.of(
        np.repeat(given["times"], case.observed),
        np.tile(points, len(seen)).astype(float)[:, None],
        seen.reshape(-1, 1),
        [f"sensor {number}" for number in range(case.observed)] * len(seen),
        surrogate,
    )
    deviation = float(given["variance"]) ** 0.5
    analysis = assimilate(surrogate, stream, noise=deviation, watch=False)
    fields = analysis.fields(given["times"])
    ended = time.process_time()
    scored = given["scored"] > 0
    found, deviations = (fields[name].values.reshape(len(seen), -1) for name in ("u", "u_std"))
    rmse, stated = (
        float(np.sqrt(np.square(each).mean(axis=1))[scored].mean())
        for each in (found - given["truth"], deviations)
    )
    reference = float(given["rmse_kalman" if "rmse_kalman" in given else "rmse_enkf"])
    return LearnedFilter(
        case=name,
        seed=seed,
        training=case.training,
        pieces=case.pieces,
        times=len(seen),
        latent_dim=surrogate.dynamics.dim,
        rmse=rmse,
        stated=stated,
        true_model_rmse=reference,
        ratio=rmse / reference,
        enkf_rmse=float(given["rmse_enkf"]) if "rmse_kalman" in given else None,
        oi_rmse=float(given["rmse_oi"]) if "rmse_oi" in given else None,
        climatology_rmse=float(given["rmse_climatology"]),
        fit_seconds=round(fitted - started, 1),
        filter_seconds=round(ended - fitted, 1),
    )


def _training_data(given: dict[str, np.ndarray], pieces: int) -> xr.Dataset:
    record = given["record"]
    length = len(record) // pieces
    fields = record[: pieces * length].reshape(pieces, length, -1)
    return xr.Dataset(
        {"u": (("sequence", "time", "x"), fields)},
        coords={
            "time": float(given["step"]) * np.arange(length),
            "x": np.arange(fields.shape[2], dtype=float),
        },
    )


def _evenly(points: int, count: int) -> np.ndarray:
    """(count,) numbers of points, as DAPPER's `linspace_int` has them."""
    return np.floor(np.linspace(0, points, count, endpoint=False)).astype(int)
