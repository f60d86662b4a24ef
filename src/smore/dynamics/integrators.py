"""From a vector field to the map over one output interval.

Stable ODEs have unstable maps, so the map is what gets iterated, trained and certified. An
explicit Runge-Kutta method is nothing but its tableau. For linear dynamics one step is a matrix,
found by stepping the identity, and the exact flow expm(h W) is another: both cost one product
per step and per distinct step size, whatever the number of stages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from smore.dynamics.linear import LinearDynamics
from smore.dynamics.vector_field import LatentDynamics
from smore.errors import MissingExtraError, SettingsError


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method: row i of `stages` weighs the slopes before slope i."""

    stages: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]


CLASSICAL_RK4 = Tableau(((), (1 / 2,), (0, 1 / 2), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))
THREE_EIGHTHS_RK4 = Tableau(((), (1 / 3,), (-1 / 3, 1), (1, -1, 1)), (1 / 8, 3 / 8, 3 / 8, 1 / 8))

METHODS: dict[str, Tableau | None] = {
    "rk4": CLASSICAL_RK4,
    "rk4-38": THREE_EIGHTHS_RK4,
    "exact": None,
}
Gradient = Literal["direct", "adjoint"]


class StepMap(Protocol):
    """The map over output interval `index` of a rollout: (sequences, r) -> (sequences, r)."""

    def __call__(self, latents: Tensor, index: int) -> Tensor: ...


def step_map(
    dynamics: LatentDynamics,
    steps: Tensor,
    *,
    method: str = "rk4-38",
    substeps: int = 1,
    gradient: Gradient = "direct",
) -> StepMap:
    """The maps over every interval of a rollout.

    Args:
        dynamics: the vector field f.
        steps: lengths of the output intervals, (sequences, intervals), float64 on the CPU; they may
            differ between sequences and intervals.
        method: "rk4" (classical), "rk4-38" (3/8 rule) or "exact" (linear dynamics only).
        substeps: Runge-Kutta steps per output interval.
        gradient: "direct" differentiates the method itself, "adjoint" solves the continuous adjoint
            equation with torchdiffeq.

    Raises:
        SettingsError: an unknown method, or one that does not fit the dynamics.
    """
    if method not in METHODS:
        raise SettingsError(f"unknown integrator {method!r}; choose one of {', '.join(METHODS)}")
    tableau = METHODS[method]
    if gradient == "adjoint":
        return _adjoint_steps(dynamics, steps, tableau, substeps)
    if isinstance(dynamics, LinearDynamics):
        return _matrix_steps(dynamics, steps, tableau, substeps)
    if tableau is None:
        raise SettingsError(
            "the exact flow exists in closed form for linear dynamics only; "
            "use 'rk4' or 'rk4-38', with more substeps if accuracy matters"
        )
    return _runge_kutta_steps(dynamics, steps, tableau, substeps)


def runge_kutta_step(
    field: Callable[[Tensor], Tensor], state: Tensor, step: Tensor | float, tableau: Tableau
) -> Tensor:
    """One explicit Runge-Kutta step of length `step`, broadcast against `state`."""
    slopes: list[Tensor] = []
    for row in tableau.stages:
        slopes.append(field(state + step * _combine(row, slopes) if slopes else state))
    return state + step * _combine(tableau.weights, slopes)


def _combine(weights: tuple[float, ...], slopes: list[Tensor]) -> Tensor:
    terms = [w * slope for w, slope in zip(weights, slopes, strict=True) if w]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _runge_kutta_steps(
    dynamics: LatentDynamics, steps: Tensor, tableau: Tableau, substeps: int
) -> StepMap:
    def advance(latents: Tensor, index: int) -> Tensor:
        step = (steps[:, index, None] / substeps).to(latents)
        for _ in range(substeps):
            latents = runge_kutta_step(dynamics, latents, step, tableau)
        return latents

    return advance


def _matrix_steps(
    dynamics: LinearDynamics, steps: Tensor, tableau: Tableau | None, substeps: int
) -> StepMap:
    """Linear dynamics: one (r, r) matrix for every distinct step length."""
    lengths, which = torch.unique(steps, return_inverse=True)
    identity = torch.eye(dynamics.dim).to(dynamics.linear)

    def propagator(length: float) -> Tensor:
        if tableau is None:  # in float64: in float32 the series of small matrices is inexact
            generator = dynamics.linear.T.to("cpu", torch.float64)
            return torch.linalg.matrix_exp(length * generator).to(dynamics.linear)
        step = runge_kutta_step(dynamics, identity, length / substeps, tableau)
        return torch.linalg.matrix_power(step, substeps)

    matrices = [propagator(length) for length in lengths.tolist()]

    def advance(latents: Tensor, index: int) -> Tensor:
        needed = which[:, index].unique().tolist()
        if len(needed) == 1:
            return latents @ matrices[needed[0]]
        advanced = torch.empty_like(latents)
        for length in needed:
            rows = (which[:, index] == length).to(latents.device)
            advanced[rows] = latents[rows] @ matrices[length]
        return advanced

    return advance


class _UnitInterval(nn.Module):
    """dα/ds = h f(α) for s in [0, 1]: gives every sequence its own step length h."""

    def __init__(self, dynamics: LatentDynamics, step: Tensor) -> None:
        super().__init__()
        self.dynamics = dynamics
        self.step = step

    def forward(self, _: Tensor, latents: Tensor) -> Tensor:
        return self.step * self.dynamics(latents)


def _adjoint_steps(
    dynamics: LatentDynamics, steps: Tensor, tableau: Tableau | None, substeps: int
) -> StepMap:
    """Forward by the 3/8 rule, backward by the continuous adjoint, both through torchdiffeq."""
    if tableau is not THREE_EIGHTHS_RK4:
        raise SettingsError("the continuous adjoint is available with the integrator 'rk4-38' only")
    try:
        from torchdiffeq import odeint_adjoint
    except ImportError as error:
        raise MissingExtraError("torchdiffeq", "adjoint", "the continuous adjoint") from error

    def advance(latents: Tensor, index: int) -> Tensor:
        field = _UnitInterval(dynamics, steps[:, index, None].to(latents))
        interval = torch.tensor([0.0, 1.0], dtype=latents.dtype, device=latents.device)
        options = {"step_size": 1.0 / substeps}
        solution: Tensor = odeint_adjoint(
            field,
            latents,
            interval,
            method="rk4",
            options=options,
            adjoint_params=tuple(dynamics.parameters()),
        )
        return solution[-1]

    return advance
