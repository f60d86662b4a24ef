"""A fitted member of the family, in any coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from smore.dynamics import ForcedLinear
from smore.training.dynamics.forced.anomalies import Anomalies, Centre
from smore.training.dynamics.forced.record import Array
from smore.training.dynamics.linear import real_generator

# A map that contracts by at least this much per step has a fixed point that can be solved for.
CONTRACTS = 1e-3


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Of a subspace of the states.

    Args:
        directions: (R, p) orthonormal columns.
        origin: (R,) the state that has coordinates 0.
    """

    directions: Array
    origin: Array


@dataclass(frozen=True, eq=False)
class System:
    """z(t) = m(t) + b(t), b ↦ M b + c over a step.

    Args:
        matrix: M (r, r).
        constant: c (r,).
        centre: m.
        step: model time.
    """

    matrix: Array
    constant: Array
    centre: Centre
    step: float

    @classmethod
    def within(
        cls,
        coordinates: Coordinates,
        anomalies: Anomalies,
        matrix: Array,
        constant: Array,
        step: float,
    ) -> System:
        """The map b ↦ b M + c of departures, in coordinates of a subspace of the states.

        Args:
            coordinates: of the subspace.
            anomalies: the departures.
            matrix: M (rank, rank), along their leading directions.
            constant: c (rank,).
            step: model time.
        """
        subspace = coordinates.directions
        directions = subspace.T @ anomalies.directions[:, : len(constant)]
        weights = anomalies.centre.weights.copy()
        weights[0] -= coordinates.origin
        centre = replace(anomalies.centre, weights=weights @ subspace)
        system = cls(directions @ matrix.T @ directions.T, directions @ constant, centre, step)
        return system._about_its_fixed_point()

    def seen(self, change: Array, shift: Array) -> System:
        """The same in coordinates α = T z + t."""
        inverse = np.linalg.inv(change)
        weights = self.centre.weights @ change.T
        weights[0] += shift
        return System(
            change @ self.matrix @ inverse,
            change @ self.constant,
            replace(self.centre, weights=weights),
            self.step,
        )

    def affine(self) -> tuple[Array, Array]:
        """M (r, r) and a (r,) of z ↦ M z + a over a step, where the centre rests."""
        rest = self.centre.weights[0]
        return self.matrix, rest + self.constant - self.matrix @ rest

    def assign(self, dynamics: ForcedLinear) -> float:
        """Give `dynamics` these numbers; the relative change that a real generator took."""
        augmented = np.eye(len(self.matrix) + 1)
        augmented[:-1, :-1], augmented[:-1, -1] = self.matrix, self.constant
        generator, change = real_generator(torch.as_tensor(augmented), self.step)
        with torch.no_grad():
            dynamics.linear.copy_(generator[:-1, :-1])
            for name, value in {
                "constant": generator[:-1, -1],
                "step_matrix": self.matrix,
                "step_constant": self.constant,
                "step": self.step,
                "frequencies": self.centre.frequencies,
                "trend": self.centre.trend,
                "centre_weights": self.centre.weights,
            }.items():
                getattr(dynamics, name).copy_(torch.as_tensor(value))
        return change

    def _about_its_fixed_point(self) -> System:
        """Without a constant term, where states return to one point."""
        identity = np.eye(len(self.matrix))
        if np.abs(np.linalg.eigvals(self.matrix)).max() > 1 - CONTRACTS:
            return self
        weights = self.centre.weights.copy()
        weights[0] += np.linalg.solve(identity - self.matrix, self.constant)
        return replace(
            self,
            constant=np.zeros_like(self.constant),
            centre=replace(self.centre, weights=weights),
        )
