"""Quadratic dynamics that conserve energy by construction.

    da/dt = L a + b + S(a) a,      S(a) skew and linear in a

S(a) is skew for every a, so aᵀ S(a) a = 0: the quadratic term moves energy about and makes none.
In an L2-orthonormal gauge that is what advection does to vorticity. With L = K - R Rᵀ - g I, K skew
and g >= 0, the linear part cannot make energy either, and Theorem 1 holds exactly.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from torch import Tensor, nn

from smore.dynamics.quadratic import QuadraticDynamics
from smore.dynamics.vector_field import uniform_parameter

# The product of three factors starts small: the first rollouts are those of the linear part.
THIRD_FACTOR_SCALE = 0.05


class ConservativeDynamics(QuadraticDynamics):
    """A linear part, free or dissipative, and a quadratic term that makes no energy.

    Args:
        dim: r.
        dissipative: build the linear part as K - R Rᵀ - g I.
        generator: draws the initial weights.

    Attributes:
        margin: g, which training does not change: it sets it once, or leaves it at zero.
    """

    margin: Tensor

    def __init__(self, dim: int, dissipative: bool, generator: torch.Generator | None) -> None:
        super().__init__()
        self.dim = dim
        self.dissipative = dissipative
        self.bias = nn.Parameter(torch.zeros(dim))
        if dissipative:
            self.rotation = nn.Parameter(torch.zeros(dim, dim))
            self.dissipation = nn.Parameter(0.1 * torch.eye(dim))
            self.register_buffer("margin", torch.zeros(()))
        else:
            self.free_linear = uniform_parameter(dim, dim, fan_in=dim**3, generator=generator)

    @abstractmethod
    def skew(self, latents: Tensor) -> Tensor:
        """S(a): (..., r) -> (..., r, r)."""

    @property
    def linear(self) -> Tensor:  # type: ignore[override]
        """L (r, r)."""
        if not self.dissipative:
            return self.free_linear
        skew = (self.rotation - self.rotation.T) / 2
        identity = torch.eye(self.dim).to(self.margin)
        return skew - self.dissipation @ self.dissipation.T - self.margin * identity

    @torch.no_grad()
    def set_linear(self, linear: Tensor, margin: float = 0.0) -> None:
        """Make L the nearest matrix of its form to `linear` (r, r), losing energy at `margin`."""
        if not self.dissipative:
            self.free_linear.copy_(linear)
            return
        linear = linear.to("cpu", torch.float64)
        rates, directions = torch.linalg.eigh((linear + linear.T) / 2)
        self.rotation.copy_((linear - linear.T) / 2)
        self.dissipation.copy_(directions * (-rates - margin).clamp(min=0).sqrt())
        self.margin.fill_(margin)


class LowRankConservative(ConservativeDynamics):
    """S(a) a = Uᵀ[(V a) ∘ (P a)] - Vᵀ[(U a) ∘ (P a)] with U, V, P of `rank` rows."""

    def __init__(
        self,
        dim: int,
        rank: int,
        dissipative: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(dim, dissipative, generator)

        def factor(scale: float) -> nn.Parameter:
            return nn.Parameter(
                scale / math.sqrt(dim) * torch.randn(rank, dim, generator=generator)
            )

        self.first, self.second = factor(1.0), factor(1.0)
        self.third = factor(THIRD_FACTOR_SCALE)

    def quadratic(self, latents: Tensor) -> Tensor:
        first, second = latents @ self.first.T, latents @ self.second.T
        third = latents @ self.third.T
        return (second * third) @ self.first - (first * third) @ self.second

    @property
    def magnitude(self) -> Tensor:
        return 2 * self.first.norm() * self.second.norm() * self.third.norm()

    def skew(self, latents: Tensor) -> Tensor:
        half = (self.first.T * (latents @ self.third.T)[..., None, :]) @ self.second
        return half - half.mT

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        self.bias.mul_(factor)
        self.third.div_(factor)

    def slices(self, outputs: slice) -> Tensor:
        return self._symmetric(outputs, slice(None))

    def slice_rows(self, rows: slice) -> Tensor:
        return self._symmetric(slice(None), rows)

    def _symmetric(self, outputs: slice, rows: slice) -> Tensor:
        """Q⁽ⁱ⁾_jk for i in `outputs` and j in `rows`, symmetric in (j, k)."""
        first, second, third = self.first, self.second, self.third

        def product(out: Tensor, left: Tensor) -> Tensor:
            both = torch.einsum("ci,cj,ck->ijk", out[:, outputs], left[:, rows], third)
            return both + torch.einsum("ci,cj,ck->ijk", out[:, outputs], third[:, rows], left)

        return (product(first, second) - product(second, first)) / 2


class FullConservative(ConservativeDynamics):
    """S(a)_ij = Σ_k T_ijk a_k = -S(a)_ji, with every T_ijk, i < j, free: r² (r - 1) / 2 numbers."""

    def __init__(
        self, dim: int, dissipative: bool = False, generator: torch.Generator | None = None
    ) -> None:
        super().__init__(dim, dissipative, generator)
        self.upper = nn.Parameter(torch.zeros(dim * (dim - 1) // 2, dim))

    def quadratic(self, latents: Tensor) -> Tensor:
        return (self.skew(latents) @ latents[..., None])[..., 0]

    @property
    def magnitude(self) -> Tensor:
        return math.sqrt(2) * self.upper.norm()

    def skew(self, latents: Tensor) -> Tensor:
        return self._skew(latents @ self.upper.T)

    def _skew(self, upper: Tensor) -> Tensor:
        """(..., r (r - 1) / 2) -> skew matrices (..., r, r)."""
        rows, columns = torch.triu_indices(self.dim, self.dim, 1, device=upper.device)
        matrix = upper.new_zeros(*upper.shape[:-1], self.dim * self.dim)
        matrix = matrix.index_copy(-1, rows * self.dim + columns, upper)
        matrix = matrix.unflatten(-1, (self.dim, self.dim))
        return matrix - matrix.mT

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        self.bias.mul_(factor)
        self.upper.div_(factor)

    @torch.no_grad()
    def set_slices(self, slices: Tensor) -> None:
        """Take over symmetric slices Q⁽ⁱ⁾_jk (r, r, r) without cyclic defect."""
        rows, columns = torch.triu_indices(self.dim, self.dim, 1)
        self.upper.copy_((slices[rows, columns] - slices[columns, rows]) * (2 / 3))

    def slices(self, outputs: slice) -> Tensor:
        full = self._skew(self.upper.T)[:, outputs].permute(1, 2, 0)  # T_ijk as (i, j, k)
        return (full + full.mT) / 2

    def slice_rows(self, rows: slice) -> Tensor:
        full = self._skew(self.upper.T).permute(1, 2, 0)
        return (full[:, rows] + full.mT[:, rows]) / 2
