"""The paper's recipe to its end: 5,000 epochs with the rates that training data chose (`rates`).

Both protocols of selection: the epoch with the lowest error on the test set, which is the paper's,
and that with the lowest error on training trajectories that are held out, one tenth less to train
on. Rates are read from `rates.csv` in the same folder, and written into the row.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from smore.data import Trajectories
from smore.model import SMORE
from smore_paper.tables.compared import paper_claim, paper_preset, supervising_and_test
from smore_paper.tables.ledger import Ledger, Row, Run, Table
from smore_paper.tables.rates.measure import Rates, require_rates
from smore_paper.tables.resumable_fit import resumable_fit
from smore_paper.tables.selection import Selection, divided

NAME = "algorithm1"
EPOCHS = 5000
PROTOCOLS: tuple[Selection, ...] = ("test", "held-out")
MOST_SEEDS = ("navier-stokes", "smore-lrlq")  # by all seeds; the others by the first
MODELS = (
    MOST_SEEDS,
    ("navier-stokes", "smore-koopman"),
    ("wave", "smore-lrlq"),
    ("shallow-water", "smore-koopman"),
    ("wave", "smore-koopman"),
)
WINDOWS = ("in_horizon_mse", "extrapolation_mse", "full_mse")


@dataclass(frozen=True)
class Algorithm1Figures:
    """What is measured of a run.

    Attributes:
        selected_epoch: whose weights are scored, counted from 0.
        decoder_mse: of the decoder alone, every snapshot fitted by itself.
        last_full_mse: on test data after the last epoch, with the shorter fits of evaluation
            stages; known where these look at test data.
        curve: errors of the evaluation stages, on whatever selects, separated by spaces.
    """

    decoder_rate: float
    dynamics_rate: float
    epochs: int
    epochs_run: int
    selected_epoch: int
    in_horizon_mse: float | None
    extrapolation_mse: float | None
    full_mse: float | None
    decoder_mse: float | None
    last_full_mse: float | None
    paper_in_horizon_mse: float
    paper_extrapolation_mse: float
    paper_full_mse: float
    ratio: float | None
    curve: str
    seconds: float


COLUMNS = tuple(column.name for column in fields(Algorithm1Figures))


def algorithm1_runs(
    names: Sequence[str], models: Sequence[str], protocols: Sequence[Selection], num_seeds: int
) -> list[Run]:
    """One seed of every model by the paper's protocol, then further seeds, then the other one."""
    wanted = [each for each in MODELS if each[0] in names and each[1] in models]
    seeds = [(each, 0, "test") for each in wanted]
    seeds += [(each, seed, "test") for each in wanted for seed in range(1, num_seeds)]
    seeds += [(each, 0, "held-out") for each in wanted]
    return [
        Run(NAME, *each, "paper", seed, {"selection": protocol})
        for each, seed, protocol in seeds
        if protocol in protocols and (seed == 0 or each == MOST_SEEDS)
    ]


def algorithm1_table(results: Path, epochs: int, models: Path | None = None) -> Table:
    """`results/algorithm1.csv`.

    Args:
        models: folder to keep the models in, each as `KEY.smore`.
    """
    ledger = Ledger(results, NAME, COLUMNS)

    def measure(run: Run) -> Row:
        rates = require_rates(results, run.dataset, run.model)
        train, test = supervising_and_test(run.dataset)
        model = trained(run, rates, train, test, epochs, ledger.checkpoints(run))
        if models is not None:
            model.save(models / f"{run.key}.smore")
        return asdict(_figures(run, rates, model, test, epochs))

    return ledger, measure


def trained(
    run: Run,
    rates: Rates,
    train: Trajectories,
    test: Trajectories,
    epochs: int,
    checkpoints: Path | None,
) -> SMORE:
    """The model of a run; one that diverges is in its best state."""
    settings = paper_preset(run.dataset, run.model).settings.replace(
        recipe="paper", seed=run.seed, epochs=epochs, **asdict(rates)
    )
    model = SMORE.from_settings(settings)
    given, selects = divided(run.variant["selection"], train, test, run.seed)
    divergence = resumable_fit(model, given, select_on=selects, checkpoints=checkpoints)
    if divergence is not None:
        warnings.warn(str(divergence), RuntimeWarning, stacklevel=2)
    return model


def _figures(
    run: Run, rates: Rates, model: SMORE, test: Trajectories, epochs: int
) -> Algorithm1Figures:
    evaluation, claim = model.evaluate(test, method="adam"), paper_claim(run.dataset, run.model)
    assert claim is not None
    record, full = model.surrogate_.description.training, evaluation.full_mse
    on_test = run.variant["selection"] == "test" and len(record.history) > 0
    return Algorithm1Figures(
        **asdict(rates),
        **{window: getattr(evaluation, window) for window in WINDOWS},
        **{f"paper_{window}": getattr(claim, window) for window in WINDOWS},
        epochs=epochs,
        epochs_run=record.epochs_run,
        selected_epoch=record.selected_epoch,
        decoder_mse=evaluation.decoder_mse,
        last_full_mse=record.history[-1][1] if on_test else None,
        ratio=None if full is None else full / claim.full_mse,
        curve=" ".join(f"{error:.4g}" for _, error in record.history),
        seconds=round(record.seconds, 1),
    )
