"""Theorem 3 on given trajectories: a bound of the forecast error beside the error itself.

The ideal latents are the least-squares fits to the true snapshots. Along them one step of the model
gives a and b_roll; the sensors give e_sparse; the decoder gives ε_dec and L_D. All are observed on
this sample, which the result names: a bound for these trajectories, an estimate for others.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import Mesh, Trajectories
from smore.data.timeline import Timeline
from smore.dynamics import LinearDynamics, step_map
from smore.errors import DataError
from smore.inference import FitMethod, LatentState, normal_equations
from smore.inference.fits import least_squares
from smore.inference.observability import observabilities
from smore.stability.decoder_constants import DecoderConstants
from smore.stability.sparse_bound import (
    RolloutRecursion,
    error_bound_curve,
    estimate_recursion,
    limiting_error,
    sparse_error,
)

if TYPE_CHECKING:
    from smore.surrogate import Surrogate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ForecastBound:
    """The bound curve of Theorem 3 and what was measured, L2 norms in the user's units.

    Args:
        bound: (steps + 1,) bound of the error of every sequence.
        measured: (steps + 1,) largest error over the sequences.
        limit: where the bound goes as steps go on; infinite when a >= 1.
        recursion: a and b_roll, and what they were observed on.
        observability: c_S.
        sparse_error: e_sparse.
        decoder_error: ε_dec, largest L2 error of an ideal snapshot.
        lipschitz: L_D.
    """

    bound: Array
    measured: Array
    limit: float
    recursion: RolloutRecursion
    observability: float
    sparse_error: float
    decoder_error: float
    lipschitz: float

    def to_dict(self) -> dict[str, Any]:
        values = {name: value for name, value in vars(self).items() if name != "recursion"}
        values |= {"bound": self.bound.tolist(), "measured": self.measured.tolist()}
        return values | {"recursion": asdict(self.recursion)}


def forecast_bound(
    surrogate: Surrogate,
    trajectories: Trajectories,
    observations: Trajectories,
    method: FitMethod,
    constants: DecoderConstants,
) -> ForecastBound:
    """Bound and measure the error of forecasts from `observations` of each first snapshot.

    Args:
        surrogate: the model.
        trajectories: the truth, on one mesh and with equal steps.
        observations: of the first snapshot of each sequence, at common points.
        method: how states are inferred.
        constants: of the decoder on the mesh of `trajectories`.
    """
    trajectories = surrogate.aligned(trajectories)
    timeline = Timeline.of(trajectories, surrogate.description.settings.time_scale or 1.0)
    if len({id(each.mesh) for each in trajectories}) > 1 or not bool(timeline.valid.all()):
        raise DataError("the bound needs sequences of one length on one mesh")
    if not timeline.uniform:
        raise DataError("the bound needs equal time steps")
    equations = normal_equations(surrogate.decoder, surrogate.blocks(trajectories))
    ideal = torch.empty(timeline.num_snapshots, *equations[0].moment.shape[1:]).double()
    for each in equations:
        ideal[each.snapshots] = least_squares(each)
    state = surrogate.infer(observations, method)
    known = sparse_state_error(surrogate, surrogate.aligned(observations).leading(1), state)
    recursion = estimate_recursion(
        _step(surrogate, float(timeline.steps[0, 0])),
        timeline.gather(ideal.flatten(1)),
        torch.Generator().manual_seed(0),
        name="the given trajectories",
        initial_error=known[1] if np.isfinite(known[1]) else 0.0,
    )
    mesh = trajectories.sequences[0].mesh
    truth = np.stack([each.fields for each in trajectories])
    shape = (len(trajectories), -1)
    decoded = surrogate.decode(ideal.float().unflatten(0, shape), mesh)
    forecast = surrogate.decode(
        surrogate.advance(state, np.stack([np.diff(each.times) for each in trajectories])), mesh
    )
    decoder_error = float(l2_norms(decoded - truth, mesh).max())
    lipschitz = constants.lipschitz
    return ForecastBound(
        bound=error_bound_curve(recursion, known[1], decoder_error, lipschitz, truth.shape[1] - 1),
        measured=l2_norms(forecast - truth, mesh).max(axis=0),
        limit=limiting_error(recursion, decoder_error, lipschitz),
        recursion=recursion,
        observability=known[0],
        sparse_error=known[1],
        decoder_error=decoder_error,
        lipschitz=lipschitz,
    )


def sparse_state_error(
    surrogate: Surrogate, observations: Trajectories, state: LatentState
) -> tuple[float, float]:
    """c_S and the largest e_sparse over the sequences, noise-free observations assumed."""
    blocks = surrogate.blocks(observations)
    seen = float(observabilities(surrogate.decoder, blocks).min())
    worst = 0.0
    for each in normal_equations(surrogate.decoder, blocks):
        best = each.squared_residual(least_squares(each)).sum(1).sqrt()
        found = each.squared_residual(state.mean[each.snapshots]).sum(1).sqrt()
        # The smallest residual is at most that of the ideal state, ε_sens; what the fit has beyond
        # it is δ_opt.
        for smallest, fitted in zip(best.tolist(), found.tolist(), strict=True):
            error = sparse_error(seen, smallest, 0.0, max(fitted - smallest, 0.0))
            worst = max(worst, error)
    return seen, worst


def l2_norms(fields: NDArray[np.floating], mesh: Mesh) -> Array:
    """L2 norms over the mesh of fields (..., channels, points), channels together."""
    return np.sqrt((fields.astype(np.float64) ** 2 @ mesh.weights).sum(-1))


def _step(surrogate: Surrogate, step: float) -> Any:
    """The map over one interval: its matrix for linear dynamics, else a function."""
    settings, dynamics = surrogate.description.settings, surrogate.dynamics

    def advance(states: Tensor) -> Tensor:
        steps = torch.full((len(states), 1), step, dtype=torch.float64)
        return step_map(dynamics, steps, method=settings.stepping, substeps=settings.num_substeps)(
            states, 0
        )

    if isinstance(dynamics, LinearDynamics):
        with torch.no_grad():
            return advance(torch.eye(dynamics.dim, dtype=torch.float64)).T
    return advance
