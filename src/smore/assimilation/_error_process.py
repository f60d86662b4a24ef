"""What the dynamics get wrong, as part of the state.

The error of a model is no white noise, so it goes into the state. Two kinds have been learned:

- of trajectories, a first-order process η that moves with the flow (see
  `smore.dynamics.covariance`):
      α' = A α + ℓ η,   η' = φ^ℓ A η + √(1 - φ^2ℓ) w,
  with a smaller φ where A amplifies (chaos): errors of single steps stay as large as they are;
- of one record, only the size v of errors by lead, in one pattern P. It is split into what random
  steps of the dynamics explain and a departure b that forgets, whose sum grows as v does while
  nothing is observed:
      α = s + b,   s' = A s + √ℓ w₁,   b' = ρ^ℓ b + √(1 - ρ^2ℓ) w₂.

ℓ is the length of a step, in steps of the training data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.optimize
from torch import Tensor

from smore.assimilation.kalman import Array
from smore.dynamics import LeadError, StepError

# Forgetting rates that are tried, as half-lives in shares of the longest lead.
HALF_LIVES = np.geomspace(0.02, 4.0, 25)
# Relative misfit up to which random steps alone explain the sizes of errors, which are not known
# any better. A departure that forgets as the dynamics damp would explain them as well: by lead
# alone the two cannot be told apart, but only steps go where the flow takes them.
CLOSE_ENOUGH = 0.1


@dataclass(frozen=True, eq=False)
class ErrorProcess(ABC):
    """Blocks of the state: α or a part of it first, then what is wrong with it.

    Args:
        factor: (r, r) root of the covariance of errors.
    """

    factor: Array
    parts: ClassVar[int] = 2

    @property
    def dim(self) -> int:
        """r."""
        return len(self.factor)

    @property
    def size(self) -> int:
        """Entries of the state."""
        return self.parts * self.dim

    @property
    @abstractmethod
    def reads(self) -> Array:
        """(r, size): α from the state."""

    @abstractmethod
    def start(self, root: Array) -> Array:
        """Root (size, any) of the first state, from that of α (r, any)."""

    @abstractmethod
    def step(self, moving: Array, length: float) -> tuple[Array, Array]:
        """Matrix (size, size) and noise root of a step, from the derivative A of its flow."""


@dataclass(frozen=True, eq=False)
class WhiteError(ErrorProcess):
    """α' = A α + ℓ w: errors that are independent from step to step, or none."""

    parts: ClassVar[int] = 1

    @property
    def reads(self) -> Array:
        return np.eye(self.dim)

    def start(self, root: Array) -> Array:
        return root

    def step(self, moving: Array, length: float) -> tuple[Array, Array]:
        return moving, length * self.factor


@dataclass(frozen=True, eq=False)
class ColouredError(ErrorProcess):
    """The first of the two kinds."""

    correlation: float

    @property
    def reads(self) -> Array:
        return np.eye(self.dim, self.size)

    def start(self, root: Array) -> Array:
        return np.block(
            [
                [root, np.zeros((self.dim, self.factor.shape[1]))],
                [np.zeros((self.dim, root.shape[1])), self.factor],
            ]
        )

    def step(self, moving: Array, length: float) -> tuple[Array, Array]:
        # Amplified faster than it is forgotten, η would grow for ever, and the filter with it. By
        # the square: what A amplifies most then varies by less than twice Q.
        memory = self.correlation**length / max(1.0, np.abs(np.linalg.eigvals(moving)).max()) ** 2
        none = np.zeros((self.dim, self.dim))
        matrix = np.block([[moving, length * np.eye(self.dim)], [none, memory * moving]])
        fresh = np.sqrt(max(1 - memory**2, 0.0)) * self.factor
        return matrix, np.concatenate([np.zeros_like(fresh), fresh])


@dataclass(frozen=True, eq=False)
class WanderingError(WhiteError):
    """α' = A α + √ℓ w: the second kind where random steps of the dynamics explain all of it."""

    def step(self, moving: Array, length: float) -> tuple[Array, Array]:
        return moving, np.sqrt(length) * self.factor


@dataclass(frozen=True, eq=False)
class ForgettingError(ErrorProcess):
    """The second: variances of random steps and of the departure, in units of the pattern."""

    steps: float
    departure: float
    memory: float

    @property
    def reads(self) -> Array:
        return np.concatenate([np.eye(self.dim), np.eye(self.dim)], axis=1)

    def start(self, root: Array) -> Array:
        return np.concatenate([root, np.zeros_like(root)])

    def step(self, moving: Array, length: float) -> tuple[Array, Array]:
        memory, none = self.memory**length, np.zeros((self.dim, self.dim))
        matrix = np.block([[moving, none], [none, memory * np.eye(self.dim)]])
        walks = np.sqrt(self.steps * length) * self.factor
        departs = np.sqrt(self.departure * max(1 - memory**2, 0.0)) * self.factor
        return matrix, np.block([[walks, none], [none, departs]])


def error_process(
    error: StepError | LeadError, moving: Array, step: float, inflation: float
) -> ErrorProcess:
    """What was learned about errors, as a process.

    Args:
        error: of the dynamics.
        moving: (r, r) derivative of a step of the training data, for errors by lead.
        step: its length, model time.
        inflation: by how many times larger variances are.
    """
    factor = np.sqrt(inflation) * _numpy(error.factor)
    if isinstance(error, LeadError):
        return _forgetting(error, factor, moving, step)
    if error.correlation == 0 or not factor.any():
        return WhiteError(factor)
    return ColouredError(factor, error.correlation)


def _forgetting(error: LeadError, factor: Array, moving: Array, step: float) -> ErrorProcess:
    """The process whose variances by lead are those that were seen, as nearly as it can."""
    leads = _numpy(error.leads)[1:] / step
    wanted = _numpy(error.variances)[1:]
    if not wanted.any() or not factor.any():
        return WhiteError(np.zeros_like(factor))
    walks = _growth(factor, moving, leads)
    alone, misfit = scipy.optimize.nnls((walks / wanted)[:, None], np.ones(len(wanted)))
    if misfit <= CLOSE_ENOUGH * len(wanted) ** 0.5:
        return WanderingError(np.sqrt(alone[0]) * factor)
    best, found = np.inf, (0.0, 0.0, 0.0)
    for half_life in HALF_LIVES * leads[-1]:
        memory = 0.5 ** (1 / half_life)
        terms = np.column_stack([walks, 1 - memory ** (2 * leads)]) / wanted[:, None]
        weights, misfit = scipy.optimize.nnls(terms, np.ones(len(wanted)))
        if misfit < best:
            best, found = misfit, (float(weights[0]), float(weights[1]), float(memory))
    steps, departure, memory = found
    return ForgettingError(factor, steps, departure, memory)


def _growth(factor: Array, moving: Array, leads: Array) -> Array:
    """Variance by lead of random steps that the dynamics move on, relative to the pattern's."""
    totals, carried = [0.0], factor
    for _ in range(int(np.ceil(leads[-1]))):
        totals.append(totals[-1] + float(np.square(carried).sum()))
        carried = moving @ carried
    return np.interp(leads, np.arange(len(totals)), totals) / np.square(factor).sum()


def _numpy(values: Tensor) -> Array:
    return values.detach().cpu().double().numpy()
