"""DAPPER's published cases, run by DAPPER itself: data, and errors of its filters.

A program of its own, for the environment that `make comparators` creates:

    python run_dapper.py raanes2015 SEED TRAINING TIMES OUT.npz

TRAINING steps of the true system without any observations, then an experiment of another start and
other noise, observed TIMES times. Everything is written as plain arrays.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np


def main(case: str, seed: int, training: int, times: int, out: str) -> None:
    import dapper

    dapper.rc.liveplotting = False
    with tempfile.TemporaryDirectory() as folder:
        dapper.rc.dirs.samples = Path(folder)  # it draws samples of the noise once, and keeps them
        dapper.set_seed(3000 + seed)
        model = _model(case)
    model.X0.mu = np.zeros(model.Nx) + model.X0.mu  # its exact filter wants all of them
    tseq = model.tseq
    model.tseq = type(tseq)(
        tseq.dt, dko=tseq.dko, Ko=times - 1, BurnIn=min(tseq.BurnIn, tseq.dt * tseq.dko * times / 8)
    )
    record = _record(model, training)
    truth, seen = model.simulate()
    scored = model.tseq.masko
    found: dict[str, Any] = {}
    for name, method in _methods(case).items():
        started = time.perf_counter()
        method.assimilate(model, truth, seen, liveplots=False)
        found[f"rmse_{name}"] = method.stats.err.rms.a[scored].mean()
        found[f"seconds_{name}"] = time.perf_counter() - started
    found |= {
        "record": record,
        "truth": truth[model.tseq.kko],
        "seen": np.asarray(list(seen)),
        "times": model.tseq.tto,
        "scored": scored,
        "step": model.tseq.dt,
        "variance": model.Obs(0).noise.C.diag[0],
    }
    arrays: dict[str, Any] = {name: np.asarray(found[name], dtype=float) for name in found}
    np.savez(out, **arrays)


def _model(case: str) -> Any:
    if case == "raanes2015":
        from dapper.mods.LA.raanes2015 import HMM
    else:
        from dapper.mods.KS.bocquet2019 import HMM
    return HMM


def _methods(case: str) -> dict[str, Any]:
    """As the case suggests them; the exact filter where there is one."""
    from dapper.da_methods import Climatology, EnKF, ExtKF, OptInterp

    if case == "raanes2015":
        return {
            "kalman": ExtKF(),
            "enkf": EnKF("PertObs", N=30, infl=3.2),
            "climatology": Climatology(),
        }
    return {
        "enkf": EnKF("Sqrt", N=20, infl=1.03, rot=True),
        "oi": OptInterp(),
        "climatology": Climatology(),
    }


def _record(model: Any, count: int) -> np.ndarray:
    """States (count, n) of the system itself, one a step, once its start is forgotten."""
    step, state = model.tseq.dt, np.squeeze(model.X0.sample(1))
    forgotten = int(np.ceil(model.tseq.BurnIn / step))
    states = np.empty((count, len(state)))
    noisy = model.Dyn.noise.C != 0
    for number in range(-forgotten, count):
        state = model.Dyn.model(state, np.nan, step)
        if noisy:
            state = state + np.sqrt(step) * np.squeeze(model.Dyn.noise.sample(1))
        if number >= 0:
            states[number] = state
    return states


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
