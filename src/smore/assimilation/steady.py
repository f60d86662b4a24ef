"""Sensors that stay, dynamics that stay: the gain settles, and a step costs two products.

The covariance before an update tends to the solution of a Riccati equation,

    P = F P Fᵀ + Q - F P Hᵀ (H P Hᵀ + R)⁻¹ H P Fᵀ,

and the filter to x ← (F - F K H) x + F K y + c. What later proofs need are values here: the gain K,
the closed-loop matrix F (I - K H) whose powers errors follow, and the noise that drives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from smore.assimilation.kalman import (
    Array,
    Gaussian,
    Readings,
    Transition,
    compressed,
    gain,
    predict,
    update,
)
from smore.errors import SettingsError

# The filter goes on from the Riccati solution until nothing but round-off moves.
MAX_POLISHING = 50
STILL = 1e-14


@dataclass(frozen=True, eq=False)
class SteadyFilter:
    """A filter whose covariances no longer change.

    Args:
        transition: of every step.
        readings: which every step makes; its values mean nothing.
        before: (n, n) root of the covariance before an update, and
        after: (n, n) after it.
        gain: K (n, m).
    """

    transition: Transition
    readings: Readings
    before: Array
    after: Array
    gain: Array

    @property
    def closed_loop(self) -> Array:
        """F (I - K H): an error of one prediction becomes that of the next."""
        return self.transition.matrix @ (np.eye(len(self.gain)) - self.gain @ self.readings.matrix)

    @property
    def noise(self) -> Array:
        """Root (n, any) of what one step adds to the error: noise of dynamics and of readings."""
        entering = self.transition.matrix @ self.gain * self.readings.deviation
        return np.concatenate([self.transition.noise, entering], axis=1)

    @property
    def spectral_radius(self) -> float:
        """By how much errors shrink in a step, in the long run; the filter forgets if it is < 1."""
        return float(np.abs(np.linalg.eigvals(self.closed_loop)).max())

    def run(self, mean: Array, values: Iterable[Array]) -> Iterator[Array]:
        """Means (n,) after each update, from the predicted `mean` and readings (m,) of every step.

        Nothing is stored: memory does not grow with the number of steps.
        """
        matrix, shift = self.transition.matrix, self.transition.shift
        for seen in values:
            mean = mean + self.gain @ (seen - self.readings.matrix @ mean)
            yield mean
            mean = matrix @ mean + shift


def steady_filter(transition: Transition, readings: Readings) -> SteadyFilter:
    """What the filter of a system that does not change with time settles to.

    Raises:
        SettingsError: it does not settle: something that grows is not seen.
    """
    measured = np.diag(np.square(readings.deviation))
    try:
        covariance = scipy.linalg.solve_discrete_are(
            transition.matrix.T,
            readings.matrix.T,
            transition.noise @ transition.noise.T,
            measured,
        )
        sizes, directions = np.linalg.eigh((covariance + covariance.T) / 2)
    except (np.linalg.LinAlgError, ValueError):
        raise SettingsError(
            "the filter does not settle: the sensors do not see something that the dynamics keep "
            "or amplify; run it step by step, or place more sensors"
        ) from None
    before = Gaussian(np.zeros(len(sizes)), directions * np.sqrt(sizes.clip(min=0)))
    still = Transition(transition.matrix, np.zeros(len(sizes)), transition.noise)
    silent = Readings(readings.matrix, np.zeros(len(readings)), readings.deviation)
    for _ in range(MAX_POLISHING):
        after = update(before, silent)
        following = predict(after, still)
        moved = np.abs(following.covariance - before.covariance).max()
        before = following
        if moved <= STILL * np.abs(before.covariance).max():
            break
    after = update(before, silent)
    return SteadyFilter(
        transition, readings, before.root, compressed(after.root), gain(before, silent)
    )
