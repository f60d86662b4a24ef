"""A training of a row, which goes on where an earlier attempt was cut off, and its score."""

from __future__ import annotations

import math
from pathlib import Path

from smore.data import Trajectories
from smore.errors import DivergenceError
from smore.model import SMORE
from smore.training import checkpoint_files


def resumable_fit(
    model: SMORE,
    train: Trajectories,
    *,
    select_on: Trajectories | None = None,
    checkpoints: Path | None,
) -> DivergenceError | None:
    """Train `model`; returns what ended that early, if the last good state is there to be scored.

    Args:
        model: takes what is learned.
        train: the data.
        select_on: see `SMORE.fit`.
        checkpoints: their folder; None for a training that is limited by time, since another
            attempt would be allowed another number of epochs.

    Raises:
        DivergenceError: there is no good state.
        InterruptedTrainingError: a signal asked to stop; a checkpoint is written.
    """
    resume = checkpoints is not None and bool(checkpoint_files(checkpoints))
    try:
        model.fit(train, select_on=select_on, checkpoints=checkpoints, resume=resume)
    except DivergenceError as error:
        if error.epoch is None:  # not in training
            raise
        return error
    return None


def last_state_error(model: SMORE, test: Trajectories) -> float | None:
    """Full-window error after the paper's fit of initial states; inf if forecasts overflow."""
    try:
        return model.evaluate(test, method="adam").full_mse
    except DivergenceError:
        return math.inf
