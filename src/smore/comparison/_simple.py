"""Our method and what anyone would try first, as forecasters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from smore.comparison.forecaster import whole_steps
from smore.data import Sequence, Trajectories, channel_moments, seen_points
from smore.errors import DataError
from smore.evaluation import NUM_ORIGINS, spread_origins
from smore.model import SMORE
from smore.surrogate import PodDmd, advance, affine_step, decode, infer

Array = NDArray[np.float64]

# Shares of one singular value of another below which a mode is round-off; and the most modes.
ROUND_OFF = 1e-7
MOST_MODES = 256
# What is left out of the training data to choose a rank.
LEFT_OUT = 0.25
WITHOUT_GAPS = "fill them, leave these points out, or use smore, which takes gaps as they are"


class Smore:
    """SMORE with default settings, but for its dynamics."""

    def __init__(self, seed: int = 0, **settings: Any) -> None:
        self.model = SMORE(seed=seed, **settings)

    def fit(self, train: Trajectories) -> None:
        self._alone = replace(train, sequences=train.sequences[:1], groups=(0,))
        self.model.fit(train)

    def forecast(self, first: Sequence, times: Array) -> NDArray[np.floating]:
        surrogate = self.model.surrogate_
        state = infer(surrogate, replace(self._alone, sequences=(first,)), "posterior")
        latents = advance(surrogate, state, times[None])
        return decode(surrogate, latents[0, 1:], first.mesh)


class Persistence:
    """The first snapshot goes on for ever."""

    def fit(self, train: Trajectories) -> None:
        """Nothing is learned."""

    def forecast(self, first: Sequence, times: Array) -> NDArray[np.floating]:
        return np.repeat(first.fields, len(times), axis=0)


class Climatology:
    """The mean of the training data at every point."""

    def fit(self, train: Trajectories) -> None:
        mesh = _one_mesh(train, "a mean at every point")
        shape = (train.num_channels, mesh.num_points)
        total, count = np.zeros(shape), np.zeros(shape)
        for sequence in train:
            total += sequence.fields.sum(0, dtype=np.float64)
            there = sequence.observed
            count += sequence.num_snapshots if there is None else there.sum(0)
        self._mean, self._coords = total / np.maximum(count, 1), mesh.coords

    def forecast(self, first: Sequence, times: Array) -> Array:
        _require_same_points(first, self._coords)
        return np.repeat(self._mean[None], len(times), axis=0)


class ChosenPodDmd:
    """POD + DMD by least squares; the rank is chosen by forecasts inside the training data.

    What never has a value, such as land, is left out; forecasts are NaN there.

    Attributes:
        rank_: that was chosen.
    """

    rank_: int

    def fit(self, train: Trajectories) -> None:
        self._coords = _one_mesh(train, "POD modes").coords
        self._there = _always_there(train)
        self._train = train
        self._scale = channel_moments(train).scale
        rest, left_out = _divided(train)
        self.rank_ = self._best_rank(rest, left_out)
        self._model = self._of_rank(self._fits(train), self.rank_)

    def forecast(self, first: Sequence, times: Array) -> Array:
        _require_same_points(first, self._coords)
        self._require_same_gaps(first)
        steps = whole_steps(first, times, self._train)
        path = self._model.forecast(self._values(first)[0], int(steps[-1]))[steps - 1]
        fields = np.full((len(times), *self._there.shape), np.nan)
        fields[:, self._there] = path
        return fields * self._scale[:, None]

    def _values(self, sequence: Sequence) -> Array:
        """(times, values that are there), every channel in units of its deviation."""
        scaled = np.asarray(sequence.fields / self._scale[:, None], dtype=np.float64)
        return scaled[:, self._there]

    def _require_same_gaps(self, first: Sequence) -> None:
        if not np.array_equal(_observed(first)[0], self._there):
            raise DataError(
                "expected test data with gaps where the training data have them, such as land, got "
                f"others; {WITHOUT_GAPS}"
            )

    def _fits(self, train: Trajectories) -> tuple[Array, Array, list[Array]]:
        """Mean, modes and states of every sequence, at the largest rank there is."""
        values = [self._values(sequence) for sequence in train]
        snapshots = np.concatenate(values)
        mean = snapshots.mean(0)
        most = min(MOST_MODES, sum(len(each) - 1 for each in values) // 2)
        modes = leading_modes(snapshots - mean, max(most, 1))
        return mean, modes, [(each - mean) @ modes for each in values]

    def _of_rank(self, fits: tuple[Array, Array, list[Array]], rank: int) -> PodDmd:
        mean, modes, states = fits
        return PodDmd(mean, modes[:, :rank], affine_step([each[:, :rank] for each in states]))

    def _best_rank(self, rest: Trajectories, left_out: Trajectories) -> int:
        fits = self._fits(rest)
        errors = {
            rank: self._error(self._of_rank(fits, rank), left_out)
            for rank in _ranks(fits[1].shape[1])
        }
        return min(errors, key=lambda rank: errors[rank])

    def _error(self, model: PodDmd, left_out: Trajectories) -> float:
        """Mean squared error of forecasts of what the model does not know."""
        total, count = 0.0, 0
        for truth in _stretches(left_out):
            values = self._values(truth)
            with np.errstate(over="ignore", invalid="ignore"):
                found = np.square(model.forecast(values[0], len(values) - 1) - values[1:]).sum()
            total, count = total + float(found), count + values[1:].size
        return total / count if np.isfinite(total) else np.inf


def leading_modes(centred: Array, rank: int) -> Array:
    """(values, r) orthonormal leading directions of snapshots (snapshots, values).

    From whichever of the two Gram matrices is smaller.
    """
    tall = centred.shape[1] > centred.shape[0]
    gram = centred @ centred.T if tall else centred.T @ centred
    most = min(rank, len(gram))
    energies, vectors = eigh(gram, subset_by_index=(len(gram) - most, len(gram) - 1))
    kept = energies > ROUND_OFF**2 * max(float(energies[-1]), 1e-300)
    if not kept.any():
        raise DataError("expected snapshots that differ, all of these are equal")
    vectors, energies = vectors[:, kept][:, ::-1], energies[kept][::-1]
    return centred.T @ (vectors / np.sqrt(energies)) if tall else vectors


def _ranks(most: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 11, ... and the largest."""
    return sorted({*(int(each) for each in np.geomspace(1, most, 24)), most})


