"""`recipe="fast"`: decoder first, dynamics second, each by what solves it best.

The dynamics never feed back into the decoder, so nothing is lost by fitting one after the other:
the decoder by variable projection, then a gauge in which modes are orthonormal, then the dynamics
of the latents, in closed form where they are linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from smore.data.timeline import Timeline
from smore.decoder import FilterNetwork
from smore.dynamics import FullQuadratic, LatentDynamics, LinearDynamics, LowRankQuadratic
from smore.settings import Settings
from smore.stability import conservation_penalty, eigenvalue_penalty
from smore.training.latent_table import solve_latents
from smore.training.linear_fit import Transitions, real_generator
from smore.training.pieces import make_pieces
from smore.training.problem import TrainingProblem
from smore.training.quadratic_fit import (
    MOST_FEATURES,
    RIDGES,
    IntegralRegression,
    assign,
    num_features,
)
from smore.training.rollout_fit import fit_rollouts, forecast_error
from smore.training.trained import Trained
from smore.training.variable_projection import fit_decoder

Status = Callable[[int, str], None]

# What regression found is already close: rollouts refine it with smaller steps.
REFINEMENT = 0.1


def train_fast(
    problem: TrainingProblem,
    decoder: FilterNetwork,
    dynamics: LatentDynamics,
    settings: Settings,
    *,
    generator: torch.Generator,
    status: Status,
) -> Trained:
    """Train `decoder`, then `dynamics`, in place.

    Args:
        problem: the training data.
        decoder: fresh decoder.
        dynamics: fresh dynamics.
        settings: steps, rates, integrator.
        generator: draws sketches and anchors.
        status: told the steps done and how it goes.
    """
    findings = _fit_decoder(problem, decoder, settings, generator, status)
    latents, findings["decoder_error"] = solve_latents(problem, decoder, settings.chunk_size)
    uniform = len(torch.unique(problem.timeline.steps[problem.timeline.valid[:, 1:]])) == 1
    if isinstance(dynamics, LinearDynamics) and uniform:
        more = _fit_linear(problem, dynamics, latents)
        status(settings.decoder_steps + settings.dynamics_steps, "")
    else:
        more = _fit_rollouts(problem, dynamics, latents, settings, generator, status)
    return Trained(
        decoder=decoder,
        dynamics=dynamics,
        latents=latents.to(next(decoder.parameters())),
        epoch=int(findings["decoder_steps"]) - 1,
        epochs_run=int(findings["decoder_steps"]),
        findings=findings | more,
    )


def _fit_decoder(
    problem: TrainingProblem,
    decoder: FilterNetwork,
    settings: Settings,
    generator: torch.Generator,
    status: Status,
) -> dict[str, float]:
    """Variable projection; the number of steps and what no linear basis could better."""
    # With an offset the latent energy would not be the field's.
    with_offset = settings.dynamics != "conservative"
    pieces = make_pieces(problem.blocks, decoder.latent_dim, generator, centred=with_offset)
    limit = sum(piece.limit for piece in pieces)

    def progress(place: int, loss: float) -> None:
        status(place, f"decoder error {loss:.2e} (best possible {limit:.2e})")

    steps = fit_decoder(
        decoder,
        pieces,
        num_steps=settings.decoder_steps,
        rate=settings.decoder_learning_rate,
        generator=generator,
        with_offset=with_offset,
        chunk_size=settings.chunk_size,
        progress=progress,
    )
    # Bases for one mesh each, or for some of the data, say little about a basis for all.
    known = len(pieces) == 1 and limit > 0
    return {"decoder_steps": steps} | ({"pod_limit": limit} if known else {})


@torch.no_grad()
def _fit_linear(
    problem: TrainingProblem, dynamics: LinearDynamics, latents: Tensor
) -> dict[str, float]:
    """The generator in closed form."""
    timeline = problem.timeline
    trajectories = timeline.gather(latents.flatten(1))
    matrix, ridge = Transitions(trajectories, timeline, problem.groups).cross_validate()
    step = float(timeline.steps[timeline.valid[:, 1:]][0])
    generator, change = real_generator(matrix, step)
    dynamics.linear.copy_(generator)
    return {"ridge": ridge, "generator_change": change}


def _fit_rollouts(
    problem: TrainingProblem,
    dynamics: LatentDynamics,
    latents: Tensor,
    settings: Settings,
    generator: torch.Generator,
    status: Status,
) -> dict[str, float]:
    timeline = problem.timeline
    weight = next(dynamics.parameters())
    # Learning rates and initial factors are made for latents of order one.
    size = float(latents.square().mean().sqrt())
    trajectories = timeline.gather(latents.flatten(1) / size).to(weight)

    def penalty(field: LatentDynamics) -> Tensor:
        return settings.eig_weight * eigenvalue_penalty(
            field
        ) + settings.cons_weight * conservation_penalty(field)

    def progress(step: int, loss: float, error: float) -> None:
        done = settings.decoder_steps + step + 1
        status(done, f"rollout error {loss:.2e}, held out {error:.2e}")

    held_out = _held_out(problem.groups, settings.validation_fraction)
    rate = settings.dynamics_learning_rate
    findings: dict[str, float] = {}
    if _has_closed_form(dynamics):
        assert isinstance(dynamics, FullQuadratic | LowRankQuadratic)
        findings["ridge"] = _start_quadratic(dynamics, trajectories, timeline, held_out, settings)
        rate *= REFINEMENT
    error = fit_rollouts(
        dynamics,
        trajectories,
        timeline,
        held_out,
        settings,
        num_steps=settings.dynamics_steps,
        rate=rate,
        generator=generator,
        penalty=penalty,
        progress=progress,
    )
    dynamics.rescale(size)
    return findings | {"rollout_error": error * size**2 * latents[0].numel()}


def _has_closed_form(dynamics: LatentDynamics) -> bool:
    fits = num_features(dynamics.dim) <= MOST_FEATURES
    return fits and isinstance(dynamics, FullQuadratic | LowRankQuadratic)


@torch.no_grad()
def _start_quadratic(
    dynamics: FullQuadratic | LowRankQuadratic,
    trajectories: Tensor,
    timeline: Timeline,
    held_out: Tensor,
    settings: Settings,
) -> float:
    """Operators by regression, with the ridge whose rollouts follow held-out sequences best."""
    regression = IntegralRegression(
        trajectories[~held_out.to(trajectories.device)], timeline.select(~held_out)
    )
    states = timeline.scatter(trajectories).to("cpu", torch.float64)
    covariance = states.T @ states / len(states)
    errors = []
    for ridge in RIDGES:
        assign(regression.solve(ridge), dynamics, covariance)
        error = forecast_error(dynamics, trajectories, timeline, held_out, settings)
        errors.append(error if math.isfinite(error) else math.inf)
    best = RIDGES[errors.index(min(errors))]
    assign(regression.solve(best), dynamics, covariance)
    return best


def _held_out(groups: Tensor, fraction: float) -> Tensor:
    """Which sequences select the dynamics: those of the last trajectories."""
    names = torch.unique(groups)
    count = min(round(fraction * len(names)), len(names) - 1)
    return torch.isin(groups, names[len(names) - count :])
