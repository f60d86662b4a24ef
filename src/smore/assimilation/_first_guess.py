"""What the first guess still has to do with the error of a state, and what that is worth.

The prior of the first state was estimated, from n training states. It knows too well how the q
directions that readings determine go with the others (see `LatentPrior.underestimate`): what they
leave open is f(q) times larger than it says, what they determine is not. The error of a filter's
state depends on that of the first guess, α₀ - μ = F ξ, by a matrix G that moves with the
transitions and shrinks with the updates,

    G' = (I - K H) M G,      G₀ = F,

so that a covariance P has to be P + (f(q) - 1) G Gᵀ; readings go on determining directions, and
q and f grow with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from smore.assimilation.kalman import Array, Gaussian, Readings, compressed, gain
from smore.inference import LatentPrior

# Growth of f that is too little to be counted.
TOO_LITTLE = 1e-3


@dataclass(frozen=True, eq=False)
class FirstGuess:
    """How far the first guess is still in a state of n entries.

    Args:
        matrix: G (n, r); without columns where the prior is known, or forgotten.
        larger: f(q) that the covariance of the state has in it.
        prior: number of the prior.
    """

    matrix: Array
    larger: float
    prior: int

    @classmethod
    def known(cls, size: int) -> FirstGuess:
        """Nothing that would have to be counted."""
        return cls(np.zeros((size, 0)), 1.0, 0)

    @classmethod
    def of(cls, prior: LatentPrior, number: int, size: int) -> FirstGuess:
        """Of a first state whose leading entries are α, or that adds up to it."""
        if prior.count is None:
            return cls.known(size)
        factor = prior.factor.numpy()
        rest = np.zeros((size - len(factor), len(factor)))
        return cls(np.concatenate([factor, rest]), 1.0, number)

    @property
    def matters(self) -> bool:
        """Whether anything is left of it."""
        return self.matrix.shape[1] > 0

    def forgotten(self, size: int) -> FirstGuess:
        """Where covariances no longer change, nothing of it is left."""
        return self if not self.matters else FirstGuess.known(size)

    def moved(self, matrix: Array) -> FirstGuess:
        """After a transition by `matrix` (n', n)."""
        return replace(self, matrix=matrix @ self.matrix)

    def updated(self, before: Gaussian, readings: Readings) -> FirstGuess:
        """After an update of the state `before`."""
        if not len(readings):
            return self
        weights = gain(before, readings)
        return replace(self, matrix=self.matrix - weights @ (readings.matrix @ self.matrix))

    def owned_up(self, state: Gaussian, larger: float) -> tuple[FirstGuess, Gaussian]:
        """The state with what f = `larger` adds to its covariance."""
        if larger <= self.larger + TOO_LITTLE:
            return self, state
        added = np.sqrt(larger - self.larger) * self.matrix
        root = compressed(state.root, added)
        return replace(self, larger=larger), Gaussian(state.mean, root)


def underestimated(prior: LatentPrior, latent: Gaussian) -> float:
    """f(q), with the q directions in which the prior's variance is gone from the state `latent`."""
    root = torch.as_tensor(latent.root)
    left = torch.linalg.lstsq(prior.factor, root).solution.square().sum()
    return float(prior.underestimate((len(latent.mean) - left).clamp(min=0)))
