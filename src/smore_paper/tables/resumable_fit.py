"""A training of a table's row, which goes on where an earlier attempt at it was cut off."""

from __future__ import annotations

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
