"""States of a surrogate at later times, and how uncertain they become."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import unify_steps
from smore.dynamics import (
    ForcedLinear,
    ForecastErrors,
    LeadError,
    StepError,
    StepPlan,
    forecast_covariances,
    forecast_path,
    rollout,
    step_map,
)
from smore.errors import (
    DivergenceError,
    ForecastRangeWarning,
)
from smore.inference import (
    LatentState,
    code_blocks,
)
from smore.surrogate.surrogate import Surrogate

# Latents this many times as far out as any training latent are not a forecast any more.
FAR = 3.0
# A generator whose flow differs by more than this share from the map is worth a word.
BENT = 0.01


@torch.no_grad()
def advance(surrogate: Surrogate, state: LatentState, instants: NDArray[np.float64]) -> Tensor:
    """Latents (states, n + 1, codes, p) of `state` and at instants (states, n) of the data's time.

    Raises:
        DivergenceError: they overflow.
    """
    return _path(surrogate, state, instants)[0]


@torch.no_grad()
def advance_uncertain(
    surrogate: Surrogate, state: LatentState, instants: NDArray[np.float64]
) -> tuple[Tensor, Tensor]:
    """`advance`, and covariances (states or 1, n + 1, codes, p, p) of each code.

    Args:
        state: with a covariance.
        instants: (states, n), none before its state.
    """
    assert state.covariance is not None
    latents, path, plan = _path(surrogate, state, instants)
    settings, starts = surrogate.description.settings, state.times.numpy()[:, None]
    covariances = forecast_covariances(
        surrogate.dynamics,
        path,
        plan,
        state.covariance,
        errors_of_forecasts(surrogate, state.flat, starts),
        method=settings.stepping,
        substeps=settings.num_substeps,
    )
    return latents, code_blocks(covariances, latents.shape[2])


def errors_of_forecasts(
    surrogate: Surrogate, states: Tensor, starts: NDArray[np.float64]
) -> StepError | LeadError | ForecastErrors:
    """Errors of the dynamics, as far as these depend on where a forecast starts.

    Args:
        surrogate: the model.
        states: (states, r).
        starts: (states, 1) when, in the data's time.
    """
    error, dynamics = surrogate.error.step, surrogate.dynamics
    if not (isinstance(error, LeadError) and isinstance(dynamics, ForcedLinear)):
        return error
    times = torch.as_tensor(surrogate.description.model_times(starts)[:, 0])
    return error.of_forecasts(dynamics, states, times)


def _path(
    surrogate: Surrogate, state: LatentState, instants: NDArray[np.float64]
) -> tuple[Tensor, Tensor, StepPlan]:
    """Latents to decode, and the path (states, steps + 1, r) of the steps between them."""
    description = surrogate.description
    settings = description.settings
    times = description.model_times(np.column_stack([state.times.numpy(), instants]))
    plan = StepPlan.of(torch.as_tensor(unify_steps(np.diff(times))), description.step)
    _warn_between(surrogate, plan)
    path = forecast_path(
        surrogate.dynamics,
        state.flat,
        plan,
        method=settings.stepping,
        substeps=settings.num_substeps,
        starts=torch.as_tensor(times[:, 0]),
    )
    latents = path[:, plan.outputs]
    decodable = latents.to(next(surrogate.decoder.parameters()))
    if not bool(torch.isfinite(decodable).all()):
        raise DivergenceError(
            "the forecast overflows: the latent dynamics are not stable over this horizon; "
            "forecast less far, or train longer with the stability regularisers",
            part="forecast",
        )
    _warn_beyond(surrogate, latents)
    _warn_uncertified(surrogate, latents)
    return decodable.unflatten(-1, (-1, surrogate.decoder.latent_dim)), path, plan


@torch.no_grad()
def iterate(
    surrogate: Surrogate, states: NDArray[np.float64], num_steps: int
) -> NDArray[np.float64]:
    """States (n, r) after 0, 1, .., num_steps training intervals, come what may.

    Where the dynamics have a centre, states are departures from it.
    """
    settings, step = surrogate.description.settings, surrogate.description.step
    advance = step_map(
        surrogate.dynamics,
        torch.full((len(states), 1), step, dtype=torch.float64),
        method=settings.stepping,
        substeps=settings.num_substeps,
    )
    path = rollout(lambda state, _: advance(state, 0), torch.as_tensor(states), num_steps)
    return path.numpy()


def _warn_between(surrogate: Surrogate, plan: StepPlan) -> None:
    """Warn about times between steps where nothing continuous does what the map does."""
    dynamics = surrogate.dynamics
    if not isinstance(dynamics, ForcedLinear):
        return
    parts = plan.steps / float(dynamics.step)
    change = surrogate.description.training.findings.get("generator_change", 0.0)
    if change > BENT and bool(((parts - parts.round()).abs() > 1e-6).any()):
        warnings.warn(
            f"between training steps the dynamics are bent by {change:.0%}: the map over a step, "
            "which forecasts at whole steps iterate, is that of no continuous flow",
            ForecastRangeWarning,
            stacklevel=3,
        )


def _warn_beyond(surrogate: Surrogate, latents: Tensor) -> None:
    """Warn when latents (states, times, r) leave the range of the training data."""
    distance = (latents - surrogate.prior.mean).norm(dim=-1)
    ratio = float(distance.max()) / max(surrogate.description.latent_radius, 1e-300)
    if ratio > FAR:
        first = int((distance > FAR * surrogate.description.latent_radius).any(0).nonzero()[0])
        where = (
            "the initial state is already far from anything in the training data: check units, "
            "offsets and fill values of the observations"
            if first == 0
            else "the dynamics are not stable this far; trust it no longer"
        )
        warnings.warn(
            f"from step {first} on the forecast is up to {ratio:.2g} times as far from the "
            f"training mean as any training state: {where}",
            ForecastRangeWarning,
            stacklevel=3,
        )


def _warn_uncertified(surrogate: Surrogate, latents: Tensor) -> None:
    """Warn when latents (states, times, r) leave the set for which stability was proved."""
    if not surrogate.certificate.claims.certified:
        return
    outside = ~surrogate.certificate.covers(latents.numpy()).all(axis=0)
    if outside.any():
        warnings.warn(
            f"from step {int(outside.argmax())} on the forecast is outside the set for which "
            "stability was proved: nothing is promised there (see `smore certify`)",
            ForecastRangeWarning,
            stacklevel=3,
        )
