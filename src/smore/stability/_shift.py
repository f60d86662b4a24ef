"""Which shift certifies the most: moving the origin of linear-quadratic dynamics (Theorem 1).

    y = α - m:    dy/dt = d + A y + [yᵀ Q⁽ⁱ⁾ y]_i
    d(m) = b + W m + [mᵀ Q⁽ⁱ⁾ m]_i,    A(m) = W + [2 mᵀ Q⁽ⁱ⁾]_i,    A_s = (A + Aᵀ)/2

A_s is affine in m, so its largest eigenvalue is convex in m, and the best margin is a small
semidefinite programme. A barrier method solves it here without a solver: an exact Newton step
costs a few products of r² × r by r × r, and eigenvalues that coalesce at the optimum, as they
usually do, are no obstacle to it, as they are to following the gradient of the largest. Where r is
so large that r products of that kind take seconds, a rounded-off largest eigenvalue is descended.

Everything is float64 on the CPU. Slices are symmetric, Q⁽ⁱ⁾_jk as (i, j, k).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from torch import Tensor

from smore.errors import DataError

# The search ends when the growth is proven to lie this close to the least possible one, relative
# to itself or, where the least growth is about zero, to all of A_s(m).
GAP, GAP_OF_MATRIX = 1e-6, 1e-11
MAX_NEWTON_STEPS = 100
# The barrier gives way by this factor whenever the Newton decrement falls below this value.
SHARPENING, CENTRED = 10.0, 1.0
# Multiple of a Newton step that a line search tries at most.
LONGEST = 100.0
# What is smaller than this in relation to the largest is nothing.
ROUNDOFF = 1e-15

# The radius is minimised with kinks rounded off over these fractions of margin and forcing.
ROUNDINGS = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)
STEPS_PER_ROUNDING = 50

# Up to this r the programme is solved; beyond it the growth is descended over these fractions of
# its spread.
LARGEST_PROGRAMME = 128
DESCENT_ROUNDINGS = (0.1, 0.03, 0.01, 3e-3)


@dataclass(frozen=True, eq=False)
class Shifted:
    """Linear-quadratic dynamics seen from a shifted origin.

    Attributes:
        shift: m (r,).
        forcing: d(m) (r,), the vector field at m.
        growth: λ_max(A_s(m)).
    """

    shift: Tensor
    forcing: Tensor
    growth: float

    @property
    def margin(self) -> float:
        """γ = -λ_max(A_s(m)), the rate at which ‖α - m‖ decays but for the forcing."""
        return -self.growth

    @property
    def radius(self) -> float:
        """‖d‖/γ, the absorbing radius of energy-preserving slices; infinite without a margin."""
        return self.forcing.norm().item() / self.margin if self.margin > 0 else math.inf


def shifted_system(bias: Tensor, linear: Tensor, slices: Tensor, shift: Tensor) -> Shifted:
    """Forcing and growth of the dynamics around `shift`.

    Args:
        bias: b (r,).
        linear: W (r, r).
        slices: symmetric Q⁽ⁱ⁾_jk (r, r, r).
        shift: m (r,).
    """
    bias, linear, slices, shift = (_exact(each) for each in (bias, linear, slices, shift))
    acting = slices @ shift  # [Q⁽ⁱ⁾ m]_i: as a matrix it is half of what a shift adds to W
    growth = torch.linalg.eigvalsh(_symmetric(linear + 2 * acting))[-1].item()
    return Shifted(shift, bias + linear @ shift + acting @ shift, growth)


def best_shift(bias: Tensor, linear: Tensor, slices: Tensor, radius: float) -> Shifted:
    """The shift of least growth, λ_max(A_s(m)), in the ball ‖m‖ <= `radius`.

    Follows the minimisers of s t - log det(t I - A_s(m)) - log(radius² - ‖m‖²) over (m, t) as s
    grows, until a lower bound of the optimum, known on the way, shows that no more can be gained.
    Beyond `LARGEST_PROGRAMME` it descends, and what it finds is only near the least. The growth is
    never more than that of m = 0.

    Args:
        bias: b (r,).
        linear: W (r, r).
        slices: symmetric Q⁽ⁱ⁾_jk (r, r, r).
        radius: of the ball that the shift may lie in.
    """
    _check_radius(radius)
    family = _Family.of(linear, slices)
    origin = torch.zeros_like(family.constant[0])
    size = family.constant.norm().item() + radius * family.directions.norm().item()
    search = _least_growth if len(origin) <= LARGEST_PROGRAMME else _descended_growth
    shift = search(family, radius, size) if radius * size > 0 else origin
    systems = [shifted_system(bias, linear, slices, each) for each in (origin, shift)]
    return min(systems, key=lambda system: system.growth)


def improve_radius(bias: Tensor, linear: Tensor, slices: Tensor, start: Shifted) -> Shifted:
    """A shift near `start` with a smaller absorbing radius ‖d(m)‖/γ(m), or `start` itself.

    Where ρ is the radius reached so far, ‖d(m)‖ - ρ γ(m) is zero, and every m that makes it
    negative has a margin and a smaller radius. Unlike the quotient it can be evaluated everywhere.
    It is minimised with the kinks of ‖d‖ and γ rounded off from above, ever less.

    Args:
        bias: b (r,).
        linear: W (r, r).
        slices: symmetric Q⁽ⁱ⁾_jk (r, r, r).
        start: where to start; it comes back as it is if it has no margin.
    """
    bias, linear, slices = _exact(bias), _exact(linear), _exact(slices)
    family = _Family.of(linear, slices)
    best = start
    for rounding in ROUNDINGS:
        if not 0 < best.radius < math.inf:
            break
        objective = _RoundedExcess(bias, linear, slices, family, best, rounding)
        found = minimize(
            objective,
            best.shift.numpy(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": STEPS_PER_ROUNDING, "ftol": 1e-12, "gtol": 0.0},
        )
        candidate = shifted_system(bias, linear, slices, torch.from_numpy(found.x))
        if candidate.radius < best.radius:
            best = candidate
    return best


@dataclass(frozen=True, eq=False)
class _Family:
    """A_s(m) = W_s + Σ_j m_j B_j.

    Attributes:
        constant: W_s (r, r).
        directions: symmetric B_j (r, r, r), as (j, i, k).
    """

    constant: Tensor
    directions: Tensor

    @classmethod
    def of(cls, linear: Tensor, slices: Tensor) -> _Family:
        by_shift = _exact(slices).transpose(0, 1)
        return cls(_symmetric(_exact(linear)), (by_shift + by_shift.mT).contiguous())

    def at(self, shift: Tensor) -> Tensor:
        """A_s(m) (r, r)."""
        return self.constant + (shift @ self.directions.flatten(1)).view_as(self.constant)

    def growth(self, shift: Tensor) -> float:
        """λ_max(A_s(m))."""
        return torch.linalg.eigvalsh(self.at(shift))[-1].item()

    def gradient(self, weights: Tensor) -> Tensor:
        """Of <Z, A_s(m)> by m (r,), Z the weights (r, r): a subgradient of the growth for Z = v vᵀ.

        v is a leading eigenvector of A_s(m).
        """
        return self.directions.flatten(1) @ weights.flatten()


def _least_growth(family: _Family, radius: float, size: float) -> Tensor:
    """The shift (r,) that minimises the growth; `size` is that of the largest A_s(m)."""
    best = shift = torch.zeros_like(family.constant[0])
    least = family.growth(shift)
    level, sharpness = least + size, len(shift) / size
    for _ in range(MAX_NEWTON_STEPS):
        barrier = _Barrier.at(family, shift, level, radius)
        step, decrement = barrier.newton_step(sharpness)
        length = barrier.line_search(step, sharpness)
        shift, level = shift + length * step[:-1], level + length * step[-1].item()
        if (growth := family.growth(shift)) < least:
            best, least = shift, growth
        if decrement < CENTRED:
            proven = least - barrier.lower_bound(step) <= GAP * abs(least)
            if proven or len(shift) / sharpness <= _resolution(family.at(best), size):
                break
            sharpness *= SHARPENING
    return best


def _descended_growth(family: _Family, radius: float, size: float) -> Tensor:
    """A shift (r,) of small growth, by descending τ log Σ exp(λ/τ), which is never less than it."""
    point = np.zeros(len(family.constant))
    for rounding in DESCENT_ROUNDINGS:
        # m = R x / √(1 + ‖x‖²): any x is a shift inside the ball.
        rates = torch.linalg.eigvalsh(family.at(_in_ball(point, radius)[0]))
        width = rounding * float(rates[-1] - rates[0]) / math.log(len(point) + 1)

        def growth(
            point: NDArray[np.float64], width: float = max(width, ROUNDOFF * size)
        ) -> tuple[float, NDArray[np.float64]]:
            shift, pulled_back = _in_ball(point, radius)
            value, leading = _rounded_growth(family.at(shift), width)
            return float(value), pulled_back(family.gradient(leading).numpy())

        point = minimize(
            growth,
            point,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": STEPS_PER_ROUNDING},
        ).x
    return _in_ball(point, radius)[0]


def _in_ball(
    point: NDArray[np.float64], radius: float
) -> tuple[Tensor, Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
    """R x / √(1 + ‖x‖²), and what makes gradients by x of gradients by it."""
    scale = radius / math.sqrt(1 + point @ point)

    def pulled_back(gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        along = (scale / radius) ** 2 * (point @ gradient)
        return scale * (gradient - along * point)

    return torch.from_numpy(scale * point), pulled_back


def _rounded_growth(matrix: Tensor, width: float) -> tuple[Tensor, Tensor]:
    """τ log Σ exp(λ/τ) of a symmetric matrix, and its derivative by the matrix; τ the width."""
    rates, vectors = torch.linalg.eigh(matrix)
    leading = (vectors * torch.softmax(rates / width, 0)) @ vectors.T
    return width * torch.logsumexp(rates / width, 0), leading


def _resolution(matrix: Tensor, size: float) -> float:
    """The gap at which a search that has come to `matrix` ends without a relative proof."""
    return max(GAP_OF_MATRIX * matrix.norm().item(), ROUNDOFF * size)


@dataclass(frozen=True, eq=False)
class _Barrier:
    """-log det(t I - A_s(m)) - log(R² - ‖m‖²) around one point (m, t).

    Attributes:
        family: A_s.
        shift: m (r,).
        radius: R.
        root: L⁻¹ (r, r), L Lᵀ = t I - A_s(m).
        whitened: L⁻¹ D_j L⁻ᵀ (r + 1, r²), D_j the derivatives of A_s(m) - t I.
    """

    family: _Family
    shift: Tensor
    radius: float
    root: Tensor
    whitened: Tensor

    @classmethod
    def at(cls, family: _Family, shift: Tensor, level: float, radius: float) -> _Barrier:
        identity = torch.eye(len(shift), dtype=torch.float64)
        factor = torch.linalg.cholesky(level * identity - family.at(shift))
        root = torch.linalg.solve_triangular(factor, identity, upper=False)
        derivatives = torch.cat([family.directions, -identity[None]])
        whitened = root @ (derivatives @ root.T)
        return cls(family, shift, radius, root, whitened.flatten(1))

    @property
    def room(self) -> float:
        """R² - ‖m‖²."""
        return self.radius**2 - self.shift.square().sum().item()

    def _along(self, step: Tensor) -> Tensor:
        """L⁻¹ D L⁻ᵀ (r, r), D the change of A_s(m) - t I along `step`."""
        return (step @ self.whitened).view_as(self.root)

    def newton_step(self, sharpness: float) -> tuple[Tensor, float]:
        """The step of (m, t) (r + 1,), and how far from the minimiser of s t + barrier it is."""
        dim = len(self.shift)
        gradient = self.whitened[:, :: dim + 1].sum(1)  # traces
        gradient[:-1] += 2 * self.shift / self.room
        gradient[-1] += sharpness
        hessian = self.whitened @ self.whitened.T
        hessian[:-1, :-1] += 4 * torch.outer(self.shift, self.shift) / self.room**2
        hessian.diagonal()[:-1].add_(2 / self.room)
        # Near the optimum some directions are stiffer than others by many orders of magnitude.
        scale = hessian.diagonal().rsqrt()
        rates, vectors = torch.linalg.eigh(scale[:, None] * hessian * scale)
        along = vectors.T @ (scale * gradient) / rates.clamp(min=ROUNDOFF)
        step = -scale * (vectors @ along)
        return step, math.sqrt(max(0.0, -(gradient @ step).item()))

    def lower_bound(self, step: Tensor) -> float:
        """Of the growth in the whole ball, sharp at a minimiser of s t + barrier.

        λ_max(A_s(m)) >= <Z, A_s(m)> for every Z >= 0 of trace 1, and the right side is linear in m.
        Z is the inverse at (m, t) + step to first order, positive if the decrement is below 1.
        """
        inner = torch.eye(len(self.root), dtype=torch.float64) + self._along(step)
        weights = self.root.T @ inner @ self.root
        weights = weights / weights.trace()
        slope = self.family.gradient(weights).norm().item()
        return (weights * self.family.constant).sum().item() - self.radius * slope

    def line_search(self, step: Tensor, sharpness: float) -> float:
        """How far along `step` s t + barrier is least."""
        rates = -torch.linalg.eigvalsh(self._along(step)).numpy()
        move = step[:-1]
        across, square = (self.shift @ move).item(), move.square().sum().item()

        def slope(length: float) -> float:
            room = self.room - 2 * length * across - length**2 * square
            walls = 2 * (across + length * square) / room - (rates / (1 + length * rates)).sum()
            return float(sharpness * step[-1].item() + walls)

        exits = [LONGEST, *(-1 / rates[rates < 0])]
        if square > 0:
            exits.append((math.sqrt(across**2 + square * self.room) - across) / square)
        end = (1 - 1e-6) * min(exits)
        if slope(0.0) >= 0:  # there already, but for roundoff
            return 0.0
        return end if slope(end) <= 0 else float(brentq(slope, 0.0, end, rtol=1e-3))


@dataclass(frozen=True, eq=False)
class _RoundedExcess:
    """A smooth upper bound of ‖d(m)‖ + ρ λ_max(A_s(m)), with its gradient.

    √(‖d‖² + ε²) stands for ‖d‖ and τ log Σ exp(λ/τ) for λ_max: neither is ever less. ρ is the
    radius of `reached`, ε and τ are fractions of its forcing and margin.
    """

    bias: Tensor
    linear: Tensor
    slices: Tensor
    family: _Family
    reached: Shifted
    rounding: float

    def __call__(self, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        shift = torch.from_numpy(point)
        acting = self.slices @ shift
        forcing = self.bias + self.linear @ shift + acting @ shift
        rounded = torch.hypot(forcing.norm(), self.rounding * self.reached.forcing.norm())
        pull = (self.linear + 2 * acting).T @ forcing / rounded  # A(m) is the Jacobian of d(m)

        width = self.rounding * self.reached.margin / math.log(len(shift) + 1)
        growth, leading = _rounded_growth(self.family.at(shift), width)
        gradient = pull + self.reached.radius * self.family.gradient(leading)
        return (rounded + self.reached.radius * growth).item(), gradient.numpy()


def _exact(values: Tensor) -> Tensor:
    return values.detach().to("cpu", torch.float64)


def _symmetric(matrix: Tensor) -> Tensor:
    return (matrix + matrix.mT) / 2


def _check_radius(radius: float) -> None:
    if not 0 <= radius < math.inf:
        raise DataError(
            f"the radius of the ball of shifts must be finite and not negative, but is {radius}; "
            "a few times the largest latent norm is a good choice"
        )
