"""Theorem 3 on given trajectories: a bound of the forecast error beside the error itself.

The ideal latents are the least-squares fits to the true snapshots. Along them one step of the model
gives a and b_roll; the sensors give e_sparse; the decoder gives ε_dec and L_D. All are observed on
this sample, which the result names: a bound for these trajectories, an estimate for others. Even
for these it is proved for linear dynamics alone: that of other maps rests on an observed growth.

Everything is evaluated in double precision, residuals directly at the sensors: normal equations
would lose those below 1e-8 of the values.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.analysis._sparse_bound import (
    RolloutRecursion,
    error_bound_curve,
    estimate_recursion,
    limiting_error,
    sparse_error,
)
from smore.analysis.decoder_constants import DecoderConstants
from smore.data import AnyBlock, Block, Mesh, Timeline, Trajectories
from smore.decoder import Basis, Decoder, per_channel
from smore.dynamics import LinearDynamics, departures, step_map
from smore.errors import DataError
from smore.inference import FitMethod, least_squares, normal_equations, observabilities
from smore.stability import EPSILON, SAFETY
from smore.surrogate import advance, decode_channels, infer

if TYPE_CHECKING:
    from smore.surrogate import Surrogate

Array = NDArray[np.float64]

# Relative error of sums over points and of the recursion, with plenty to spare.
ROUNDING = 1e-12
POINTS_AT_ONCE = 2**12


@dataclass(frozen=True)
class StateError:
    """How far inferred states are from ideal ones: at most `bound`, the worst of the sequences.

    Args:
        bound: e_sparse.
        observability: c_S, the smallest of all channels and sequences.
        fit_residual: largest ‖G(α̂₀) - y‖, normalised sensor values, and
        ideal_residual: largest ‖G(α₀*) - y‖.
        estimated: whether the truth was not there to tell the ideal state, so that its residual is
            the one that trajectories left out of training had on average.
    """

    bound: float
    observability: float
    fit_residual: float
    ideal_residual: float
    estimated: bool


@dataclass(frozen=True, eq=False)
class ForecastBound:
    """The bound curve of Theorem 3 and what was measured, L2 norms in the user's units.

    Args:
        bound: (steps + 1,) bound of the error of every sequence.
        measured: (steps + 1,) largest error over the sequences.
        limit: where the bound goes as steps go on; infinite when a >= 1.
        recursion: a and b_roll, and what they were observed on.
        observability: c_S.
        sparse_error: e_sparse, and
        fit_residual: the largest residual of a fit and
        ideal_residual: of an ideal state that it comes from.
        decoder_error: ε_dec, largest L2 error of an ideal snapshot.
        lipschitz: L_D.
    """

    bound: Array
    measured: Array
    limit: float
    recursion: RolloutRecursion
    observability: float
    sparse_error: float
    fit_residual: float
    ideal_residual: float
    decoder_error: float
    lipschitz: float

    @property
    def proved(self) -> bool:
        """Whether no step of these forecasts can exceed the bound."""
        return self.recursion.proved

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {name: value for name, value in vars(self).items() if name != "recursion"}
        values |= {"bound": self.bound.tolist(), "measured": self.measured.tolist()}
        return values | {"recursion": asdict(self.recursion), "proved": self.proved}


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
    trajectories, timeline = _comparable(surrogate, trajectories)
    state = infer(surrogate, observations, method)
    exact = replace(surrogate, decoder=_in_double(surrogate.decoder))
    ideal = ideal_latents(surrogate, trajectories)
    starts = ideal[timeline.rows[:, 0]]
    known = state_error(exact, observations, state.mean, starts)
    step, constant = _step(surrogate, float(timeline.steps[0, 0]))
    recursion = estimate_recursion(
        step,
        departures(surrogate.dynamics, timeline.gather(ideal.flatten(1)), timeline.times),
        torch.Generator().manual_seed(0),
        name="the given trajectories",
        initial_error=known.bound if np.isfinite(known.bound) else 0.0,
        constant=constant,
    )
    mesh = trajectories.sequences[0].mesh
    truth = _Truth.of(trajectories)
    decoded = _fields(exact, ideal.unflatten(0, (len(trajectories), -1)), mesh)
    instants = np.stack([each.times[1:] for each in trajectories])
    forecast = _fields(exact, advance(exact, state, instants), mesh)
    # What rounding adds to fields of this size when they are decoded.
    rounding = SAFETY * ideal.shape[-1] * EPSILON * float(l2_norms(decoded, mesh).max())
    decoder_error = float(truth.errors(decoded, mesh).max()) + rounding
    lipschitz = constants.lipschitz
    num_steps = timeline.steps.shape[1]
    curve = error_bound_curve(recursion, known.bound, decoder_error, lipschitz, num_steps)
    return ForecastBound(
        bound=curve * (1 + ROUNDING),
        measured=truth.errors(forecast, mesh).max(axis=0),
        limit=limiting_error(recursion, decoder_error, lipschitz),
        recursion=recursion,
        observability=known.observability,
        sparse_error=known.bound,
        fit_residual=known.fit_residual,
        ideal_residual=known.ideal_residual,
        decoder_error=decoder_error,
        lipschitz=lipschitz,
    )


@dataclass(frozen=True, eq=False)
class _Truth:
    """Fields (sequences, times, channels, points), and where they are known."""

    fields: Array
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, trajectories: Trajectories) -> _Truth:
        fields = np.stack([each.fields for each in trajectories]).astype(np.float64)
        known = [
            np.ones(each.fields.shape, dtype=bool) if each.observed is None else each.observed
            for each in trajectories
        ]
        return cls(fields, np.stack(known))

    def errors(self, fields: Array, mesh: Mesh) -> Array:
        """L2 norms (sequences, times) of how far `fields` are from it where it is known."""
        return l2_norms(np.where(self.known, fields - self.fields, 0.0), mesh)


def _comparable(surrogate: Surrogate, trajectories: Trajectories) -> tuple[Trajectories, Timeline]:
    """Trajectories that one recursion and one norm can speak of."""
    timeline = Timeline.of(trajectories, surrogate.description.pace)
    if len({id(each.mesh) for each in trajectories}) > 1 or not bool(timeline.valid.all()):
        raise DataError("the bound needs sequences of one length on one mesh")
    if not timeline.uniform:
        raise DataError("the bound needs equal time steps")
    return trajectories, timeline


def ideal_latents(surrogate: Surrogate, trajectories: Trajectories) -> Tensor:
    """α* (snapshots, codes, p), the states nearest to aligned snapshots as a whole."""
    equations = normal_equations(surrogate.decoder, surrogate.blocks(trajectories))
    num_snapshots = sum(len(each.snapshots) for each in equations)
    shape = (num_snapshots, equations[0].num_codes, equations[0].moment.shape[-1])
    ideal = torch.empty(shape, dtype=torch.float64)
    for each in equations:
        ideal[each.snapshots] = least_squares(each)
    return ideal


def state_error(
    surrogate: Surrogate, observations: Trajectories, fitted: Tensor, ideal: Tensor | None
) -> StateError:
    """How far `fitted` states are from ideal ones, at most.

    Args:
        surrogate: the model.
        observations: of the first snapshot of each sequence.
        fitted: (sequences, codes, p) inferred from them.
        ideal: (sequences, codes, p); None where nobody knows, and left-out data have to tell.
    """
    first = observations.leading(1)
    blocks = surrogate.blocks(first)
    decoder = _in_double(surrogate.decoder)
    misses = residual_norms(decoder, blocks, fitted).norm(dim=1)
    if ideal is None:
        expected = (_num_values(blocks) * surrogate.expected_noise).sum(1).sqrt()
    else:
        expected = residual_norms(decoder, blocks, ideal).norm(dim=1)
    seen = observabilities(surrogate.decoder, blocks).amin(1)
    errors = [
        sparse_error(*each)
        for each in zip(seen.tolist(), misses.tolist(), expected.tolist(), strict=True)
    ]
    return StateError(
        bound=max(errors),
        observability=float(seen.min()),
        fit_residual=float(misses.max()),
        ideal_residual=float(expected.max()),
        estimated=ideal is None,
    )


@torch.no_grad()
def residual_norms(decoder: Decoder, blocks: Sequence[AnyBlock], codes: Tensor) -> Tensor:
    """‖c₀ + J₀ z - u‖ over the observed points of each snapshot and channel, point by point.

    Args:
        decoder: in double precision on the CPU.
        blocks: the observations, normalised.
        codes: z (snapshots, codes, p).

    Returns:
        (snapshots, channels).
    """
    squares = torch.zeros(len(codes), blocks[0].num_channels, dtype=torch.float64)
    for block in blocks:
        rows = block.snapshots.cpu()
        for chunk in block.chunks(POINTS_AT_ONCE):
            coords = chunk.coords.to("cpu", torch.float64)
            values = chunk.values.to("cpu", torch.float64)
            exact = replace(chunk, coords=coords, values=values)
            parts = [_misses(basis, part, codes[rows]) for basis, part in decoder.parts(exact)]
            squares[rows] += torch.cat(parts, dim=1)
    return squares.sqrt()


def _misses(basis: Basis, part: Block, codes: Tensor) -> Tensor:
    """Σ (c₀ + J₀ z - u)² over the observed points: (snapshots, channels of the part)."""
    misses = basis.modes @ codes.flatten(0, 1).T + basis.offset[:, None] - part.values
    if part.observed is not None:
        misses *= part.observed.cpu()
    return misses.square().sum(0).unflatten(0, (-1, part.num_channels))


def _num_values(blocks: Sequence[AnyBlock]) -> Tensor:
    """(snapshots, channels) how many values are observed."""
    num_snapshots = sum(len(block.snapshots) for block in blocks)
    count = torch.zeros(num_snapshots, blocks[0].num_channels, dtype=torch.float64)
    for block in blocks:
        rows = block.snapshots.cpu()
        for chunk in block.chunks(POINTS_AT_ONCE):
            if chunk.observed is None:
                count[rows] += chunk.num_points
            else:
                count[rows] += chunk.observed.cpu().double().sum(0).view(len(rows), -1)
    return count


def _in_double(decoder: Decoder) -> Decoder:
    return copy.deepcopy(decoder).to("cpu", torch.float64)


@torch.no_grad()
def _fields(surrogate: Surrogate, latents: Tensor, mesh: Mesh) -> Array:
    """Fields (..., channels, points) in the user's units, in double precision."""
    coords = torch.as_tensor(surrogate.description.coordinate_map(mesh.coords))
    channels = surrogate.num_channels
    codes = per_channel(latents, channels)
    parts = [
        decode_channels(surrogate.decoder.channel_bases(part.double(), channels), codes)
        for part in coords.split(POINTS_AT_ONCE)
    ]
    fields = surrogate.description.normalization.undo(torch.cat(parts, -1).numpy())
    return fields.astype(np.float64, copy=False)


def l2_norms(fields: NDArray[np.floating], mesh: Mesh) -> Array:
    """L2 norms over the mesh of fields (..., channels, points), channels together."""
    return np.sqrt((fields.astype(np.float64) ** 2 @ mesh.weights).sum(-1))


def _step(surrogate: Surrogate, step: float) -> tuple[Any, Tensor | float]:
    """The map over one interval: matrix and constant of a linear one, else a function and 0."""
    settings, dynamics = surrogate.description.settings, surrogate.dynamics

    def advance(states: Tensor) -> Tensor:
        steps = torch.full((len(states), 1), step, dtype=torch.float64)
        return step_map(dynamics, steps, method=settings.stepping, substeps=settings.num_substeps)(
            states, 0
        )

    if isinstance(dynamics, LinearDynamics):
        with torch.no_grad():
            constant = advance(torch.zeros(1, dynamics.dim, dtype=torch.float64))
            return (advance(torch.eye(dynamics.dim, dtype=torch.float64)) - constant).T, constant
    return advance, 0.0
