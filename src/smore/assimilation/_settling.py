"""Where sensors stay and times are even, covariances settle: from then on only means move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smore.assimilation.kalman import Array, Gaussian, Readings, Transition, expected, gain

# Variances that change by less than this share no longer change.
STILL = 1e-13


@dataclass(frozen=True, eq=False)
class Settled:
    """A step of the filter that repeats itself.

    Args:
        key: the interval, and who reads what where.
        transition: to the readings.
        readings: their values mean nothing.
        before: root of the covariance before the update, and
        after: after it.
        gain: K.
        innovation: root of the covariance of innovations.
    """

    key: tuple
    transition: Transition
    readings: Readings
    before: Array
    after: Array
    gain: Array
    innovation: Array


class Settling:
    """Watches steps until they repeat themselves."""

    def __init__(self) -> None:
        self.settled: Settled | None = None
        self._key: tuple = ()
        self._variances = np.zeros(0)

    def applies(self, key: tuple, state: Gaussian) -> bool:
        """Whether the step from `state` is the settled one."""
        settled = self.settled
        return settled is not None and settled.key == key and state.root is settled.after

    def watch(
        self,
        key: tuple,
        transition: Transition,
        readings: Readings,
        before: Gaussian,
        after: Gaussian,
    ) -> None:
        """Look at a step in which all readings were taken."""
        variances = np.square(before.root).sum(1)
        again = key == self._key and len(variances) == len(self._variances)
        if again and np.abs(variances - self._variances).max() <= STILL * variances.max():
            self.settled = Settled(
                key,
                transition,
                readings,
                before.root,
                after.root,
                gain(before, readings),
                expected(before, readings).root,
            )
        self._key, self._variances = key, variances
