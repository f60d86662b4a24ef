"""What pointwise minibatching saves in memory, and what it costs in time and error.

Algorithm 1 on Navier-Stokes with all points at once, in the paper's chunks of 64 points and in
chunks of 512. The paper decodes every snapshot of a minibatch at every point, which is what its
chunks are for; here the memory of a chunk does not depend on the number of snapshots.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch

from smore.data import Trajectories
from smore.model import SMORE
from smore.runtime import resolve_device
from smore.settings import Settings
from smore.training import assemble, prepare
from smore.training import train as run_recipe
from smore_paper.measuring.fresh_process import alone, memory_rise
from smore_paper.tables.compared import paper_preset, supervising_and_test
from smore_paper.tables.ledger import Ledger, Row, Run, Table
from smore_paper.tables.resumable_fit import last_state_error
from smore_paper.tables.selection import SELECTED_ON

NAME = "pointwise"
DATASET, MODEL = "navier-stokes", "smore-lrlq"
PAPER_EPOCHS = 5000
DEFAULT_EPOCHS = 500
MEGABYTE = 10**6

# Points that are decoded at once.
ALL, PAPER_CHUNK, OUR_CHUNK = "all", 64, 512
CHUNKS: dict[str | int, int] = {ALL: 64 * 64, PAPER_CHUNK: PAPER_CHUNK, OUR_CHUNK: OUR_CHUNK}


@dataclass(frozen=True)
class PointwiseCost:
    """What a training takes, and what it comes to."""

    memory_megabytes: float
    seconds: float
    full_mse: float


# After 5,000 epochs on four A100 GPUs.
POINTWISE_CLAIMS: dict[str | int, PointwiseCost] = {
    ALL: PointwiseCost(18_613.9, 1 * 3600 + 8 * 60 + 21, 1.530e-3),
    PAPER_CHUNK: PointwiseCost(314.6, 4 * 3600 + 4 * 60 + 32, 1.607e-3),
}


@dataclass(frozen=True)
class PointwiseFigures:
    """What is measured of a run.

    Attributes:
        epochs: how many were completed.
        seconds: of training, its evaluation stages included.
        memory_megabytes: rise of a fresh process's resident memory during training, above data and
            libraries.
        full_mse: on the test set, of the state that did best there, as the paper selects.
    """

    epochs: int
    seconds: float
    memory_megabytes: float
    full_mse: float | None
    paper_epochs: int
    paper_seconds: float | None
    paper_memory_megabytes: float | None
    paper_full_mse: float | None
    device: str
    selection: str


COLUMNS = tuple(column.name for column in fields(PointwiseFigures))


@dataclass(frozen=True)
class TrainedAlone:
    """What a process of its own has to say about its training."""

    epochs: int
    seconds: float
    rise: int
    full_mse: float | None
    device: str
    divergence: str


def pointwise_runs(num_seeds: int) -> list[Run]:
    """A run for every chunk size, one seed after the other."""
    return [
        Run(NAME, DATASET, MODEL, "paper", seed, {"chunk_size": chunk})
        for seed in range(num_seeds)
        for chunk in CHUNKS
    ]


def pointwise_table(results: Path, epochs: int) -> Table:
    """`results/pointwise.csv`, by trainings of so many epochs, each in a process of its own."""

    def measure(run: Run) -> Row:
        chunk = run.variant["chunk_size"]
        settings = paper_preset(DATASET, MODEL).settings.replace(
            recipe="paper", epochs=epochs, seed=run.seed, chunk_size=CHUNKS[chunk]
        )
        trained = alone(train_alone, settings)
        if trained.divergence:
            warnings.warn(trained.divergence, RuntimeWarning, stacklevel=2)
        claim = POINTWISE_CLAIMS.get(chunk)
        figures = PointwiseFigures(
            epochs=trained.epochs,
            seconds=round(trained.seconds, 1),
            memory_megabytes=round(trained.rise / MEGABYTE, 1),
            full_mse=trained.full_mse,
            paper_epochs=PAPER_EPOCHS,
            paper_seconds=None if claim is None else claim.seconds,
            paper_memory_megabytes=None if claim is None else claim.memory_megabytes,
            paper_full_mse=None if claim is None else claim.full_mse,
            device=trained.device,
            selection=SELECTED_ON["test"],
        )
        return asdict(figures)

    return Ledger(results, NAME, COLUMNS), measure


def train_alone(settings: Settings) -> TrainedAlone:
    """Train and score; to be called in a fresh process."""
    train, test = supervising_and_test(DATASET)
    device = resolve_device(settings.device)
    _warm_up(train, settings, device)
    prepared = prepare(train, test, settings, device)
    started = time.monotonic()
    trained, rise = memory_rise(lambda: run_recipe(prepared, device, show_progress=True))
    seconds = time.monotonic() - started
    model = SMORE.from_settings(settings)
    model.surrogate_ = assemble(prepared, trained, seconds)
    return TrainedAlone(
        trained.epochs_run,
        seconds,
        rise,
        last_state_error(model, test),
        str(device),
        "" if trained.divergence is None else str(trained.divergence),
    )


def _warm_up(train: Trajectories, settings: Settings, device: torch.device) -> None:
    """Let libraries load whatever they load when they are first used, on data of no size."""
    some = np.linspace(0, train.sequences[0].mesh.num_points - 1, 50).astype(int)
    few = train.select([0, 1]).at_points(some)
    prepared = prepare(few, few, settings.replace(epochs=1, chunk_size=None), device)
    run_recipe(prepared, device, show_progress=False)
