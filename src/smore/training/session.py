"""A training from beginning to end: alone or in a team, fresh or resumed, whole or cut off."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass

import torch

from smore.data import Trajectories, stored
from smore.errors import DivergenceError, ProcessLostError
from smore.runtime import shown_passes, stop_requests, team
from smore.settings import Settings
from smore.surrogate import Surrogate
from smore.training.assembling import assemble
from smore.training.checkpoints.checkpoints import EVERY_SECONDS, open_checkpoints
from smore.training.checkpoints.identity import run_identity
from smore.training.preparing import prepare
from smore.training.recipes import train


@dataclass(frozen=True)
class RunOptions:
    """How a training is run, which has no influence on what it learns; see `SMORE.fit`."""

    progress: bool = True
    checkpoints: str | os.PathLike[str] | None = None
    checkpoint_seconds: float = EVERY_SECONDS
    resume: bool = False


def run_training(
    training: Trajectories,
    selecting: Trajectories | None,
    settings: Settings,
    device: torch.device,
    options: RunOptions,
) -> tuple[Surrogate, DivergenceError | None]:
    """What was learned, and why the training ended early if it did.

    Args:
        training: the data.
        selecting: data that select the epoch that is kept.
        settings: as the user gave them.
        device: of the networks.
        options: progress and checkpoints.

    Raises:
        InterruptedTrainingError: a signal asked to stop; a checkpoint is written.
        ProcessLostError: another process of the team is gone; a checkpoint is written.
    """
    keeps = options.checkpoints is not None
    with stop_requests() if keeps else nullcontext() as stop, team(device) as members:
        shown = options.progress and members.leads

        def identity() -> dict[str, str]:
            """What the run is made of; fields in a file are copied on the way, and read once."""
            nonlocal training, selecting
            if members.size == 1:  # of a team each copies its share only
                training = stored(training, show_progress=shown)
                selecting = selecting and stored(selecting, show_progress=shown)
            return run_identity(settings, training, selecting)

        kept = open_checkpoints(
            options.checkpoints,
            identity,
            every=options.checkpoint_seconds,
            resume=options.resume,
            stop=stop,
            team=members,
        )
        try:
            if shown and kept.origin is not None:
                print(kept.origin, file=sys.stderr)
            prepared = prepare(
                training, selecting, settings, device, team=members, show_progress=shown
            )
            trained = train(prepared, device, checkpoints=kept, show_progress=shown)
            with shown_passes("finishing", shown=shown):
                surrogate = assemble(prepared, trained, kept.seconds)
        except ProcessLostError:
            kept.rescue()
            raise
    return surrogate, trained.divergence
