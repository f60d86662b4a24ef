"""From a few sensors to the error of a forecast (paper, Theorem "Sparse-to-rollout certificate").

The fit α̂₀ and the ideal state α₀* miss the observed values y by ‖G(α̂₀) - y‖ and ‖G(α₀*) - y‖. G is
affine, so the latent state is known to

    ‖α̂₀ - α₀*‖ <= e_sparse = (‖G(α̂₀) - y‖ + ‖G(α₀*) - y‖) / c_S.

The paper bounds the first residual by ε_sens + σ + δ_opt and the second by ε_sens + σ; measured
ones are never larger, and need not know σ. The ideal state is that of the whole field: the smallest
residual at the sensors says nothing about it. If the latent error grows by no more than
E_{n+1} <= a E_n + b_roll, the field is known to

    ‖D(α̂_n) - u_n‖ <= ε_dec + L_D (aⁿ e_sparse + b_roll Σ_{l<n} aˡ).

Sensors speak in normalised units, fields in the user's: residuals are norms of normalised sensor
values over all channels, ε_dec and L_D belong to the norm in which the field is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.errors import DataError
from smore.stability import EPSILON, SAFETY

# The smallest perturbation, relative to the spread of the states: round-off is far below it.
SMALLEST = 1e-4
# Steps in which a perturbation turns towards the direction that grows fastest.
NUM_TURNS = 10

Step = Callable[[Tensor], Tensor]


def sparse_error(observability: float, fit_residual: float, ideal_residual: float) -> float:
    """e_sparse = (‖G(α̂₀) - y‖ + ‖G(α₀*) - y‖) / c_S; inf where c_S = 0.

    Args:
        observability: c_S.
        fit_residual: norm of what the inferred state misses of the observed values.
        ideal_residual: that of the ideal state, the best fit on the whole grid.
    """
    if observability == 0:
        return float("inf")
    return (fit_residual + ideal_residual) / observability


@dataclass(frozen=True)
class RolloutRecursion:
    """E_{n+1} <= a E_n + b_roll, as observed on a sample (sparse_rollout_recursion_method).

    Attributes:
        a: largest factor by which one step of the model moves a state and its neighbour apart.
        b_roll: largest defect of one step from an ideal state.
        proved: whether a holds for every state, as the norm of a matrix does; else it was observed.
        num_pairs: pairs of consecutive ideal states.
        num_sequences: sequences they come from.
        horizon: steps in each of them.
        sample: what the numbers were observed on, in words.
    """

    a: float
    b_roll: float
    num_pairs: int
    num_sequences: int
    horizon: int
    sample: str
    proved: bool


def estimate_recursion(
    step: Step | Tensor,
    trajectories: Tensor,
    generator: torch.Generator,
    *,
    name: str,
    initial_error: float = 0.0,
    constant: Tensor | float = 0.0,
) -> RolloutRecursion:
    """The rollout recursion of one-step map Φ along ideal latents α*_n.

    The growth a of a linear map is its spectral norm. That of any other is the largest observed
    ‖Φ(α*_n + δ) - Φ(α*_n)‖ / ‖δ‖, over the errors δ of free rollouts and over perturbations of the
    same size that are turned into the direction which grows fastest. It is an observation, not a
    bound: a state that the sample does not visit may behave worse.

    Args:
        step: Φ on states (n, r), row by row and differentiable; or the (r, r) matrix of α -> Φ α.
        trajectories: (sequences, length, r) ideal latents, equally spaced in time.
        generator: the source of the perturbations, on the CPU.
        name: what the trajectories are, such as "training trajectories".
        initial_error: size of the error with which rollouts start, such as e_sparse.
        constant: (r,) what a linear step adds.

    Raises:
        DataError: trajectories without a single step.
    """
    if trajectories.ndim != 3 or trajectories.shape[0] == 0 or trajectories.shape[1] < 2:
        raise DataError(
            "expected latents (sequences, length, r) with at least one sequence and two states, "
            f"got shape {tuple(trajectories.shape)}; give trajectories with at least one step"
        )
    num_sequences, length, _ = trajectories.shape
    trajectories = trajectories.detach()
    if isinstance(step, Tensor):
        matrix = step.detach().double()
        growth = float(torch.linalg.matrix_norm(matrix, 2)) * (1 + SAFETY * len(matrix) * EPSILON)
        defects = trajectories[:, :-1] @ step.detach().T + constant - trajectories[:, 1:]
    else:
        growth = _growth(step, trajectories, generator, initial_error)
        with torch.no_grad():
            defects = step(trajectories[:, :-1].flatten(0, 1)).view_as(trajectories[:, 1:])
            defects = defects - trajectories[:, 1:]
    steps = f"steps 1 to {length - 1}" if length > 2 else "step 1"
    return RolloutRecursion(
        a=growth,
        b_roll=float(_unknown_is_infinite(defects.double().norm(dim=-1)).max()),
        num_pairs=num_sequences * (length - 1),
        num_sequences=num_sequences,
        horizon=length - 1,
        sample=f"{name}, {num_sequences} sequences, {steps}",
        proved=isinstance(step, Tensor),
    )


def _growth(
    step: Step, trajectories: Tensor, generator: torch.Generator, initial_error: float
) -> float:
    """Largest observed growth of a perturbation in one step; inf if a rollout overflows."""
    states = trajectories[:, :-1].flatten(0, 1)
    spread = float((states - states.mean(0)).double().square().sum(-1).mean().sqrt())
    smallest = SMALLEST * (spread or 1.0)
    random = torch.randn(trajectories.shape, generator=generator, dtype=torch.float64)
    directions = (random / random.norm(dim=-1, keepdim=True)).to(trajectories.device)

    with torch.no_grad():
        errors = _rollout_errors(
            step, trajectories, initial_error * directions[:, 0].to(trajectories)
        )
        sizes = errors.double().norm(dim=-1)
        if not bool(sizes.isfinite().all()):
            return float("inf")
        ratios = _ratios(step(states + errors) - step(states), errors)
        growth = max(ratios[sizes > smallest].tolist(), default=0.0)

    perturbations = sizes.clamp(min=smallest)[:, None] * directions[:, :-1].flatten(0, 1)
    return max(growth, _ascended_growth(step, states, perturbations))


def _ascended_growth(step: Step, states: Tensor, perturbations: Tensor) -> float:
    """Largest growth of `perturbations` while they turn, at constant size, to where it is larger.

    For a linear map this is the power method for its largest singular value.
    """
    sizes = perturbations.double().norm(dim=-1, keepdim=True)
    with torch.no_grad():
        images = step(states)
    growth = 0.0
    for _ in range(NUM_TURNS):
        moved = (states + perturbations.to(states)).requires_grad_()
        moved_images = step(moved)
        changes = (moved_images - images).detach()
        growth = max(growth, float(_ratios(changes, moved.detach() - states).max()))
        (pull,) = torch.autograd.grad(moved_images, moved, changes)
        perturbations = sizes * torch.nn.functional.normalize(pull.double(), dim=-1, eps=1e-300)
    return growth


def _rollout_errors(step: Step, trajectories: Tensor, initial: Tensor) -> Tensor:
    """α̂_n - α*_n for all n but the last: (sequences · (length - 1), r)."""
    state = trajectories[:, 0] + initial
    errors = []
    for index in range(trajectories.shape[1] - 1):
        errors.append(state - trajectories[:, index])
        state = step(state)
    return torch.stack(errors, dim=1).flatten(0, 1)


def _ratios(changes: Tensor, perturbations: Tensor) -> Tensor:
    """‖change‖ / ‖perturbation‖ row by row; inf where the map overflowed, 0 where nothing moved."""
    before = perturbations.double().norm(dim=-1)
    ratios = changes.double().norm(dim=-1) / before
    return torch.where(before > 0, _unknown_is_infinite(ratios), 0.0)


def _unknown_is_infinite(values: Tensor) -> Tensor:
    return torch.where(values.isnan(), torch.inf, values)


def error_bound_curve(
    recursion: RolloutRecursion,
    e_sparse: float,
    decoder_error: float,
    lipschitz: float,
    num_steps: int,
) -> NDArray[np.float64]:
    """ε_dec + L_D (aⁿ e_sparse + b_roll Σ_{l<n} aˡ) for n = 0 .. num_steps.

    Summed by the recursion itself, which needs no special case at a = 1 and passes quietly to inf.

    Args:
        recursion: a and b_roll.
        e_sparse: latent error at the start.
        decoder_error: ε_dec.
        lipschitz: L_D.
        num_steps: N; the theorem speaks of no more steps than the recursion holds for.
    """
    latent_errors = [float(e_sparse)]
    for _ in range(num_steps):
        latent_errors.append(_product(recursion.a, latent_errors[-1]) + recursion.b_roll)
    return np.array([decoder_error + _product(lipschitz, error) for error in latent_errors])


def limiting_error(recursion: RolloutRecursion, decoder_error: float, lipschitz: float) -> float:
    """ε_dec + L_D b_roll / (1 - a) for a < 1 (sparse_to_rollout_limsup_method), else inf."""
    if recursion.a >= 1:
        return float("inf")
    return decoder_error + _product(lipschitz, recursion.b_roll / (1 - recursion.a))


def _product(factor: float, error: float) -> float:
    """factor · error for an error that is finite though no bound of it is known: 0 · inf = 0."""
    return factor * error if factor and error else 0.0