def _divided(train: Trajectories) -> tuple[Trajectories, Trajectories]:
    """What a rank is tried on, and what chooses it: other trajectories, or the end of the one."""
    rest, left_out = train.split(LEFT_OUT, 0)
    if left_out is not None:
        return rest, left_out
    counts = [max(round((1 - LEFT_OUT) * each.num_snapshots), 1) for each in train]
    before, after = train.cut_at(counts)
    if min(each.num_snapshots for each in (*before, *after)) < 2:
        raise DataError("a rank is chosen by forecasts of later snapshots: give at least 8")
    return before, after


def _stretches(left_out: Trajectories) -> Iterator[Sequence]:
    """Where forecasts start: at several snapshots of one sequence, at the first of several."""
    lengths = [sequence.num_snapshots for sequence in left_out]
    horizon = max(lengths) - 1 if len(lengths) > 1 else max(max(lengths) // 2, 1)
    for origin in spread_origins(lengths, horizon, NUM_ORIGINS):
        stretch = slice(origin.start, origin.start + horizon + 1)
        yield left_out.sequences[origin.sequence].snapshots(stretch)


def _one_mesh(train: Trajectories, what: str) -> Any:
    if len(train.meshes) > 1:
        raise DataError(
            f"{what} need all sequences at the same points, got {len(train.meshes)} sets of them"
        )
    return train.meshes[0]


def _always_there(train: Trajectories) -> NDArray[np.bool_]:
    """(channels, points) what has a value at all times; nothing else may have one at any."""
    always: NDArray[np.bool_] = np.logical_and.reduce([_observed(each).all(0) for each in train])
    sometimes = seen_points(train) & ~always
    if sometimes.any():
        raise DataError(
            "expected values that are there at all times or, like land, at none, got "
            f"{sometimes.any(0).sum()} points where they come and go; {WITHOUT_GAPS}"
        )
    return always


def _observed(sequence: Sequence) -> NDArray[np.bool_]:
    """(times, channels, points)."""
    there = sequence.observed
    return np.ones(sequence.fields.shape, bool) if there is None else there


def _require_same_points(first: Sequence, coords: Array) -> None:
    if not np.array_equal(first.mesh.coords, coords):
        raise DataError("expected test data at the points of the training data, got other points")
