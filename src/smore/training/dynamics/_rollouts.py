"""Dynamics by multi-step rollouts on known latents, with scheduled sampling."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from smore.data import Timeline
from smore.dynamics import (
    LatentDynamics,
    StepMap,
    draw_anchors,
    rollout,
    sampled_rollout,
    step_map,
    teacher_forcing_probability,
)
from smore.errors import DivergenceError
from smore.settings import Settings
from smore.training.checkpoints.checkpoints import Checkpoints, Randomness
from smore.training.schedule import warm_cosine
from smore.training.standing import Standing

WARM_UP = 20
CHECK_EVERY = 20
# Sequences that a step looks at: twice as many cost twice the time and are worth less than a fifth
# more steps (judged on held-out sequences of Navier-Stokes).
SEQUENCES_PER_STEP = 128


def fit_rollouts(
    dynamics: LatentDynamics,
    latents: Tensor,
    timeline: Timeline,
    held_out: Tensor,
    settings: Settings,
    *,
    num_steps: int,
    rate: float,
    generator: torch.Generator,
    penalty: Callable[[LatentDynamics], Tensor],
    checkpoints: Checkpoints | None = None,
    progress: Callable[[int, float, float], None] | None = None,
) -> float:
    """Minimise the rollout error over `latents`; keep the state that forecasts held-out ones best.

    Args:
        dynamics: trained in place.
        latents: (sequences, longest, r) padded trajectories, about unit variance in total.
        timeline: their lengths and steps.
        held_out: (sequences,) booleans, which sequences select and do not train.
        settings: integrator and clipping.
        num_steps: optimiser steps, each over all training sequences, or a random share of many.
        rate: peak learning rate of a cosine schedule.
        generator: draws the anchors of scheduled sampling.
        penalty: added to the loss.
        checkpoints: where the state goes now and then.
        progress: called with the step, the training and the held-out error.

    Returns:
        The held-out error of what was kept (the training error if nothing is held out).
    """
    training = ~held_out
    steps, valid = timeline.steps[training], timeline.valid[training]
    targets = latents[training.to(latents.device)]
    known = valid.to(targets)
    optimizer = torch.optim.Adam(dynamics.parameters())
    standing = Standing(dynamics, forecast_error(dynamics, latents, timeline, held_out, settings))
    stage = (checkpoints or Checkpoints()).stage(
        "rollouts",
        dynamics=dynamics,
        optimizer=optimizer,
        standing=standing,
        randomness=Randomness(generator),
    )
    for number in range(standing.step, num_steps):
        standing.step = number + 1
        # The paper's schedule ends in free rollouts after 700 epochs, whatever the number of steps.
        probability = teacher_forcing_probability(
            int(700 * number / num_steps),
            settings.teacher_forcing_start,
            settings.teacher_forcing_decay,
        )
        anchors = draw_anchors(1, targets.shape[1], probability, generator)
        some = torch.arange(len(targets))
        if len(targets) > SEQUENCES_PER_STEP:
            some = torch.randperm(len(targets), generator=generator)[:SEQUENCES_PER_STEP]
        predictions = sampled_rollout(
            _advance(dynamics, steps[some], settings),
            targets[some],
            anchors.expand(len(some), -1).to(targets.device),
        )
        squared = (predictions - targets[some]).square().mean(-1) * known[some]
        loss = squared.sum() / known[some].sum()
        optimizer.zero_grad()
        (loss + penalty(dynamics)).backward()
        norm = clip_grad_norm_(dynamics.parameters(), settings.clip_norm or math.inf)
        if not bool(torch.isfinite(loss + norm)):
            # Back to the best state so far, with smaller steps from here on.
            standing.retreats += 1
            standing.restore(dynamics)
            optimizer.state.clear()
            continue
        for group in optimizer.param_groups:
            group["lr"] = rate * 0.5**standing.retreats * warm_cosine(number, num_steps, WARM_UP)
        optimizer.step()
        if (number + 1) % CHECK_EVERY == 0 or number + 1 == num_steps:
            standing.judge(
                dynamics, forecast_error(dynamics, latents, timeline, held_out, settings)
            )
        stage.step()
        if progress is not None:
            progress(number, float(loss.detach()), standing.error)
    stage.finish()
    standing.restore(dynamics)
    if not math.isfinite(standing.lowest):
        raise DivergenceError(
            "the latent dynamics never forecast anything finite; "
            "try a smaller dynamics_rate or more substeps",
            part="dynamics loss",
        )
    return standing.lowest


@torch.no_grad()
def forecast_error(
    dynamics: LatentDynamics,
    latents: Tensor,
    timeline: Timeline,
    held_out: Tensor,
    settings: Settings,
) -> float:
    """Mean squared error per latent of free rollouts, on held-out sequences if there are any."""
    chosen = held_out if bool(held_out.any()) else ~held_out
    truth = latents[chosen.to(latents.device)]
    valid = timeline.valid[chosen].to(truth)
    advance = _advance(dynamics, timeline.steps[chosen], settings)
    states = rollout(advance, truth[:, 0], truth.shape[1] - 1)
    squared = ((states - truth).square().sum(-1) * valid)[:, 1:].sum()
    return float(squared / valid[:, 1:].sum() / truth.shape[-1])


def _advance(dynamics: LatentDynamics, steps: Tensor, settings: Settings) -> StepMap:
    return step_map(dynamics, steps, method=settings.stepping, substeps=settings.num_substeps)
