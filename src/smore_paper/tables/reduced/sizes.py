"""How small the reduced benchmarks are, and the models on them: about 40,000 parameters each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smore.data import Trajectories
from smore.settings import Settings
from smore_paper import datasets
from smore_paper.baselines.cno import CNO
from smore_paper.baselines.fno import FNO
from smore_paper.baselines.operator_inference import OperatorInference
from smore_paper.baselines.pod_dmd import PODDMD
from smore_paper.baselines.rollout_operator import RolloutOperator
from smore_paper.baselines.sfno import SFNO
from smore_paper.baselines.transolver import Transolver
from smore_paper.tables.compared import HORIZON, SMORE_MODELS, paper_preset

STRIDE = 4  # every fourth point along each dimension: 16 x 16, on the sphere 16 x 32
BATCH_SIZE = 8  # sequences, of everyone


@dataclass(frozen=True)
class Share:
    """Trajectories of a benchmark's training and test sets, in their order."""

    train: int
    validation: int
    test: int


# Of shallow water there are no more.
SHARES = {
    "wave": Share(train=32, validation=8, test=8),
    "navier-stokes": Share(train=32, validation=8, test=8),
    "shallow-water": Share(train=7, validation=1, test=2),
}


@dataclass(frozen=True, eq=False)
class ReducedData:
    """Training windows; validation and test sequences at full length."""

    train: Trajectories
    validation: Trajectories
    test: Trajectories


def reduced_data(dataset: str) -> ReducedData:
    """The leading trajectories of a benchmark on a coarser grid."""
    share, benchmark = SHARES[dataset], datasets.load(dataset)
    thin = {
        name: slice(None, None, STRIDE)
        for name in benchmark.train.dims
        if name not in ("sequence", "time")
    }
    train = Trajectories.from_xarray(benchmark.train.isel(thin))
    test = Trajectories.from_xarray(benchmark.test.isel(thin))
    last = share.train + share.validation
    return ReducedData(
        train=_trajectories(train, 0, share.train).leading(HORIZON),
        validation=_trajectories(train, share.train, last),
        test=_trajectories(test, 0, share.test),
    )


def _trajectories(data: Trajectories, start: int, stop: int) -> Trajectories:
    """The sequences that were cut from trajectories start..stop-1."""
    groups = np.unique(data.groups)[start:stop]
    return data.select(np.flatnonzero(np.isin(data.groups, groups)))


# p, h_dec and κ or h_dyn.
_SMORE: dict[tuple[str, str], dict[str, int]] = {
    ("wave", "dino"): {"latent_dim": 40, "hidden_dim": 36, "dynamics_hidden_dim": 84},
    ("wave", "smore-koopman"): {"latent_dim": 40, "hidden_dim": 80},
    ("wave", "smore-lrlq"): {"latent_dim": 24, "hidden_dim": 72, "rank": 3},
    ("navier-stokes", "dino"): {"latent_dim": 40, "hidden_dim": 64, "dynamics_hidden_dim": 72},
    ("navier-stokes", "smore-koopman"): {"latent_dim": 48, "hidden_dim": 84},
    ("navier-stokes", "smore-lrlq"): {"latent_dim": 40, "hidden_dim": 50, "rank": 6},
    ("shallow-water", "dino"): {"latent_dim": 40, "hidden_dim": 36, "dynamics_hidden_dim": 84},
    ("shallow-water", "smore-koopman"): {"latent_dim": 40, "hidden_dim": 80},
    ("shallow-water", "smore-lrlq"): {"latent_dim": 30, "hidden_dim": 52, "rank": 3},
}


def reduced_settings(dataset: str, model: str) -> Settings:
    """SMORE or DINo in its reduced size, otherwise as in the paper's comparison."""
    return paper_preset(dataset, model).settings.replace(
        batch_size=BATCH_SIZE, **_SMORE[dataset, model]
    )


def reduced_operator(dataset: str, model: str) -> RolloutOperator:
    """An untrained neural operator in its reduced size; FNO on the sphere is the spherical one."""
    options = {"batch_size": BATCH_SIZE, "windows_at_once": None}
    if model == "fno":
        kind, width = (SFNO, 12) if dataset == "shallow-water" else (FNO, 9)
        return kind(8, width, 4, **options)  # type: ignore[arg-type]
    if model == "cno":
        return CNO(2, 2, 3, 8, **options)  # type: ignore[arg-type]
    return Transolver(3, 24, 16, **options)  # type: ignore[arg-type]


def reduced_classical(dataset: str, model: str) -> PODDMD | OperatorInference:
    """POD + DMD with a state as long as that of SMORE-Koopman, operator inference as SMORE-LRLQ."""
    channels = 1 if dataset == "navier-stokes" else 2
    koopman, lrlq = (channels * _SMORE[dataset, name]["latent_dim"] for name in SMORE_MODELS)
    return PODDMD(koopman) if model == "pod-dmd" else OperatorInference(lrlq)
