"""POD + DMD in a few lines of NumPy: what anyone could do with snapshots on one mesh.

States are coefficients of the leading singular vectors, and the map between states of successive
snapshots is least squares with a constant. A reference to be beaten, with no choice but its rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from smore.errors import DataError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PodDmd:
    """A basis and an affine map between its coefficients.

    Attributes:
        mean: (values,) of the training snapshots.
        modes: (values, rank) orthonormal.
        step: (rank + 1, rank) from coefficients and 1 to those of the next snapshot.
    """

    mean: Array
    modes: Array
    step: Array

    @classmethod
    def fit(cls, sequences: Sequence[NDArray[np.floating]], rank: int) -> Self:
        """The model of sequences (times, values) with equal steps.

        Raises:
            DataError: fewer snapshots or values than the rank.
        """
        snapshots = np.concatenate([np.asarray(each, float) for each in sequences])
        if not 1 <= rank <= min(len(snapshots) - 1, snapshots.shape[1]):
            raise DataError(
                f"a rank between 1 and {min(len(snapshots) - 1, snapshots.shape[1])} can be told "
                f"from {len(snapshots)} snapshots of {snapshots.shape[1]} values, got {rank}"
            )
        mean = snapshots.mean(0)
        modes = np.linalg.svd(snapshots - mean, full_matrices=False)[2][:rank].T
        states = [(np.asarray(each, float) - mean) @ modes for each in sequences]
        return cls(mean, modes, affine_step(states))

    def forecast(self, first: NDArray[np.floating], num_steps: int) -> Array:
        """Snapshots (..., num_steps, values) that follow `first` (..., values)."""
        return self.decode(self.states(first, num_steps))

    def states(self, first: NDArray[np.floating], num_steps: int) -> Array:
        """Coefficients (..., num_steps, rank) of the snapshots that follow `first`."""
        state, states = (np.asarray(first, float) - self.mean) @ self.modes, []
        with np.errstate(over="ignore", invalid="ignore"):  # nothing keeps a reference stable
            for _ in range(num_steps):
                state = state @ self.step[:-1] + self.step[-1]
                states.append(state)
        return np.stack(states, axis=-2)

    def decode(self, states: Array) -> Array:
        """Snapshots (..., values) of coefficients (..., rank)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(states @ self.modes.T + self.mean)


def affine_step(states: Sequence[Array]) -> Array:
    """(r + 1, r) least squares from a state and 1 to the state that follows it.

    Args:
        states: (times, r) of each sequence; no pair spans two of them.
    """
    before = np.concatenate([each[:-1] for each in states])
    after = np.concatenate([each[1:] for each in states])
    known = np.column_stack([before, np.ones(len(before))])
    # Least squares is the same in any units of the states; in these it is well conditioned.
    units = np.sqrt(np.square(known).mean(0))
    step: Array = np.linalg.lstsq(known / units, after, rcond=None)[0] / units[:, None]
    return step
