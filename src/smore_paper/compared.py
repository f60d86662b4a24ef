"""The laboratory's baselines as models of `smore compare`, in sizes for data of any kind."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from smore.comparison import whole_steps
from smore.data import Sequence, Trajectories, channel_moments, seen_points
from smore.errors import DataError
from smore_paper.baselines.base import Baseline
from smore_paper.baselines.cno import CNO
from smore_paper.baselines.fno import FNO
from smore_paper.baselines.operator_inference import OperatorInference
from smore_paper.baselines.sfno import SFNO
from smore_paper.baselines.transolver import Transolver

# Snapshots that an operator is rolled out over in training, the paper's.
WINDOW = 10
# Neural operators in the paper's sizes for Wave, the spherical one in that for shallow water.
FOURIER_MODES = 12
# Of operator inference: the one with the best forecasts of held-out trajectories is taken.
RANKS = (3, 5, 10, 20, 40)
HELD_OUT = 0.25
# Stretches that a single record is cut into, so that some can be held out to choose a ridge.
STRETCHES = 8


class Compared:
    """A baseline that learns a map from one snapshot to the next."""

    def __init__(self, seed: int = 0, minutes: float = 10.0) -> None:
        self.seed, self.minutes = seed, minutes

    def fit(self, train: Trajectories) -> None:
        self._train = train
        self._baseline = self._make(train)
        self._baseline.fit(self._windows(train), seed=self.seed, seconds=60 * self.minutes)

    def forecast(self, first: Sequence, times: NDArray[np.float64]) -> NDArray[np.floating]:
        steps = whole_steps(first, times, self._train)
        alone = replace(self._train, sequences=(first,), groups=(0,))
        return self._baseline.forecast(alone, int(steps[-1]))[0, steps - 1]

    def _make(self, train: Trajectories) -> Baseline:
        raise NotImplementedError

    def _windows(self, train: Trajectories) -> Trajectories:
        """Windows of equal length."""
        length = min(WINDOW, min(sequence.num_snapshots for sequence in train))
        cut = train.cut(length)
        whole = [place for place, each in enumerate(cut) if each.num_snapshots == length]
        return cut.select(whole)


class ComparedOperatorInference(Compared):
    """Quadratic operator inference; rank and ridge are chosen by what is held out.

    Points that never have a value, such as land, are left out; forecasts are NaN there.
    """

    def fit(self, train: Trajectories) -> None:
        self._there = _ever_there(train)
        super().fit(train.at_points(self._there))

    def forecast(self, first: Sequence, times: NDArray[np.float64]) -> NDArray[np.floating]:
        if first.mesh.num_points != len(self._there):
            raise DataError(
                f"expected test data at the {len(self._there)} points of the training data, got "
                f"{first.mesh.num_points} points; interpolate to these, or use smore"
            )
        alone = replace(self._train, sequences=(first,), groups=(0,)).at_points(self._there)
        found = super().forecast(alone.sequences[0], times)
        fields = np.full((*found.shape[:2], len(self._there)), np.nan)
        fields[..., self._there] = found
        return fields

    def _make(self, train: Trajectories) -> Baseline:
        rest, held_out = self._windows(train).split(HELD_OUT, self.seed)
        steps = sum(sequence.num_snapshots - 1 for sequence in rest)
        possible = [rank for rank in RANKS if 4 * rank <= steps] or [1]
        if held_out is None:
            return OperatorInference(possible[0])
        errors = [self._error(rank, rest, held_out) for rank in possible]
        return OperatorInference(possible[int(np.argmin(errors))])

    def _error(self, rank: int, rest: Trajectories, held_out: Trajectories) -> float:
        """Mean squared error, each channel in units of its deviation."""
        scale = channel_moments(rest).scale[:, None]
        model = OperatorInference(rank).fit(rest, seed=self.seed, epochs=1)
        steps = max(sequence.num_snapshots for sequence in held_out) - 1
        total = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for found, truth in zip(model.forecast(held_out, steps), held_out, strict=True):
                later = truth.fields[1:]
                total += float(np.square((found[: len(later)] - later) / scale).mean())
        return total if np.isfinite(total) else np.inf

    def _windows(self, train: Trajectories) -> Trajectories:
        if len(set(train.groups)) > 1:
            return train
        cut = train.cut(max(train.sequences[0].num_snapshots // STRETCHES, 2))
        return replace(cut, groups=tuple(range(len(cut))))


class ComparedFNO(Compared):
    """The Fourier neural operator, for rectangular grids in two dimensions."""

    def _make(self, train: Trajectories) -> Baseline:
        return FNO(min(FOURIER_MODES, _shorter_side(train) // 2), 10, 4)


class ComparedSFNO(Compared):
    """The spherical Fourier neural operator, for grids around the globe."""

    def _make(self, train: Trajectories) -> Baseline:
        return SFNO(min(FOURIER_MODES, _shorter_side(train) // 2), 25, 4)


class ComparedCNO(Compared):
    """The convolutional neural operator."""

    levels: ClassVar[int] = 3

    def _make(self, train: Trajectories) -> Baseline:
        side = _shorter_side(train)
        levels = max(level for level in range(self.levels + 1) if side % 2**level == 0)
        return CNO(levels, 4, 6, 6)


class ComparedTransolver(Compared):
    """Attention over learned slices of the grid."""

    def _make(self, train: Trajectories) -> Baseline:
        return Transolver(5, 33, 64)


def _ever_there(train: Trajectories) -> NDArray[np.bool_]:
    """(points,) where some channel has a value at some time."""
    if len(train.meshes) > 1:
        raise DataError(
            f"expected all sequences at the same points, got {len(train.meshes)} sets of them; "
            "interpolate to common ones, or use smore"
        )
    return np.asarray(seen_points(train).any(axis=0))


def _shorter_side(train: Trajectories) -> int:
    mesh = train.meshes[0]
    if len(train.meshes) > 1 or mesh.dim != 2 or not mesh.separable:
        raise DataError("expected one rectangular grid in two dimensions, got other points")
    return min(mesh.shape)
