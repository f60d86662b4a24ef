"""The ensemble transform Kalman filter: states as samples, for dynamics that bend them.

Members are moved by the dynamics themselves and updated together: with anomalies S = (x_i - mean) /
√(N - 1) and Z = σ⁻¹ H S the new ones are S (I + ZᵀZ)^(-1/2), the symmetric root, which keeps their
mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smore.assimilation.kalman import Array, Gaussian, Readings


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Members (N, n) of a state."""

    members: Array

    @classmethod
    def drawn(cls, state: Gaussian, size: int, random: np.random.Generator) -> Ensemble:
        """`size` members of a Gaussian, with its mean exactly."""
        draws = random.normal(size=(size, state.root.shape[1]))
        draws -= draws.mean(0)
        draws *= np.sqrt(size / (size - 1))
        return cls(state.mean + draws @ state.root.T)

    @property
    def state(self) -> Gaussian:
        """Mean, and anomalies as a root."""
        mean = self.members.mean(0)
        return Gaussian(mean, (self.members - mean).T / np.sqrt(len(self.members) - 1))

    def predicted(
        self,
        advance: Callable[[Array], Array],
        noise: Array,
        random: np.random.Generator,
    ) -> Ensemble:
        """Every member moved on by `advance` (N, n) -> (N, n), with noise of a root (n, any)."""
        added = random.normal(size=(len(self.members), noise.shape[1]))
        return Ensemble(advance(self.members) + (added - added.mean(0)) @ noise.T)

    def updated(self, readings: Readings, inflation: float = 1.0) -> Ensemble:
        """The members once `readings` are known; anomalies are `inflation` times larger before."""
        if not len(readings):
            return self
        state = self.state
        root = inflation * state.root
        seen = (readings.matrix @ root) / readings.deviation[:, None]
        missed = (readings.values - readings.matrix @ state.mean) / readings.deviation
        sizes, directions = np.linalg.eigh(np.eye(seen.shape[1]) + seen.T @ seen)
        weights = directions @ ((directions.T @ (seen.T @ missed)) / sizes)
        transform = (directions / np.sqrt(sizes)) @ directions.T
        anomalies = root @ transform * np.sqrt(len(self.members) - 1)
        return Ensemble(state.mean + root @ weights + anomalies.T)
