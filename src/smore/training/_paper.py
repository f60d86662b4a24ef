"""`recipe="paper"`: Algorithm 1 with its evaluation stage and checkpoint selection."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from smore.decoder import Decoder
from smore.dynamics import LatentDynamics, draw_anchors, teacher_forcing_probability
from smore.errors import DivergenceError, how_to_set
from smore.settings import Settings
from smore.training.algorithm1 import Algorithm1, Losses, draw_batches
from smore.training.checkpoints.checkpoints import Checkpoints, Randomness, Variables
from smore.training.last_good import LastGood
from smore.training.leaving_out.forecast_error import ForecastError
from smore.training.problem import TrainingProblem
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
    checkpoints: Checkpoints | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train `decoder` and `dynamics` by Algorithm 1.

    Args:
        problem: the training data.
        decoder: fresh decoder, trained in place.
        dynamics: fresh dynamics, trained in place.
        settings: epochs, rates, weights and switches.
        generator: draws minibatches and anchors.
        forecast_error: what selects the epoch that is kept; without it the last one is.
        checkpoints: where the state goes now and then.
        progress: called after every epoch with the epoch, its losses and the forecast error if one
            was measured.

    Returns:
        The selected networks. After a divergence, the best seen so far, or else the last finite
        ones, with the reason in `divergence`.
    """
    run = Algorithm1(problem, decoder, dynamics, settings)
    longest = problem.timeline.valid.shape[1]
    standing = _Standing()
    last_good = LastGood(run.tensors(), backtrack=settings.on_divergence == "backtrack")
    stage = (checkpoints or Checkpoints()).stage(
        "paper", run=run, randomness=Randomness(generator), standing=standing, last_good=last_good
    )
    divergence: DivergenceError | None = None
    while standing.epoch < settings.epochs:
        epoch = standing.epoch
        probability = teacher_forcing_probability(
            epoch, settings.teacher_forcing_start, settings.teacher_forcing_decay
        )
        batches = draw_batches(problem.num_sequences, settings.batch_size, generator)
        anchors = draw_anchors(len(batches), longest, probability, generator)
        last_good.note()
        try:
            losses = run.epoch(batches, anchors)
        except DivergenceError as error:
            if not last_good.retreat():
                divergence = _in_epoch(epoch, error, last_good, settings)
                break
            run.restart(last_good.factor)
            standing.epoch += 1
            continue
        last_good.confirm()
        standing.epoch += 1
        error_now: float | None = None
        due = standing.epoch % settings.evaluate_every == 0 or standing.epoch == settings.epochs
        if forecast_error is not None and due:
            error_now = forecast_error(decoder, dynamics)
            standing.judge(epoch, error_now, run)
        stage.step()
        if progress is not None:
            progress(epoch, losses, error_now)
    if divergence is None:  # else another attempt is to end as this one, and not go on from here
        stage.finish()
    return _selected(run, standing, divergence)


class _Standing(Variables):
    """Epochs done, and the best state that an evaluation stage has seen."""

    def __init__(self) -> None:
        self.epoch = 0
        self.history: list[tuple[int, float]] = []
        self.lowest, self.best_epoch = math.inf, -1
        self.best: list[Tensor] | None = None

    def judge(self, epoch: int, error: float, run: Algorithm1) -> None:
        """Keep the state after `epoch` if its forecast error is the lowest so far."""
        self.history.append((epoch, error))
        if error < self.lowest:  # never true for a NaN
            self.lowest, self.best_epoch = error, epoch
            self.best = [tensor.detach().clone() for tensor in run.tensors()]


def _in_epoch(
    epoch: int, error: DivergenceError, last_good: LastGood, settings: Settings
) -> DivergenceError:
    return DivergenceError(
        f"training diverged in epoch {epoch}{last_good.tried}: {error}; the last good state is "
        f"kept. Try {', '.join(_untried(settings))}",
        part=error.part,
        epoch=epoch,
    )


def _untried(settings: Settings) -> list[str]:
    """What may keep a training finite and is not set already."""
    advice = ["more substeps"]
    if settings.dynamics == "quadratic":
        advice.append(f"a low-rank quadratic term, {how_to_set('dynamics', 'lrlq')}")
    if settings.clip_norm is None:
        advice.append(f"clipping, {how_to_set('clip_norm', 1)}")
    if settings.on_divergence != "backtrack":  # which tries smaller learning rates by itself
        advice += ["smaller learning rates", how_to_set("on_divergence", "backtrack")]
    return advice


@torch.no_grad()
def _selected(run: Algorithm1, standing: _Standing, divergence: DivergenceError | None) -> Trained:
    """The networks in the state that is kept."""
    epoch = max(standing.epoch - 1, 0) if divergence is None else standing.epoch
    if standing.best is not None:
        epoch = standing.best_epoch
        for tensor, best in zip(run.tensors(), standing.best, strict=True):
            tensor.copy_(best)
    for network in (run.decoder, run.dynamics):
        network.zero_grad(set_to_none=True)
    return Trained(
        run.decoder,
        run.dynamics,
        run.settings,
        run.latents.detach().clone(),
        epoch,
        epochs_run=standing.epoch,
        history=standing.history,
        divergence=divergence,
    )
