"""How many decoder steps? Judged on held-out training trajectories, never on test data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from smore.data import Trajectories
from smore_paper.datasets import Benchmark
from smore_paper.presets import Preset, from_preset

HELD_OUT = 0.125


@dataclass(frozen=True)
class StepResult:
    """One fit to 7/8 of the training trajectories, scored on the other eighth."""

    preset: str
    seed: int
    decoder_steps: int
    decoder_error: float
    pod_limit: float
    validation_in_horizon_mse: float | None
    validation_extrapolation_mse: float | None
    validation_full_mse: float | None
    seconds: float


def study_steps(
    chosen: Preset, benchmark: Benchmark, steps: list[int], seed: int
) -> Iterator[StepResult]:
    """Fit with each number of steps in turn."""
    trajectories = Trajectories.from_xarray(benchmark.train)
    training, validation = trajectories.split(HELD_OUT, seed)
    assert validation is not None
    for decoder_steps in steps:
        model = from_preset(chosen.name, decoder_steps=decoder_steps, seed=seed).fit(training)
        record = model.surrogate_.description.training
        scores = model.evaluate(validation)
        yield StepResult(
            preset=chosen.name,
            seed=seed,
            decoder_steps=decoder_steps,
            decoder_error=record.findings["decoder_error"],
            pod_limit=record.findings["pod_limit"],
            validation_in_horizon_mse=scores.in_horizon_mse,
            validation_extrapolation_mse=scores.extrapolation_mse,
            validation_full_mse=scores.full_mse,
            seconds=round(record.seconds, 1),
        )
