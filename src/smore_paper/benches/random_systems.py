"""Random latent dynamics of known kinds, to try certificates on.

A robust system is stable by a margin that no rounding touches; an edgy one is stable or not by less
than that. Whatever is claimed of either is compared with what is iterated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from smore.dynamics import (
    FullConservative,
    FullQuadratic,
    LatentDynamics,
    LinearDynamics,
    LowRankConservative,
    rollout,
    step_map,
)
from smore.stability import Stepping, certify_dynamics

Array = NDArray[np.float64]
NUM_STATES = 4
# What has decayed so far cannot be told from its bound: the squares of a norm lose their digits.
VANISHED = 1e-150


@dataclass(frozen=True, eq=False)
class System:
    """Dynamics, states to start from, and how they are iterated."""

    dynamics: LatentDynamics
    states: Array
    stepping: Stepping

    @torch.no_grad()
    def worst_ratio(self, num_steps: int) -> float | None:
        """Largest V / bound after 1 to `num_steps` steps from covered states; None without any."""
        certificate = certify_dynamics(self.dynamics, self.states, self.stepping)
        states = self.states[certificate.covers(self.states)]
        if not len(states):
            return None
        advance = step_map(
            self.dynamics,
            torch.full((len(states), 1), self.stepping.step, dtype=torch.float64),
            method=self.stepping.method,
            substeps=self.stepping.substeps,
        )
        path = rollout(lambda state, _: advance(state, 0), torch.as_tensor(states), num_steps)
        bounds = certificate.bound(certificate.distance(states), num_steps)
        with np.errstate(over="ignore", invalid="ignore"):
            ratios = certificate.distance(path.numpy()) / np.maximum(bounds, VANISHED)
        # Infinite bounds claim nothing; an infinite V beside a finite bound is the worst there is.
        ratios = np.where(np.isfinite(bounds), np.nan_to_num(ratios, nan=np.inf), 0.0)
        return float(ratios[:, 1:].max())


def _dim(rng: np.random.Generator) -> int:
    return int(rng.integers(2, 13))


def _states(rng: np.random.Generator, dim: int) -> Array:
    return rng.normal(size=(NUM_STATES, dim))


def _change(rng: np.random.Generator, dim: int, stretch: float) -> Array:
    """Coordinates of condition up to e^(2 stretch)."""
    left, right = (np.linalg.qr(rng.normal(size=(dim, dim)))[0] for _ in range(2))
    return left @ np.diag(np.exp(stretch * rng.uniform(-1, 1, dim))) @ right


def _linear(rng: np.random.Generator, decay: float, method: str, stretch: float) -> System:
    """Eigenvalues that decay at `decay` at least, in some coordinates."""
    dim = 2 * int(rng.integers(1, 6))
    matrix = np.zeros((dim, dim))
    for start in range(0, dim, 2):
        rate, frequency = decay * rng.uniform(1, 10), rng.uniform(0, 3)
        matrix[start : start + 2, start : start + 2] = [[-rate, -frequency], [frequency, -rate]]
    change = _change(rng, dim, stretch)
    dynamics = LinearDynamics(dim).double()
    dynamics.linear.data.copy_(torch.as_tensor(change @ matrix @ np.linalg.inv(change)))
    return System(dynamics, _states(rng, dim), Stepping(rng.uniform(0.1, 0.8), method, 1))


def linear(rng: np.random.Generator) -> System:
    return _linear(rng, 10 ** rng.uniform(-3, 0), "exact", rng.uniform(0, 2))


def linear_runge_kutta(rng: np.random.Generator) -> System:
    return _linear(rng, 10 ** rng.uniform(-3, 0), "rk4-38", rng.uniform(0, 2))


def linear_near_rounding(rng: np.random.Generator) -> System:
    return _linear(rng, rng.choice([-1, 0, 1]) * 10 ** rng.uniform(-16, -11), "exact", 0.5)


def _dissipative(
    rng: np.random.Generator, scale: float, margin: float, quadratic: float, method: str
) -> System:
    """K - D Dᵀ - g I, a bias, and a quadratic term that conserves energy."""
    dim = _dim(rng)
    if rng.random() < 0.5:
        dynamics: FullConservative | LowRankConservative = FullConservative(dim, dissipative=True)
    else:
        seed = torch.Generator().manual_seed(int(rng.integers(2**31)))
        dynamics = LowRankConservative(dim, 3, dissipative=True, generator=seed)
    dynamics = dynamics.double()
    columns = int(rng.integers(0, dim + 1))
    dissipation = np.zeros((dim, dim))
    dissipation[:, :columns] = scale * rng.normal(size=(dim, columns))
    dynamics.rotation.data.copy_(torch.as_tensor(rng.normal(size=(dim, dim))))
    dynamics.dissipation.data.copy_(torch.as_tensor(dissipation))
    dynamics.margin.fill_(margin)
    dynamics.bias.data.copy_(torch.as_tensor(rng.choice([0.0, 0.1]) * rng.normal(size=dim)))
    last = dynamics.upper if isinstance(dynamics, FullConservative) else dynamics.third
    last.data.copy_(torch.as_tensor(quadratic * rng.normal(size=last.shape)))
    step = 10 ** rng.uniform(-2, 0.5) if method == "strang" else 0.01
    substeps = int(rng.integers(1, 4)) if method == "strang" else 8
    return System(dynamics, _states(rng, dim), Stepping(step, method, substeps))


def conservative(rng: np.random.Generator) -> System:
    margin = 10 ** rng.uniform(-3, 0)
    return _dissipative(rng, 10 ** rng.uniform(-2, 0.5), margin, 10 ** rng.uniform(-2, 3), "strang")


def conservative_runge_kutta(rng: np.random.Generator) -> System:
    return _dissipative(rng, 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(-1, 0), 0.1, "rk4")


def conservative_near_rounding(rng: np.random.Generator) -> System:
    """Margins from below to above the rounding of D Dᵀ."""
    scale = 10 ** rng.uniform(0, 6)
    margin = rng.choice([0.0, 1.0]) * 10 ** rng.uniform(-15, -6)
    return _dissipative(rng, scale, margin, 1.0, "strang")


def conservative_runge_kutta_near_rounding(rng: np.random.Generator) -> System:
    """Steps so short that what they lose is not much more than their rounding."""
    system = _dissipative(rng, 0.1, 10 ** rng.uniform(-12, -3), 1e-3, "rk4")
    return System(system.dynamics, system.states, Stepping(10 ** rng.uniform(-9, -1), "rk4", 2))


def _quadratic(rng: np.random.Generator, defect: float, stretch: float) -> System:
    """A dissipative system seen in other coordinates, its energy conserved up to a defect."""
    dim = int(rng.integers(2, 7))
    skew = rng.normal(size=(dim, dim, dim))
    skew = skew - skew.transpose(1, 0, 2)
    slices = (skew + skew.transpose(0, 2, 1)) / 2 + defect * rng.normal(size=(dim, dim, dim))
    turning = rng.normal(size=(dim, dim))
    matrix = (turning - turning.T) / 2 - np.diag(rng.uniform(0.5, 2, dim))
    change = _change(rng, dim, stretch)
    back = np.linalg.inv(change)
    dynamics = FullQuadratic(dim).double()
    seen = np.einsum("il,lmn,mj,nk->ijk", change, slices, back, back, optimize=True)
    dynamics.tensor.data.copy_(torch.as_tensor(seen))
    dynamics.linear.data.copy_(torch.as_tensor(change @ matrix @ back))
    dynamics.bias.data.copy_(torch.as_tensor(change @ (0.02 * rng.normal(size=dim))))
    states = 0.05 * _states(rng, dim) @ change.T
    return System(dynamics, states, Stepping(0.05, "rk4", 4))


def quadratic_with_a_defect(rng: np.random.Generator) -> System:
    return _quadratic(rng, 10 ** rng.uniform(-3, -0.5), 0.0)


def quadratic_in_other_coordinates(rng: np.random.Generator) -> System:
    return _quadratic(rng, 0.0, rng.uniform(0.2, 1.0))


Draw = Callable[[np.random.Generator], System]
ROBUST: dict[str, Draw] = {
    "linear, exact flow": linear,
    "linear, Runge-Kutta": linear_runge_kutta,
    "conservative, Strang": conservative,
    "conservative, Runge-Kutta": conservative_runge_kutta,
    "quadratic with a defect, Runge-Kutta": quadratic_with_a_defect,
    "quadratic in other coordinates, Runge-Kutta": quadratic_in_other_coordinates,
}
EDGY: dict[str, Draw] = {
    "near rounding: linear, exact flow": linear_near_rounding,
    "near rounding: conservative, Strang": conservative_near_rounding,
    "near rounding: conservative, Runge-Kutta": conservative_runge_kutta_near_rounding,
}
