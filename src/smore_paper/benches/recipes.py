"""The fast recipe on the paper's benchmarks: error, time and memory beside the paper's claims."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from smore_paper import datasets
from smore_paper.claims import ROLLOUT_CLAIMS
from smore_paper.measuring.fresh_process import alone, peak_bytes
from smore_paper.presets import from_preset, preset

# The configurations that the paper's best row on each benchmark belongs to.
BEST_PRESETS = ("wave-koopman", "ns-lrlq", "sw-koopman")
# The same numbers of parameters, or fewer, in other places: what a preset is changed by.
OTHER_SIZES: dict[str, tuple[str, dict[str, int]]] = {
    "ns-free": (
        "ns-lrlq",
        {
            "latent_dim": 100,
            "rank": 10,
            "hidden_dim": 250,
            "num_hidden": 1,
            "dynamics_steps": 800,
        },
    ),
    "sw-fourier": ("sw-koopman", {"num_hidden": 0, "hidden_dim": 3000, "decoder_steps": 1}),
}
# Shorter and shorter schedules show how soon the paper's error is passed.
SHORT_SCHEDULES = (25, 50, 100, 200, 400, 800)


@dataclass(frozen=True)
class RecipeResult:
    """One fit with default settings, scored on test data that nothing was selected by.

    Attributes:
        seed: the seed, or "median" over several.
        peak_megabytes: largest resident memory of a process that did nothing else.
        ratio_to_pod_limit: decoder error over that of the best linear basis, on training data.
        time_to_paper_seconds: duration of the shortest fit that passes the paper's full-window
            error, and its decoder steps; None if not asked for, or none does.
    """

    preset: str
    seed: int | str
    in_horizon_mse: float | None
    extrapolation_mse: float | None
    full_mse: float | None
    paper_in_horizon_mse: float
    paper_extrapolation_mse: float
    paper_full_mse: float
    parameters: int
    seconds: float
    peak_megabytes: float
    decoder_steps: int
    decoder_error: float
    pod_limit: float
    ratio_to_pod_limit: float
    time_to_paper_seconds: float | None = None
    time_to_paper_steps: int | None = None


def bench_recipes(
    presets: Sequence[str], seeds: Sequence[int], models: Path | None = None
) -> Iterator[RecipeResult]:
    """Fit every preset with every seed, each in a process of its own, then the medians.

    The time to the paper's error is measured with seed 0.

    Args:
        models: folder to keep the fitted models in, as `PRESET-SEED.smore`.
    """
    for name in presets:
        runs = []
        for seed in seeds:
            run = alone(_run, name, seed, models)
            if seed == 0 and name not in OTHER_SIZES:
                short_seconds, short_steps = alone(_time_to_paper, name, seed)
                run = replace(
                    run, time_to_paper_seconds=short_seconds, time_to_paper_steps=short_steps
                )
            runs.append(run)
            yield run
        if len(runs) > 1:
            yield median(runs)


def median(runs: Sequence[RecipeResult]) -> RecipeResult:
    """The median of every figure that differs from seed to seed."""

    def middle(name: str) -> Any:
        return statistics.median(getattr(run, name) for run in runs)

    varying = (
        "in_horizon_mse",
        "extrapolation_mse",
        "full_mse",
        "seconds",
        "peak_megabytes",
        "decoder_error",
        "ratio_to_pod_limit",
    )
    return replace(runs[0], seed="median", **{name: middle(name) for name in varying})


def base_preset(name: str) -> tuple[str, dict[str, int]]:
    """The preset behind a name, and what is changed."""
    return OTHER_SIZES.get(name) or (preset(name).name, {})


def _run(name: str, seed: int, models: Path | None) -> RecipeResult:
    base, changes = base_preset(name)
    benchmark = datasets.load(preset(base).dataset)
    model = from_preset(base, seed=seed, **changes).fit(benchmark.train)
    peak_megabytes = round(peak_bytes() / 2**20, 1)
    if models is not None:
        model.save(models / f"{name}-{seed}.smore")
    scores = model.evaluate(benchmark.test)
    record = model.surrogate_.description.training
    claim = ROLLOUT_CLAIMS[base]
    return RecipeResult(
        preset=name,
        seed=seed,
        in_horizon_mse=scores.in_horizon_mse,
        extrapolation_mse=scores.extrapolation_mse,
        full_mse=scores.full_mse,
        paper_in_horizon_mse=claim.in_horizon_mse,
        paper_extrapolation_mse=claim.extrapolation_mse,
        paper_full_mse=claim.full_mse,
        parameters=model.num_parameters,
        seconds=round(record.seconds, 1),
        peak_megabytes=peak_megabytes,
        decoder_steps=record.epochs_run,
        decoder_error=record.findings["decoder_error"],
        pod_limit=record.findings["pod_limit"],
        ratio_to_pod_limit=record.findings["decoder_error"] / record.findings["pod_limit"],
    )


def _time_to_paper(name: str, seed: int) -> tuple[float | None, int | None]:
    """Seconds and decoder steps of the shortest schedule that passes the paper's error."""
    benchmark = datasets.load(preset(name).dataset)
    for steps in SHORT_SCHEDULES:
        model = from_preset(name, seed=seed, decoder_steps=steps, dynamics_steps=steps)
        model.fit(benchmark.train)
        full = model.evaluate(benchmark.test).full_mse
        if full is not None and full <= ROLLOUT_CLAIMS[name].full_mse:
            return round(model.surrogate_.description.training.seconds, 1), steps
    return None, None
