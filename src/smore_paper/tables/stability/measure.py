"""The stability study: SMORE-LRLQ with its four mechanisms switched on and off.

Two penalties, clipping and the low rank of the quadratic term, in the paper's ten combinations,
over the latent dimension. Nothing is selected: a row has the error of the last good state, which
after a divergence is that of the epoch before.

The first non-finite epoch depends on how the dynamics start, which the paper does not say (here as
in `dynamics.quadratic`): compare whether there is one, and its order of magnitude.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from smore.data import Trajectories
from smore.errors import SettingsError
from smore.model import SMORE
from smore.settings import Settings
from smore_paper.claims import STABILITY_CLAIMS, STABILITY_DIMS
from smore_paper.tables.compared import paper_preset, supervising_and_test
from smore_paper.tables.ledger import Ledger, Row, Run, Table
from smore_paper.tables.rates.measure import Rates, require_rates
from smore_paper.tables.resumable_fit import last_state_error, resumable_fit

NAME = "stability"
PAPER_EPOCHS = 10_000
# From epoch 687 on training is a plain rollout (0.99 · 0.99^epoch < 1e-3): fewer never see that.
DEFAULT_EPOCHS = 1000
DATASETS = tuple(STABILITY_DIMS)
# Whose rates all have: the study is of one model, and the paper states one setting for it.
RATES_OF = ("navier-stokes", "smore-lrlq")
# Unless all are asked for, all configurations are run at the largest dimension, these everywhere.
EVERYWHERE = ("FULL", "OFF", "FULL without low rank")


@dataclass(frozen=True)
class Mechanisms:
    """Which of the four are on: L_reg,cons, L_reg,eig, clipping, low rank."""

    cons: bool
    eig: bool
    clip: bool
    low_rank: bool


CONFIGURATIONS = {
    "OFF": Mechanisms(cons=False, eig=False, clip=False, low_rank=False),
    "cons only": Mechanisms(cons=True, eig=False, clip=False, low_rank=False),
    "eig only": Mechanisms(cons=False, eig=True, clip=False, low_rank=False),
    "penalties only": Mechanisms(cons=True, eig=True, clip=False, low_rank=False),
    "clip only": Mechanisms(cons=False, eig=False, clip=True, low_rank=False),
    "low rank only": Mechanisms(cons=False, eig=False, clip=False, low_rank=True),
    "FULL": Mechanisms(cons=True, eig=True, clip=True, low_rank=True),
    "FULL without penalties": Mechanisms(cons=False, eig=False, clip=True, low_rank=True),
    "FULL without clip": Mechanisms(cons=True, eig=True, clip=False, low_rank=True),
    "FULL without low rank": Mechanisms(cons=True, eig=True, clip=True, low_rank=False),
}


@dataclass(frozen=True)
class StabilityFigures:
    """What is measured of a run.

    Attributes:
        rank: κ, None without low rank.
        start: standard deviation of a free Q at the start, where it is not the usual one.
        decoder_rate, dynamics_rate: what `rates` chose for LRLQ on Navier-Stokes.
        epochs: how many were asked for.
        first_non_finite_epoch: counted from 0; None if all stayed finite.
        full_mse: of the last good state on the test set; inf if its forecasts overflow.
    """

    cons: str
    eig: str
    clip: str
    low_rank: str
    rank: int | None
    decoder_rate: float
    dynamics_rate: float
    start: float | None
    epochs: int
    epochs_run: int
    first_non_finite_epoch: int | None
    full_mse: float | None
    paper_epochs: int
    paper_first_non_finite_epoch: int | None
    paper_full_mse: float
    parameters: int
    seconds: float
    device: str
    selection: str


COLUMNS = tuple(column.name for column in fields(StabilityFigures))


def stability_runs(
    names: Sequence[str],
    num_seeds: int,
    *,
    whole: bool = False,
    latent_dims: Sequence[int] | None = None,
    start: float | None = None,
) -> list[Run]:
    """All configurations at the largest latent dimension; with `whole` everywhere, else three.

    Args:
        names: benchmarks.
        num_seeds: seeds are counted from 0.
        whole: all configurations at every latent dimension.
        latent_dims: those to run, where the paper has them; by default all.
        start: standard deviation of Q at the start; only configurations whose Q is free have one.

    Raises:
        SettingsError: a latent dimension that none of the benchmarks has.
    """
    _require_dims(names, latent_dims or ())
    return [
        stability_run(dataset, name, latent_dim, seed, start)
        for seed in range(num_seeds)
        for dataset in names
        for latent_dim in STABILITY_DIMS[dataset]
        if latent_dims is None or latent_dim in latent_dims
        for name in CONFIGURATIONS
        if whole or latent_dim == STABILITY_DIMS[dataset][-1] or name in EVERYWHERE
        if start is None or not CONFIGURATIONS[name].low_rank
    ]


def _require_dims(names: Sequence[str], latent_dims: Sequence[int]) -> None:
    there = {name: STABILITY_DIMS[name] for name in names}
    unknown = set(latent_dims).difference(*there.values())
    if unknown:
        told = "; ".join(f"{', '.join(map(str, dims))} on {name}" for name, dims in there.items())
        raise SettingsError(
            f"the paper's latent dimensions are {told}; got {', '.join(map(str, sorted(unknown)))}"
        )


def stability_run(
    dataset: str, configuration: str, latent_dim: int, seed: int, start: float | None = None
) -> Run:
    variant: dict[str, Any] = {"configuration": configuration, "latent_dim": latent_dim}
    if start is not None:
        variant["start"] = start
    return Run(NAME, dataset, "smore-lrlq", "paper", seed, variant)


def has_usual_start(row: Row) -> bool:
    """Whether the quadratic term of a row started as all do; another start is part of its key."""
    return "_start=" not in row["key"]


def stability_table(results: Path, epochs: int) -> Table:
    """`results/stability.csv`, by trainings of so many epochs."""
    ledger = Ledger(results, NAME, COLUMNS)

    def measure(run: Run) -> Row:
        rates = require_rates(results, *RATES_OF)
        train, test = supervising_and_test(run.dataset)
        return asdict(study(run, rates, train, test, epochs, ledger.checkpoints(run)))

    return ledger, measure


def study(
    run: Run,
    rates: Rates,
    train: Trajectories,
    test: Trajectories,
    epochs: int,
    checkpoints: Path | None,
) -> StabilityFigures:
    """Train one configuration, come what may."""
    name, latent_dim = run.variant["configuration"], run.variant["latent_dim"]
    settings = configured(run.dataset, name, latent_dim).replace(
        epochs=epochs, seed=run.seed, quadratic_start=run.variant.get("start"), **asdict(rates)
    )
    model = SMORE.from_settings(settings)
    divergence = resumable_fit(model, train, checkpoints=checkpoints)
    record = model.surrogate_.description.training
    claim = STABILITY_CLAIMS[run.dataset, name, latent_dim]
    switches = {key: "on" if on else "off" for key, on in asdict(CONFIGURATIONS[name]).items()}
    return StabilityFigures(
        **switches,
        rank=settings.rank,
        decoder_rate=rates.decoder_rate,
        dynamics_rate=rates.dynamics_rate,
        start=settings.quadratic_start,
        epochs=epochs,
        epochs_run=record.epochs_run,
        first_non_finite_epoch=None if divergence is None else divergence.epoch,
        full_mse=last_state_error(model, test),
        paper_epochs=PAPER_EPOCHS,
        paper_first_non_finite_epoch=claim.first_non_finite_epoch,
        paper_full_mse=claim.full_mse,
        parameters=model.num_parameters,
        seconds=round(record.seconds, 1),
        device=str(next(model.surrogate_.decoder.parameters()).device),
        selection="last good state",
    )


def configured(dataset: str, name: str, latent_dim: int) -> Settings:
    """The preset for `dataset` with this latent dimension and these mechanisms.

    κ = ⌊p / 6⌋ on Navier-Stokes and 10 on shallow water. Without low rank the quadratic term is
    free. All training sequences are trained on, as there is nothing to select.
    """
    on = CONFIGURATIONS[name]
    settings = paper_preset(dataset, "smore-lrlq").settings
    rank = latent_dim // 6 if dataset == "navier-stokes" else 10
    return settings.replace(
        recipe="paper",
        latent_dim=latent_dim,
        dynamics="lrlq" if on.low_rank else "quadratic",
        rank=rank if on.low_rank else None,
        cons_weight=settings.cons_weight if on.cons else 0.0,
        eig_weight=settings.eig_weight if on.eig else 0.0,
        clip_norm=settings.clip_norm if on.clip else None,
        validation_fraction=0.0,
    )
