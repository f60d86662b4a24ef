"""Sensors that stay, dynamics that stay: the gain settles, and a step costs two products.

The covariance before an update tends to the solution of a Riccati equation,

    P = F P Fᵀ + Q - F P Hᵀ (H P Hᵀ + R)⁻¹ H P Fᵀ,

and the filter to x ← (F - F K H) x + F K y + c. What later proofs need are values here: the gain K,
the closed-loop matrix F (I - K H) whose powers errors follow, and the noise that drives them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

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
MAX_POLISHING = 3
STILL = 1e-14
# Rounds of doubling: as many as there are digits to an eigenvalue that is nearly 1.
MAX_DOUBLING = 40
# Readings that are worked on at once.
PIECE = 256


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

        Nothing is stored: memory does not grow with the number of steps. Readings are taken in
        pieces, so that one product moves the state and all others are of matrices.
        """
        kept = np.eye(len(self.gain)) - self.gain @ self.readings.matrix
        moving, entering = self.closed_loop, self.transition.matrix @ self.gain
        remaining = iter(values)
        while piece := list(itertools.islice(remaining, PIECE)):
            seen = np.stack(piece)
            forced = seen @ entering.T + self.transition.shift
            before = np.empty((len(seen), len(mean)))
            for number, added in enumerate(forced):
                before[number] = mean
                mean = moving @ mean + added
            yield from before @ kept.T + seen @ self.gain.T


def run_fixed(
    state: Gaussian, transition: Transition, readings: Readings, values: Iterable[Array]
) -> Iterator[Gaussian]:
    """The exact filter of sensors that stay: states after each update.

    Covariances are computed until they no longer change but by round-off, and kept from then on.

    Args:
        state: before the first readings.
        transition: of every step.
        readings: which every step makes; its values mean nothing.
        values: (m,) readings of every step.
    """
    before, weights = np.zeros(len(state.mean)), np.zeros((len(state.mean), len(readings)))
    after: Array | None = None
    for number, seen in enumerate(values):
        mean = transition.matrix @ state.mean + transition.shift if number else state.mean
        if after is None:
            root = predict(state, transition).root if number else state.root
            now = np.square(root).sum(1)
            state = update(Gaussian(mean, root), replace(readings, values=seen))
            if np.abs(now - before).max() <= STILL * now.max():
                after, weights = state.root, gain(Gaussian(mean, root), readings)
            before = now
        else:
            state = Gaussian(mean + weights @ (seen - readings.matrix @ mean), after)
        yield state


def steady_filter(transition: Transition, readings: Readings) -> SteadyFilter:
    """What the filter of a system that does not change with time settles to.

    Raises:
        SettingsError: it does not settle: something that grows is not seen.
    """
    covariance = _doubled(transition, readings)
    if covariance is None:
        raise SettingsError(
            "the filter does not settle: the sensors do not see something that the dynamics keep "
            "or amplify; run it step by step, or place more sensors"
        )
    sizes, directions = np.linalg.eigh((covariance + covariance.T) / 2)
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


def _doubled(transition: Transition, readings: Readings) -> Array | None:
    """The covariance before an update that the filter settles to; None where it does not.

    By doubling: the k-th round knows the filter after 2ᵏ steps, from a state that is known exactly.
    """
    moving = transition.matrix.T
    seen = readings.matrix / readings.deviation[:, None]
    known, covariance = seen.T @ seen, transition.noise @ transition.noise.T
    identity = np.eye(len(moving))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(MAX_DOUBLING):
            inner = identity + known @ covariance
            try:
                both = np.linalg.solve(inner, np.hstack([moving, known]))
            except np.linalg.LinAlgError:
                return None
            through, told = both[:, : len(moving)], both[:, len(moving) :]
            added = moving.T @ (covariance @ through)
            known = known + moving @ told @ moving.T
            moving = moving @ through
            covariance = covariance + (added + added.T) / 2
            if not np.isfinite(covariance).all():
                return None
            if np.abs(added).max() <= STILL * np.abs(covariance).max():
                return covariance
    return None
