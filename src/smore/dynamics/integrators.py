"""From a vector field to the map over one output interval.

Stable ODEs have unstable maps, so the map is what gets iterated, trained and certified. An
explicit Runge-Kutta method is nothing but its tableau. The Strang step of conservative dynamics
obeys the energy bound of the ODE at every step size. For linear dynamics one step is a matrix,
found by stepping the identity, and the exact flow expm(h W) is another: both cost one product
per step and per distinct step size, whatever the number of stages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from smore.dynamics.conservative import ConservativeDynamics
from smore.dynamics.forced import ForcedLinear
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
    "strang": None,
}
Gradient = Literal["direct", "adjoint"]
# Rows of matrices of which several at once are solved for rightly whatever torch does.
SURE_TOGETHER = 64


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
    starts: Tensor | None = None,
) -> StepMap:
    """The maps over every interval of a rollout.

    Args:
        dynamics: the vector field f.
        steps: lengths of the output intervals, (sequences, intervals), float64 on the CPU; they may
            differ between sequences and intervals.
        method: "rk4" (classical), "rk4-38" (3/8 rule), "exact" (linear dynamics only) or "strang"
            (conservative dynamics only).
        substeps: steps of the method per output interval.
        gradient: "direct" differentiates the method itself, "adjoint" solves the continuous adjoint
            equation with torchdiffeq.
        starts: (sequences,) model time of the first states, which matters to dynamics that are
            forced; without it their states are departures from a centre at rest.

    Raises:
        SettingsError: an unknown method, or one that does not fit the dynamics.
    """
    if method not in METHODS:
        raise SettingsError(f"unknown integrator {method!r}; choose one of {', '.join(METHODS)}")
    tableau = METHODS[method]
    if gradient == "adjoint":
        return _adjoint_steps(dynamics, steps, tableau, substeps)
    if method == "strang":
        if not isinstance(dynamics, ConservativeDynamics):
            raise SettingsError("integrator 'strang' needs dynamics 'conservative'")
        return _strang_steps(dynamics, steps, substeps)
    if isinstance(dynamics, ForcedLinear):
        return _forced_steps(dynamics, steps, starts)
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

    return _by_length(which, lambda number, states: states @ matrices[number])


def _forced_steps(dynamics: ForcedLinear, steps: Tensor, starts: Tensor | None) -> StepMap:
    """Departures by an affine map for every distinct step length, the centre by its formula."""
    lengths, which = torch.unique(steps, return_inverse=True)
    flows = [dynamics.flow(length) for length in lengths.tolist()]
    moved = _by_length(which, lambda number, beta: beta @ flows[number][0].T + flows[number][1])
    if starts is None:
        return moved
    times = torch.cat([starts[:, None], starts[:, None] + steps.cumsum(1)], dim=1)

    def advance(latents: Tensor, index: int) -> Tensor:
        before, after = (dynamics.centre(times[:, index + each]) for each in (0, 1))
        return moved(latents - before, index) + after

    return advance


def _by_length(which: Tensor, apply: Callable[[int, Tensor], Tensor]) -> StepMap:
    """A step map from one for each distinct step length.

    Args:
        which: (sequences, intervals) number of the step length.
        apply: advances states (n, r) by the step length of that number.
    """

    def advance(latents: Tensor, index: int) -> Tensor:
        needed = which[:, index].unique().tolist()
        if len(needed) == 1:
            return apply(needed[0], latents)
        advanced = torch.empty_like(latents)
        for number in needed:
            rows = (which[:, index] == number).to(latents.device)
            advanced[rows] = apply(number, latents[rows])
        return advanced

    return advance


def strang_step(
    dynamics: ConservativeDynamics, state: Tensor, step: float, flow: Tensor, shift: Tensor
) -> Tensor:
    """Half the affine flow, the quadratic term as a rotation, half the affine flow again.

    A Cayley transform of a skew matrix is orthogonal, so the rotation changes no norm, whichever
    state S is frozen at; at the middle of the step, found by such a rotation of half the length,
    the whole is of second order.

    Args:
        dynamics: energy-conserving quadratic term and any linear part.
        state: (..., r).
        step: h.
        flow: (r, r) expm(L h / 2), and
        shift: (r,) what the constant term adds over h / 2.
    """
    state = state @ flow.T + shift
    middle = _rotate(dynamics.skew(state), state, step / 4)
    state = _rotate(dynamics.skew(middle), state, step / 2)
    return state @ flow.T + shift


def _rotate(skew: Tensor, state: Tensor, half: float) -> Tensor:
    """(I - half S)⁻¹ (I + half S) state, which has the norm of `state`."""
    identity = torch.eye(skew.shape[-1], dtype=skew.dtype, device=skew.device)
    right = state + half * (skew @ state[..., None])[..., 0]
    rotated = _solved(identity - half * skew, right)
    # For a fast rotation the solve may lose digits of direction; of the norm it must lose none.
    norm = rotated.norm(dim=-1, keepdim=True)
    return rotated * (
        state.norm(dim=-1, keepdim=True) / norm.clamp(min=torch.finfo(norm.dtype).tiny)
    )


def _solved(matrices: Tensor, right: Tensor) -> Tensor:
    """A⁻¹ b of matrices (..., r, r) and vectors (..., r), large ones one after the other on a CPU.

    There LU of several at once is wrong with two threads or more (pytorch issue 142815).
    """
    few = matrices.ndim == 2 or not right.numel() or matrices.shape[-1] <= SURE_TOGETHER
    if few or matrices.device.type != "cpu":
        return torch.linalg.solve(matrices, right)
    pairs = zip(matrices.flatten(0, -3), right.flatten(0, -2), strict=True)
    return torch.stack([torch.linalg.solve(one, b) for one, b in pairs]).view(right.shape)


def affine_flow(dynamics: ConservativeDynamics, time: float) -> tuple[Tensor, Tensor]:
    """The exact flow a -> F a + s of da/dt = L a + b: F (r, r) and s (r,)."""
    dim = dynamics.dim
    block = torch.cat([dynamics.linear, dynamics.bias[:, None]], dim=1)
    augmented = torch.cat([block, block.new_zeros(1, dim + 1)])
    # In float64: in float32 the series of small matrices is inexact.
    flow = torch.linalg.matrix_exp(time * augmented.to("cpu", torch.float64)).to(block)
    return flow[:dim, :dim], flow[:dim, dim]


def _strang_steps(dynamics: ConservativeDynamics, steps: Tensor, substeps: int) -> StepMap:
    lengths, which = torch.unique(steps / substeps, return_inverse=True)
    flows = [affine_flow(dynamics, length / 2) for length in lengths.tolist()]

    def apply(number: int, state: Tensor) -> Tensor:
        for _ in range(substeps):
            state = strang_step(dynamics, state, float(lengths[number]), *flows[number])
        return state

    return _by_length(which, apply)


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
