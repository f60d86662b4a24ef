"""Fits of this checkout beside those of another one, in one run on one machine.

    python tools/against.py OTHER CASE [CASE ...] [--threads N] [--results FILE]

OTHER is a checkout of an older commit, whose `src` the same Python imports in place of ours. Cases:

    preset:NAME:SEED  one of the paper's configurations, or ours with as many parameters
    default:DATASET   default settings, told nothing but the training window
    halves:NAME       trained on another random half of the points per sequence, scored on the other
    left-out:NAME     trained on one random half of the points, scored on both (also: scattered)
    record            one record of 300 snapshots at 50,000 scattered points, default settings
    demo              `smore demo`

Every case runs in a process of its own, the other checkout first. Only names both have are used.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
TRAINING_WINDOW = 10
RECORD_SNAPSHOTS, RECORD_AHEAD, RECORD_POINTS = 300, 60, 50_000
# Ours that stand beside a preset of the other checkout: the same numbers in other places.
INSTEAD = {"sw-fourier": "sw-koopman", "ns-free": "ns-lrlq"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("other", type=Path)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(measure(options.cases[0], options.threads)))
        return
    for case in options.cases:
        rows = [run(tree, case, options.threads) for tree in (options.other.resolve(), HERE)]
        ratio = rows[0]["seconds"] / rows[1]["seconds"]
        print(case, json.dumps(rows), f"{ratio:.3g} times faster", flush=True)
        if options.results is not None:
            keep(options.results, case, rows, ratio)


def run(tree: Path, case: str, threads: int) -> dict[str, Any]:
    """What a case gives in a checkout."""
    command = [sys.executable, __file__, str(tree), case, "--threads", str(threads), "--inside"]
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    if tree != HERE and case.startswith("preset:"):
        name = case.split(":")[1]
        command[3] = case.replace(name, INSTEAD.get(name, name))
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    commit = ["git", "-C", str(tree), "rev-parse", "--short", "HEAD"]
    found["commit"] = subprocess.check_output(commit, text=True).strip()
    return found


def keep(path: Path, case: str, rows: list[dict[str, Any]], ratio: float) -> None:
    """One row for both, with what it takes to measure them again."""
    from smore_paper.results import append_row

    other, ours = rows
    names = [name for name in ours if name not in ("seconds", "commit")]
    row = {"case": case, "faster": ratio, "other_commit": other["commit"]}
    row |= {"other_seconds": other["seconds"], "seconds": ours["seconds"]}
    append_row(
        path,
        row
        | {"other_error": other["error"], "error": ours["error"]}
        | {name: ours[name] for name in names if name != "error"},
    )


def measure(case: str, threads: int) -> dict[str, Any]:
    """Error and seconds of one case, in this process."""
    import torch

    torch.set_num_threads(threads)
    kind, *arguments = case.split(":")
    measures: dict[str, Callable[..., dict[str, Any]]] = {
        "preset": _preset,
        "default": _default,
        "halves": _halves,
        "left-out": _left_out,
        "record": _record,
        "demo": _demo,
    }
    return {"elsewhere": None} | measures[kind](*arguments)


def _model(name: str, seed: int = 0) -> Any:
    from smore_paper import presets

    if name not in presets.PRESETS:
        from smore_paper.benches.recipes import base_preset

        base, changes = base_preset(name)
        return presets.from_preset(base, seed=seed, **changes)
    return presets.from_preset(name, seed=seed)


def _benchmark(name: str) -> tuple[Any, Any]:
    from smore.data import Trajectories
    from smore_paper import datasets
    from smore_paper.presets import PRESETS

    base = INSTEAD.get(name, name)
    benchmark = datasets.load(PRESETS[base].dataset if base in PRESETS else base)
    return Trajectories.from_xarray(benchmark.train), Trajectories.from_xarray(benchmark.test)


def _fitted(model: Any, training: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    model.fit(training, progress=False)
    return model, round(time.perf_counter() - started, 2)


def _preset(name: str, seed: str) -> dict[str, Any]:
    training, test = _benchmark(name)
    model, seconds = _fitted(_model(name, int(seed)), training)
    return {"error": model.evaluate(test).full_mse, "seconds": seconds}


def _default(name: str) -> dict[str, Any]:
    from smore import SMORE

    training, test = _benchmark(name)
    model, seconds = _fitted(SMORE(train_length=TRAINING_WINDOW), training)
    return {"error": model.evaluate(test).full_mse, "seconds": seconds}


def _split(data: Any, seed: int, *, alike: bool) -> tuple[Any, Any]:
    """Every sequence at a random half of its points, and at the other half."""
    import numpy as np

    random, size = np.random.default_rng(seed), data.sequences[0].mesh.num_points
    orders = [random.permutation(size) for _ in range(1 if alike else len(data))]
    halves = [np.array_split(order, 2) for order in orders]
    if alike:
        first, second = halves[0]
        return data.at_points(np.sort(first)), data.at_points(np.sort(second))
    return data.at_points([each[0] for each in halves]), data.at_points([e[1] for e in halves])


def _halves(name: str) -> dict[str, Any]:
    training, test = _benchmark(name)
    model, seconds = _fitted(_model(name), _split(training, 0, alike=False)[0])
    seen, unseen = _split(test, 1, alike=False)
    return {
        "error": model.evaluate(unseen, observations=seen.leading(1)).full_mse,
        "seconds": seconds,
    }


def _left_out(name: str) -> dict[str, Any]:
    from smore import SMORE

    if name == "scattered":
        training, test = _scattered(200, 0, 5000), _scattered(60, 200, 5000)
        model = SMORE()
    else:
        (training, test), model = _benchmark(name), _model(name)
    # The same half in training and test.
    model, seconds = _fitted(model, _split(training, 0, alike=True)[0])
    seen, unseen = _split(test, 0, alike=True)
    first = seen.leading(1)
    errors = [model.evaluate(each, observations=first).full_mse for each in (seen, unseen)]
    return {"error": errors[0], "elsewhere": errors[1], "seconds": seconds}


def _scattered(snapshots: int, first: int, points: int) -> Any:
    """Travelling waves that fade with their number, at random points of the unit square."""
    import numpy as np
    import xarray as xr

    random = np.random.default_rng(0)
    x, y = random.random((2, points))
    times = 0.1 * np.arange(first, first + snapshots)
    field = np.zeros((snapshots, points))
    for number in range(1, 13):
        kx, ky = random.integers(-6, 7, 2)
        phase, rate = random.random() * 6.28, random.uniform(0.5, 3.0)
        angle = 2 * np.pi * (kx * x + ky * y)[None] - rate * times[:, None] + phase
        field += np.sin(angle) / number
    return _trajectories(
        xr.Dataset(
            {"u": (("time", "point"), field.astype(np.float32))},
            {"time": times, "x": ("point", x), "y": ("point", y)},
        )
    )


def _trajectories(dataset: Any) -> Any:
    from smore.data import Trajectories

    return Trajectories.from_xarray(dataset)


def _record() -> dict[str, Any]:
    from smore import SMORE

    training = _scattered(RECORD_SNAPSHOTS, 0, RECORD_POINTS)
    test = _scattered(RECORD_AHEAD, RECORD_SNAPSHOTS, RECORD_POINTS)
    model, seconds = _fitted(SMORE(), training)
    return {"error": model.evaluate(test).full_mse, "seconds": seconds}


def _demo() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "smore", "demo", "--json"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seconds = round(time.perf_counter() - started, 2)
    return {"error": json.loads(done.stdout)["full_mse"], "seconds": seconds}


if __name__ == "__main__":
    main()
