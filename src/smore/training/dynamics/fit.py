"""Latent dynamics for known latents: in closed form as far as that goes, then by rollouts.

Whatever a regression leaves open, its ridge or how fast energy must be lost, is decided by how free
rollouts follow trajectories that were left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from smore.data import Timeline
from smore.dynamics import (
    FullConservative,
    FullQuadratic,
    LatentDynamics,
    LinearDynamics,
    LowRankQuadratic,
)
from smore.settings import Settings
from smore.stability import conservation_penalty, eigenvalue_penalty
from smore.training.checkpoints.checkpoints import Checkpoints
from smore.training.dynamics._conservative import ConservativeRegression
from smore.training.dynamics._rollouts import fit_rollouts, forecast_error
from smore.training.dynamics.linear import IrregularTransitions, fit_generator
from smore.training.dynamics.quadratic import (
    MOST_FEATURES,
    RIDGES,
    IntegralRegression,
    Operators,
    assign,
    num_features,
)
from smore.training.held_out import held_out
from smore.training.leaving_out.bases import LeftOutBases
from smore.training.problem import TrainingProblem

Status = Callable[[int, str], None]

# What regression found is already close: rollouts refine it with smaller steps.
REFINEMENT = 0.1
# Rates at which dissipative dynamics may have to lose energy, per output interval, and the share
# of the error that a larger one may cost.
MARGINS = (1e-1, 5e-2, 3e-2, 2e-2, 1e-2, 3e-3, 1e-3)
MARGIN_COST = 0.02


def fit_dynamics(
    problem: TrainingProblem,
    dynamics: LatentDynamics,
    latents: Tensor,
    settings: Settings,
    *,
    bases: LeftOutBases | None,
    decoder_error: float,
    generator: torch.Generator,
    checkpoints: Checkpoints,
    status: Status,
) -> dict[str, float]:
    """Train `dynamics` in place on latents (snapshots, channels, p).

    Args:
        problem: lengths, steps and origin of the trajectories.
        dynamics: fresh dynamics.
        latents: float64.
        settings: steps, rates, integrator.
        bases: latents that know nothing of left-out trajectories, where they can be had.
        decoder_error: mean squared error of decoding these latents.
        generator: draws the anchors of scheduled sampling.
        checkpoints: where the state of rollouts goes now and then.
        status: told the steps done and how it goes.

    Returns:
        What was found on the way: ridge, margin, errors.
    """
    timeline = problem.timeline
    if isinstance(dynamics, LinearDynamics) and timeline.uniform:
        # A generator in single precision is less than it could be.
        dynamics.to("cpu", torch.float64)
        trajectories = timeline.gather(latents.flatten(1))
        return fit_generator(
            dynamics,
            trajectories,
            timeline,
            problem.groups,
            bases=bases,
            unresolved=decoder_error * problem.num_channels,
            stabilise=settings.stabilise,
        )
    # Learning rates and initial factors are made for latents of order one.
    size = float(latents.square().mean().sqrt())
    weight = next(dynamics.parameters())
    fit = _RolloutFit(
        dynamics,
        timeline.gather(latents.flatten(1) / size).to(weight),
        timeline,
        held_out(problem.groups, settings.validation_fraction),
        settings,
    )
    findings = fit.start()
    error = fit.refine(REFINEMENT if findings else 1.0, generator, checkpoints, status)
    dynamics.rescale(size)
    return findings | {"rollout_error": error * size**2 * latents[0].numel()}


class _RolloutFit:
    """A closed-form start where the dynamics have one, then rollouts."""

    def __init__(
        self,
        dynamics: LatentDynamics,
        trajectories: Tensor,
        timeline: Timeline,
        held_out: Tensor,
        settings: Settings,
    ) -> None:
        self.dynamics, self.trajectories, self.timeline = dynamics, trajectories, timeline
        self.held_out, self.settings = held_out, settings

    def error(self, dynamics: LatentDynamics) -> float:
        """Of free rollouts over what was left out."""
        error = forecast_error(
            dynamics, self.trajectories, self.timeline, self.held_out, self.settings
        )
        return error if math.isfinite(error) else math.inf

    @torch.no_grad()
    def start(self) -> dict[str, float]:
        """The regression that suits the dynamics, if there is one; its findings."""
        training = ~self.held_out
        trajectories = self.trajectories[training.to(self.trajectories.device)]
        timeline = self.timeline.select(training)
        dynamics = self.dynamics
        if isinstance(dynamics, LinearDynamics):
            transitions = IrregularTransitions(trajectories, timeline)
            return self._choose_ridge(lambda r: dynamics.linear.copy_(transitions.fit(r)))
        if num_features(dynamics.dim) > MOST_FEATURES:
            return {}
        if isinstance(dynamics, FullQuadratic | LowRankQuadratic):
            regression = IntegralRegression(trajectories, timeline)
            states = self.timeline.scatter(self.trajectories).to("cpu", torch.float64)
            covariance = states.T @ states / len(states)
            return self._choose_ridge(lambda r: assign(regression.solve(r), dynamics, covariance))
        if isinstance(dynamics, FullConservative):
            return self._start_conservative(
                dynamics, ConservativeRegression(IntegralRegression(trajectories, timeline))
            )
        return {}

    def _choose_ridge(self, solve: Callable[[float], object]) -> dict[str, float]:
        errors = []
        for ridge in RIDGES:
            solve(ridge)
            errors.append(self.error(self.dynamics))
        best = RIDGES[errors.index(min(errors))]
        solve(best)
        return {"ridge": best}

    def _start_conservative(
        self, dynamics: FullConservative, regression: ConservativeRegression
    ) -> dict[str, float]:
        best, lowest, chosen = None, math.inf, math.nan
        operators: Operators | None = None
        trial = FullConservative(dynamics.dim).to(self.trajectories)  # with a free linear part
        for ridge in reversed(RIDGES):  # each a good start for the next
            operators = regression.solve(ridge, start=operators)
            _assign(operators, trial)
            error = self.error(trial)
            if best is None or error < lowest:
                best, lowest, chosen = operators, error, ridge
            elif error > 1.1 * lowest:
                break
        assert best is not None
        _assign(best, dynamics)
        findings = {"ridge": chosen}
        if dynamics.dissipative:
            findings["margin"] = self._choose_margin(dynamics, regression, best, chosen)
        return findings

    def _choose_margin(
        self,
        dynamics: FullConservative,
        regression: ConservativeRegression,
        free: Operators,
        ridge: float,
    ) -> float:
        """The largest margin that costs little, with the quadratic term solved for again."""
        step = float(self.timeline.steps[self.timeline.valid[:, 1:]].median())

        def solve(margin: float) -> float:
            dynamics.set_linear(free.linear, margin)
            linear = dynamics.linear.to("cpu", torch.float64)
            solved = regression.solve(ridge, start=free, linear=linear)
            dynamics.bias.copy_(solved.bias)
            dynamics.set_slices(solved.slices)
            return self.error(dynamics)

        margins = [margin / step for margin in MARGINS]
        affordable = (1 + MARGIN_COST) * solve(margins[-1])
        for margin in margins[:-1]:
            if solve(margin) <= affordable:
                return margin
        solve(margins[-1])
        return margins[-1]

    def refine(
        self,
        factor: float,
        generator: torch.Generator,
        checkpoints: Checkpoints,
        status: Status,
    ) -> float:
        """Rollouts with scheduled sampling; the held-out error of the best state, which is kept."""
        settings = self.settings

        def penalty(field: LatentDynamics) -> Tensor:
            return settings.eig_weight * eigenvalue_penalty(
                field
            ) + settings.cons_weight * conservation_penalty(field)

        def progress(step: int, loss: float, error: float) -> None:
            done = settings.decoder_steps + step + 1
            status(done, f"rollout error {loss:.2e}, held out {error:.2e}")

        return fit_rollouts(
            self.dynamics,
            self.trajectories,
            self.timeline,
            self.held_out,
            settings,
            num_steps=settings.dynamics_steps,
            rate=factor * settings.dynamics_learning_rate,
            generator=generator,
            penalty=penalty,
            checkpoints=checkpoints,
            progress=progress,
        )


def _assign(operators: Operators, dynamics: FullConservative) -> None:
    dynamics.set_linear(operators.linear)
    dynamics.bias.copy_(operators.bias)
    dynamics.set_slices(operators.slices)
