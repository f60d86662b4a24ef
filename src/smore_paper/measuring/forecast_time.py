"""How long forecasts take, from the first snapshot to fields at every later one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from smore.data import Trajectories
from smore.inference import FitMethod
from smore.model import SMORE
from smore.surrogate import advance, decode, infer
from smore_paper.baselines.base import Baseline

REPEATS = 3


def smore_forecast_seconds(model: SMORE, test: Trajectories, method: FitMethod) -> float:
    """Of one sequence, all being forecast together: state inferred, advanced, decoded."""
    surrogate = model.surrogate_
    seen = surrogate.aligned(test).leading(1)
    times = np.stack([sequence.times[1:] for sequence in test])
    mesh = seen.sequences[0].mesh

    def forecast() -> None:
        decode(surrogate, advance(surrogate, infer(surrogate, seen, method), times), mesh)

    return _fastest(forecast) / len(test)


def baseline_forecast_seconds(baseline: Baseline, test: Trajectories) -> float:
    """Of one sequence, all being forecast together."""
    num_steps = test.sequences[0].num_snapshots - 1
    return _fastest(lambda: baseline.forecast(test, num_steps)) / len(test)


def _fastest(work: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)
