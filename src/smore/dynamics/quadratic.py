"""SMORE-LRLQ and its full-rank ablation: linear-quadratic latent dynamics.

    dα_i/dt = b_i + Σ_j W_ij α_j + Σ_jk Q⁽ⁱ⁾_jk α_j α_k        (paper, equation linear-quadratic)

Only the symmetric part of a slice Q⁽ⁱ⁾ acts. Regularisers and certificates see the dynamics through
these effective slices, in two views that together give every cyclic permutation of an index block
without ever holding all r³ numbers.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn

from smore.dynamics.vector_field import LatentDynamics, uniform_parameter

# Neither the paper nor the code it builds on says how the quadratic term starts. Small enough that
# the first rollouts are those of the linear part; entries of Q start near 0.02² √κ.
FACTOR_SCALE = 0.02
TENSOR_SCALE = 1e-3


class QuadraticDynamics(LatentDynamics):
    """Linear-quadratic dynamics with any representation of the quadratic term."""

    linear: nn.Parameter
    bias: nn.Parameter

    @abstractmethod
    def quadratic(self, latents: Tensor) -> Tensor:
        """α -> [αᵀ Q⁽ⁱ⁾ α]_i: (..., r) -> (..., r)."""

    @property
    @abstractmethod
    def magnitude(self) -> Tensor:
        """m with Σ |terms that add up to Q(α)| <= m ‖α‖²: their rounding is relative to that."""

    @abstractmethod
    def slices(self, outputs: slice) -> Tensor:
        """Symmetric slices Q⁽ⁱ⁾_jk for i in `outputs`, as (i, j, k)."""

    @abstractmethod
    def slice_rows(self, rows: slice) -> Tensor:
        """Rows j in `rows` of every symmetric slice, Q⁽ⁱ⁾_jk, as (i, j, k)."""

    def forward(self, latents: Tensor) -> Tensor:
        return latents @ self.linear.T + self.bias + self.quadratic(latents)


class LowRankQuadratic(QuadraticDynamics):
    """Q⁽ⁱ⁾ = A_i B_i with A_i (r, κ) and B_i (κ, r)   (paper, equation low_rank).

    Stored input-first, `left[j, i, :] = A_i[j, :]` and `right[k, i, :] = B_i[:, k]`, so that all
    slices act by two matrix products.
    """

    def __init__(self, dim: int, rank: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.dim = dim
        self.linear = uniform_parameter(dim, dim, fan_in=dim, generator=generator)
        self.bias = uniform_parameter(dim, fan_in=dim, generator=generator)
        self.left = nn.Parameter(FACTOR_SCALE * torch.randn(dim, dim, rank, generator=generator))
        self.right = nn.Parameter(FACTOR_SCALE * torch.randn(dim, dim, rank, generator=generator))

    def quadratic(self, latents: Tensor) -> Tensor:
        products = (latents @ self.left.flatten(1)) * (latents @ self.right.flatten(1))
        return products.unflatten(-1, self.left.shape[1:]).sum(-1)

    @property
    def magnitude(self) -> Tensor:
        return self.left.norm() * self.right.norm()

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        self.bias.mul_(factor)
        self.left.div_(factor)

    def slices(self, outputs: slice) -> Tensor:
        raw = torch.einsum("jic,kic->ijk", self.left[:, outputs], self.right[:, outputs])
        return (raw + raw.mT) / 2

    def slice_rows(self, rows: slice) -> Tensor:
        as_left = torch.einsum("jic,kic->ijk", self.left[rows], self.right)
        as_right = torch.einsum("kic,jic->ijk", self.left, self.right[rows])
        return (as_left + as_right) / 2


class FullQuadratic(QuadraticDynamics):
    """Every entry of Q⁽ⁱ⁾ is free: r³ numbers, needed by the paper's ablation.

    Args:
        dim: r.
        generator: the source of the initial weights.
        scale: standard deviation of the entries at the start; None for TENSOR_SCALE.
    """

    def __init__(
        self, dim: int, generator: torch.Generator | None = None, scale: float | None = None
    ) -> None:
        super().__init__()
        self.dim = dim
        self.linear = uniform_parameter(dim, dim, fan_in=dim, generator=generator)
        self.bias = uniform_parameter(dim, fan_in=dim, generator=generator)
        scale = TENSOR_SCALE if scale is None else scale
        self.tensor = nn.Parameter(scale * torch.randn(dim, dim, dim, generator=generator))

    def quadratic(self, latents: Tensor) -> Tensor:
        pairs = (latents[..., :, None] * latents[..., None, :]).flatten(-2)
        return pairs @ self.tensor.flatten(1).T

    @property
    def magnitude(self) -> Tensor:
        return self.tensor.norm()

    @torch.no_grad()
    def rescale(self, factor: float) -> None:
        self.bias.mul_(factor)
        self.tensor.div_(factor)

    def slices(self, outputs: slice) -> Tensor:
        return (self.tensor[outputs] + self.tensor[outputs].mT) / 2

    def slice_rows(self, rows: slice) -> Tensor:
        return (self.tensor[:, rows] + self.tensor.mT[:, rows]) / 2
