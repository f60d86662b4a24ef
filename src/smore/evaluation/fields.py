"""Forecasts that come as fields, scored as SMORE's own are: same windows, same means."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from smore.data import Timeline, Trajectories
from smore.errors import DataError
from smore.evaluation.evaluation import Evaluation, evaluation_of


def evaluate_fields(
    truth: Trajectories,
    forecast: NDArray[np.floating],
    *,
    training_mean: NDArray[np.floating],
    training_variance: ArrayLike,
    horizon: int,
) -> Evaluation:
    """Score forecasts from the first snapshot of every sequence against the later ones.

    Args:
        truth: sequences of 1 + num_steps snapshots, or fewer.
        forecast: (sequences, num_steps, channels, points) in the data's units.
        training_mean: (channels, points) mean of the training snapshots: the climatology.
        training_variance: (channels,) variance over the training data, in the data's units.
        horizon: snapshots in the training window.

    Raises:
        DataError: `truth` and `forecast` do not belong together.
    """
    _require_match(truth, forecast, training_mean)
    timeline = Timeline.of(truth)
    variance = torch.as_tensor(np.asarray(training_variance), dtype=torch.float64)
    # The first snapshot is never scored: as its own forecast it has error 0.
    squared, count = _squared_errors(
        truth,
        [
            np.concatenate([sequence.fields[:1], each[: sequence.num_snapshots - 1]])
            for sequence, each in zip(truth, forecast, strict=True)
        ],
    )
    climate, _ = _squared_errors(truth, [training_mean] * len(truth))
    nothing = torch.zeros_like(squared), torch.zeros_like(squared)  # there is no decoder
    return evaluation_of(squared, climate, count, nothing, truth, timeline, variance, horizon)


def _require_match(
    truth: Trajectories, forecast: NDArray[np.floating], training_mean: NDArray[np.floating]
) -> None:
    if len(forecast) != len(truth):
        raise DataError(f"expected forecasts of {len(truth)} sequences, got {len(forecast)}")
    for number, (sequence, each) in enumerate(zip(truth, forecast, strict=True)):
        expected = sequence.fields[1:].shape
        if each.shape[0] < expected[0] or each.shape[1:] != expected[1:]:
            raise DataError(
                f"sequence {number} needs a forecast of (steps, channels, points) = {expected}, "
                f"got {each.shape}; forecast one step less than there are snapshots, at the same "
                "points"
            )
        if training_mean.shape != expected[1:]:
            raise DataError(
                f"expected a training mean of (channels, points) = {expected[1:]}, "
                f"got {training_mean.shape}"
            )


def _squared_errors(
    truth: Trajectories, predictions: list[NDArray[np.floating]]
) -> tuple[Tensor, Tensor]:
    """Σ (prediction - u)² over observed points and their number, both (snapshots, channels)."""
    squared, count = [], []
    for sequence, prediction in zip(truth, predictions, strict=True):
        difference = prediction - sequence.fields.astype(np.float64)
        if sequence.observed is None:
            count.append(np.full(difference.shape[:2], difference.shape[2]))
        else:
            difference[~sequence.observed] = 0
            count.append(sequence.observed.sum(-1))
        with np.errstate(over="ignore", invalid="ignore"):  # a forecast may have overflowed
            squared.append(np.einsum("tcn,tcn->tc", difference, difference))
    return torch.as_tensor(np.concatenate(squared)), torch.as_tensor(np.concatenate(count))
