"""How long forecasts take at full size, of every model of the main comparison.

Weights have no influence on that, so networks are hardly trained; classical methods learn from few
sequences. All models of a benchmark are timed one after the other in one process, on one thread:
what can be compared are their ratios.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from smore.data import Trajectories
from smore.inference import FitMethod
from smore.model import SMORE
from smore_paper.baselines.base import Baseline
from smore_paper.baselines.rollout_operator import RolloutOperator
from smore_paper.measuring.forecast_time import (
    baseline_forecast_seconds,
    smore_forecast_seconds,
)
from smore_paper.tables.compared import (
    BY_SMORE,
    VARIANTS,
    make_baseline,
    paper_preset,
    supervising_and_test,
)
from smore_paper.tables.ledger import Ledger, Row, Run, Table

NAME = "cost"
SEQUENCES = 4  # that are forecast together
LEARNED_FROM = 40  # sequences: enough for the largest state of the classical methods


@dataclass(frozen=True)
class CostFigures:
    """What is measured of a model.

    Attributes:
        forecast_seconds: of one sequence, from its first snapshot to fields at all others.
        forecast_steps: so many others.
    """

    forecast_seconds: float
    forecast_steps: int
    sequences_at_once: int


COLUMNS = tuple(column.name for column in fields(CostFigures))


def cost_runs(names: Sequence[str], models: Sequence[str]) -> list[Run]:
    """Every model on every benchmark."""
    return [
        Run(NAME, dataset, model, recipe, 0)
        for dataset in names
        for model, recipe in VARIANTS
        if model in models
    ]


def cost_table(results: Path) -> Table:
    """`results/cost.csv`."""
    ledger = Ledger(results, NAME, COLUMNS)

    def measure(run: Run) -> Row:
        train, test = supervising_and_test(run.dataset)
        few, seen = train.select(range(LEARNED_FROM)), test.select(range(SEQUENCES))
        if run.model in BY_SMORE:
            method: FitMethod = "posterior" if run.recipe == "fast" else "adam"
            seconds = smore_forecast_seconds(_smore(run, few), seen, method)
        else:
            seconds = baseline_forecast_seconds(_baseline(run, few), seen)
        steps = seen.sequences[0].num_snapshots - 1
        return asdict(CostFigures(float(f"{seconds:.3g}"), steps, SEQUENCES))

    return ledger, measure


def _smore(run: Run, train: Trajectories) -> SMORE:
    """A model of the right size and kind of steps, after an epoch of Algorithm 1."""
    exact = run.recipe == "fast" and run.model == "smore-koopman"
    settings = paper_preset(run.dataset, run.model).settings.replace(
        recipe="paper",
        epochs=1,
        validation_fraction=0.0,
        integrator="exact" if exact else "rk4-38",
    )
    return SMORE.from_settings(settings).fit(train, progress=False)


def _baseline(run: Run, train: Trajectories) -> Baseline:
    baseline = make_baseline(run.dataset, run.model)
    if isinstance(baseline, RolloutOperator):
        baseline.begin(train, run.seed)
        baseline.learned(train, 0, 0.0)
        return baseline
    return baseline.fit(train, seed=run.seed, epochs=1)
