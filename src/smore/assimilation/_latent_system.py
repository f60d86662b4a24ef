"""A surrogate as a system that a filter can run: how its state moves, and what sensors see."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from smore.assimilation._error_process import ErrorProcess, error_process
from smore.assimilation.kalman import Array, Gaussian, Transition, compressed
from smore.dynamics import (
    ForcedLinear,
    LinearDynamics,
    StepMap,
    StepPlan,
    step_jacobians,
    step_map,
)
from smore.errors import DivergenceError
from smore.inference import LatentPrior
from smore.surrogate import Surrogate

# Intervals and sets of sensors whose matrices are kept.
MOST_KEPT = 64


class LatentSystem:
    """State, transitions and rows of sensors of a surrogate.

    Args:
        surrogate: the model.
        inflation: by how many times larger its errors are than those on left-out data.
    """

    process: ErrorProcess

    def __init__(self, surrogate: Surrogate, inflation: float = 1.0) -> None:
        self.surrogate = surrogate
        self.inflation = inflation
        self.linear = isinstance(surrogate.dynamics, LinearDynamics)
        self._moves: dict[tuple[float, ...], tuple[Array, Array, Array]] = {}
        self._rows: dict[bytes, tuple[Array, Array]] = {}
        step = surrogate.description.step
        moving, _ = self._flow(surrogate.prior.mean.numpy(), None, step)
        self.process = error_process(surrogate.error.step, moving, step, inflation)

    def start(self, prior: LatentPrior, larger: float = 1.0) -> Gaussian:
        """The state before anything is observed, with a covariance so many times larger."""
        root = np.sqrt(larger) * prior.factor.numpy()
        mean = np.zeros(self.process.size)
        mean[: self.process.dim] = prior.mean.numpy()
        return Gaussian(mean, self.process.start(root))

    def transition(self, mean: Array, start: float, stop: float) -> Transition:
        """From model time `start` to `stop`, linearised about a state of mean `mean`.

        Raises:
            DivergenceError: the state overflows.
        """
        lengths = self._lengths(stop - start)
        dim = self.process.dim
        if self.linear:
            if lengths not in self._moves:
                _bounded(self._moves)
                self._moves[lengths] = self._linear_move(lengths)
            matrix, noise, constant = self._moves[lengths]
            shift = np.zeros(self.process.size)
            shift[:dim] = constant + self._centre(stop) - matrix[:dim, :dim] @ self._centre(start)
        else:
            matrix, noise, end = self._curved_move(mean, start, lengths)
            shift = end - matrix @ mean
        if not np.isfinite(shift).all():
            raise DivergenceError(
                "the state overflows between readings: the latent dynamics are not stable over so "
                "long a gap; observe more often, or assimilate a shorter window",
                part="assimilation",
            )
        return Transition(matrix, shift, noise)

    def advanced(self, states: Array, start: float, stop: float) -> Array:
        """States (n, size) moved on by the dynamics themselves, without new noise."""
        dim, time = self.process.dim, start
        for length in self._lengths(stop - start):
            share = length / self.surrogate.description.step
            with torch.no_grad():
                moved = self._advance(time, length)(torch.as_tensor(states[:, :dim].copy()), 0)
            along = moved.numpy()
            matrix, _ = self.process.step(np.zeros((dim, dim)), share)
            rest = states[:, dim:]
            if rest.shape[1]:
                # η moves by the derivative, taken about the mean of all states.
                moving, _ = self._flow(states[:, :dim].mean(0), time, length)
                whole, _ = self.process.step(moving, share)
                along = along + rest @ matrix[:dim, dim:].T
                rest = rest @ whole[dim:, dim:].T
            states, time = np.concatenate([along, rest], axis=1), time + length
        return states

    def rows(self, places: Array, channels: NDArray[np.intp]) -> tuple[Array, Array]:
        """H (m, r) and offset (m,) of values H α + offset at decoder coordinates (m, d)."""
        key = places.tobytes() + channels.tobytes()
        if key not in self._rows:
            _bounded(self._rows)
            self._rows[key] = self._decoder_rows(places, channels)
        return self._rows[key]

    @torch.no_grad()
    def _decoder_rows(self, places: Array, channels: NDArray[np.intp]) -> tuple[Array, Array]:
        surrogate = self.surrogate
        decoder, dim = surrogate.decoder, surrogate.decoder.latent_dim
        matrix = np.zeros((len(places), self.process.dim))
        offset = np.zeros(len(places))
        coords = torch.as_tensor(places).to(next(decoder.parameters()))
        bases = decoder.channel_bases(coords, surrogate.num_channels)
        for number, basis in enumerate(bases):
            own = channels == number
            code = 0 if decoder.joint else number
            part = slice(code * dim, (code + 1) * dim)
            matrix[own, part] = basis.modes.to("cpu", torch.float64).numpy()[own]
            offset[own] = basis.offset.to("cpu", torch.float64).numpy()[own]
        return matrix, offset

    def _lengths(self, interval: float) -> tuple[float, ...]:
        plan = StepPlan.of(
            torch.tensor([[interval]], dtype=torch.float64), self.surrogate.description.step
        )
        return tuple(round(length, 12) for length in plan.steps[0].tolist() if length > 0)

    def _linear_move(self, lengths: tuple[float, ...]) -> tuple[Array, Array, Array]:
        """Matrix, noise, and the constant (r,) that departures from the centre gain."""
        size, dim = self.process.size, self.process.dim
        matrix, noise, constant = np.eye(size), np.zeros((size, 0)), np.zeros(dim)
        made: dict[float, tuple[Array, Array, Array]] = {}
        for length in lengths:
            if length not in made:
                moving, gained = self._flow(np.zeros(dim), None, length)
                share = length / self.surrogate.description.step
                made[length] = (*self.process.step(moving, share), gained)
            step, fresh, gained = made[length]
            matrix, noise = step @ matrix, compressed(step @ noise, fresh)
            constant = step[:dim, :dim] @ constant + gained
        return matrix, noise, constant

    def _centre(self, time: float) -> Array:
        """m (r,), or nothing where the dynamics have no centre."""
        dynamics = self.surrogate.dynamics
        if not isinstance(dynamics, ForcedLinear):
            return np.zeros(self.process.dim)
        return dynamics.centre(torch.tensor(time, dtype=torch.float64)).detach().numpy()

    def _curved_move(
        self, mean: Array, start: float, lengths: tuple[float, ...]
    ) -> tuple[Array, Array, Array]:
        size, dim = self.process.size, self.process.dim
        matrix, noise, time = np.eye(size), np.zeros((size, 0)), start
        for length in lengths:
            moving, end = self._flow(mean[:dim], time, length)
            step, fresh = self.process.step(moving, length / self.surrogate.description.step)
            ahead = step @ mean
            ahead[:dim] += end - moving @ mean[:dim]
            matrix, noise = step @ matrix, compressed(step @ noise, fresh)
            mean, time = ahead, time + length
        return matrix, noise, mean

    def _flow(self, state: Array, time: float | None, length: float) -> tuple[Array, Array]:
        """Derivative (r, r) of a step at a state (r,), and where it leads; without a time the
        state is a departure from the centre.
        """
        advance = self._advance(time, length)
        start = torch.as_tensor(np.array(state))[None]
        with torch.no_grad():
            end = advance(start, 0)[0].numpy()
        return step_jacobians(advance, start, 0)[0].numpy(), end

    def _advance(self, time: float | None, length: float) -> StepMap:
        settings = self.surrogate.description.settings
        return step_map(
            self.surrogate.dynamics,
            torch.tensor([[length]], dtype=torch.float64),
            method=settings.stepping,
            substeps=settings.num_substeps,
            starts=None if time is None else torch.tensor([time], dtype=torch.float64),
        )


def _bounded(kept: dict) -> None:
    """Forget the oldest entry of a full table."""
    if len(kept) >= MOST_KEPT:
        del kept[next(iter(kept))]
