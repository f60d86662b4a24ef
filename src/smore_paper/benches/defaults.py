"""Default settings on the paper's benchmarks, beside what anyone would try first on one mesh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smore.inputs import as_trajectories
from smore.model import SMORE
from smore_paper import datasets
from smore_paper.measuring.fresh_process import alone
from smore_paper.tables.compared import HORIZON, make_baseline
from smore_paper.tables.rollout.measure import evaluate_baseline

REFERENCES = ("pod-dmd", "opinf")


@dataclass(frozen=True)
class DefaultResult:
    """One fit, scored on the test set; nothing but the training window was told.

    Attributes:
        model: "default", or a reference.
        dynamics: what the default chose.
        ratio: of the full-window error to that of the best reference; None for references.
    """

    dataset: str
    model: str
    dynamics: str
    in_horizon_mse: float | None
    extrapolation_mse: float | None
    full_mse: float | None
    ratio: float | None
    parameters: int
    seconds: float


def bench_defaults(names: Sequence[str]) -> Iterator[DefaultResult]:
    """The references, then the default, of every benchmark; each in a process of its own."""
    for name in names:
        references = [alone(_reference, name, model) for model in REFERENCES]
        yield from references
        best = min(each.full_mse for each in references if each.full_mse is not None)
        yield alone(_default, name, best)


def _reference(name: str, model: str) -> DefaultResult:
    benchmark = datasets.load(name)
    train, test = (as_trajectories(each) for each in (benchmark.train, benchmark.test))
    baseline = make_baseline(name, model).fit(train.leading(HORIZON), seed=0, epochs=1)
    scores, _ = evaluate_baseline(baseline, train.leading(HORIZON), test)
    return DefaultResult(
        name,
        model,
        "",
        scores.in_horizon_mse,
        scores.extrapolation_mse,
        scores.full_mse,
        None,
        baseline.num_parameters,
        round(baseline.seconds, 1),
    )


def _default(name: str, best: float) -> DefaultResult:
    benchmark = datasets.load(name)
    model = SMORE(train_length=HORIZON).fit(benchmark.train)
    scores = model.evaluate(benchmark.test)
    description = model.surrogate_.description
    return DefaultResult(
        name,
        "default",
        description.settings.dynamics,
        scores.in_horizon_mse,
        scores.extrapolation_mse,
        scores.full_mse,
        None if scores.full_mse is None else scores.full_mse / best,
        model.num_parameters,
        round(description.training.seconds, 1),
    )
