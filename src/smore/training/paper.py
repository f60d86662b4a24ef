"""`recipe="paper"`: Algorithm 1 with its evaluation stage and checkpoint selection."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import torch

from smore.decoder import Decoder
from smore.dynamics import LatentDynamics, draw_anchors, teacher_forcing_probability
from smore.errors import DivergenceError
from smore.settings import Settings
from smore.training.algorithm1 import Algorithm1, Losses, draw_batches
from smore.training.problem import TrainingProblem
from smore.training.selection import ForecastError
from smore.training.trained import Trained

Progress = Callable[[int, Losses, float | None], None]


def train_paper(
    problem: TrainingProblem,
    decoder: Decoder,
    dynamics: LatentDynamics,
    settings: Settings,
    *,
    generator: torch.Generator,
    forecast_error: ForecastError | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train `decoder` and `dynamics` by Algorithm 1.

    Args:
        problem: the training data.
        decoder: fresh decoder, trained in place.
        dynamics: fresh dynamics, trained in place.
        settings: epochs, rates, weights and switches.
        generator: draws minibatches and anchors.
        forecast_error: what selects the checkpoint; without it the last epoch is kept.
        progress: called after every epoch with the epoch, its losses and the forecast error if one
            was measured.

    Returns:
        The selected networks. After a divergence, the best seen so far, or else the last finite
        ones, with the reason in `divergence`.
    """
    run = Algorithm1(problem, decoder, dynamics, settings)
    longest = problem.timeline.valid.shape[1]
    history: list[tuple[int, float]] = []
    best: Trained | None = None
    lowest = math.inf
    divergence: DivergenceError | None = None
    good = latest = run.state()
    for epoch in range(settings.epochs):
        probability = teacher_forcing_probability(
            epoch, settings.teacher_forcing_start, settings.teacher_forcing_decay
        )
        batches = draw_batches(problem.num_sequences, settings.batch_size, generator)
        anchors = draw_anchors(len(batches), longest, probability, generator)
        try:
            losses = run.epoch(batches, anchors)
        except DivergenceError as error:
            divergence = DivergenceError(
                f"training diverged in epoch {epoch}: {error}; the last good state is kept. "
                "Try smaller learning rates, clipping, a low-rank quadratic term or substeps",
                part=error.part,
                epoch=epoch,
            )
            run.restore(good)
            break
        # The losses of this epoch were finite before its update: that state is known to be good.
        good, latest = latest, run.state()
        error_now: float | None = None
        due = (epoch + 1) % settings.evaluate_every == 0 or epoch + 1 == settings.epochs
        if forecast_error is not None and due:
            error_now = forecast_error(decoder, dynamics)
            history.append((epoch, error_now))
            if error_now < lowest:  # never true for a NaN
                best, lowest = _snapshot(run, epoch), error_now
        if progress is not None:
            progress(epoch, losses, error_now)
    selected = best or _snapshot(run, epoch)
    selected.history, selected.divergence = history, divergence
    selected.epochs_run = epoch + (divergence is None)
    return selected


def _snapshot(run: Algorithm1, epoch: int) -> Trained:
    decoder, dynamics = copy.deepcopy(run.decoder), copy.deepcopy(run.dynamics)
    for network in (decoder, dynamics):
        network.zero_grad(set_to_none=True)
    return Trained(decoder, dynamics, run.latents.detach().clone(), epoch)
