"""Quadratic dynamics that conserve energy by construction.

    da/dt = L a + b + S(a) a,      S(a) a = Uᵀ[(V a) ∘ (P a)] - Vᵀ[(U a) ∘ (P a)]

S(a) is skew for every a, so aᵀ S(a) a = 0: the quadratic term moves energy about and makes none.
In an L2-orthonormal gauge that is what advection does to vorticity. With L = K - R Rᵀ - g I, K skew
and g >= 0, the linear part cannot make energy either, and Theorem 1 holds exactly.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from smore.dynamics.quadratic import QuadraticDynamics
from smore.dynamics.vector_field import uniform_parameter

# The product of three factors starts small: the first rollouts are those of the linear part.
THIRD_FACTOR_SCALE = 0.05


class ConservativeQuadratic(QuadraticDynamics):
    """An energy-preserving quadratic term of `rank` and a linear part, free or dissipative.

    Args:
        dim: r.
        rank: rows of U, V and P.
        dissipative: build the linear part as K - R Rᵀ - g I.
        generator: draws the initial factors.
    """

    def __init__(
        self,
        dim: int,
        rank: int,
        dissipative: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.dissipative = dissipative
        self.bias = nn.Parameter(torch.zeros(dim))

        def factor(scale: float) -> nn.Parameter:
            return nn.Parameter(
                scale / math.sqrt(dim) * torch.randn(rank, dim, generator=generator)
            )

        self.first, self.second = factor(1.0), factor(1.0)
        self.third = factor(THIRD_FACTOR_SCALE)
        if dissipative:
            self.rotation = nn.Parameter(torch.zeros(dim, dim))
            self.dissipation = nn.Parameter(0.1 * torch.eye(dim))
            self.damping = nn.Parameter(torch.zeros(()))
        else:
            self.free_linear = uniform_parameter(dim, dim, fan_in=dim**3, generator=generator)

    @property
    def linear(self) -> Tensor:  # type: ignore[override]
        """L (r, r)."""
        if not self.dissipative:
            return self.free_linear
        skew = (self.rotation - self.rotation.T) / 2
        damping = self.damping.square() * torch.eye(self.dim).to(self.damping)
        return skew - self.dissipation @ self.dissipation.T - damping

    def quadratic(self, latents: Tensor) -> Tensor:
        first, second = latents @ self.first.T, latents @ self.second.T
        third = latents @ self.third.T
        return (second * third) @ self.first - (first * third) @ self.second

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
