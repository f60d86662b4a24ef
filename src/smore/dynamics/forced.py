"""Linear dynamics about a centre that moves by itself: seasons, a trend, or standing still.

    α(t) = m(t) + β(t),      β(t + h) = M β(t) + c,      m(t) = Σ_k f_k(t) m_k,

with f = 1, a straight line, cosines and sines of known periods. Climatology is M = 0, persistence
M = 1, damped anomalies everything in between; so what a record says about its dynamics, be it much
or nothing, is a point of this family, and one theory covers all of it.

M is the map over a step h of the training data, as regression finds it. Between whole steps it is
replaced by the flow of a generator W with expm(W h) ≈ M, which is M itself where that has a real
logarithm; maps of noise and of strong diffusion have none.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from smore.dynamics.linear import LinearDynamics
from smore.dynamics.vector_field import LatentDynamics

# Times this close to a whole number of steps are one.
WHOLE = 1e-6


class ForcedLinear(LinearDynamics):
    """β = α - m(t) moves by dβ/dt = W β + w, and by β ↦ M β + c over whole steps.

    Args:
        dim: r.
        num_periods: cosines and sines in m.

    Attributes:
        linear: W (r, r).
        constant: w (r,).
        step_matrix: M (r, r).
        step_constant: c (r,).
        step: h, model time.
        frequencies: (periods,) turns per unit of model time.
        trend: (2,) model time at which the line is 0, and its slope; slope 0 where there is none.
        centre_weights: m_k (2 + 2 periods, r) of 1, the line, cosines, sines.
    """

    constant: Tensor
    step_matrix: Tensor
    step_constant: Tensor
    step: Tensor
    frequencies: Tensor
    trend: Tensor
    centre_weights: Tensor

    def __init__(self, dim: int, num_periods: int = 0) -> None:
        super().__init__(dim)
        for name, shape in {
            "constant": (dim,),
            "step_matrix": (dim, dim),
            "step_constant": (dim,),
            "step": (),
            "frequencies": (num_periods,),
            "trend": (2,),
            "centre_weights": (2 + 2 * num_periods, dim),
        }.items():
            self.register_buffer(name, torch.zeros(shape))

    def forward(self, latents: Tensor) -> Tensor:
        """The vector field of departures β."""
        return latents @ self.linear.T + self.constant

    def centre(self, times: Tensor) -> Tensor:
        """m (..., r) at model times (...)."""
        return centre_functions(times, self.frequencies, self.trend) @ self.centre_weights

    def flow(self, length: float) -> tuple[Tensor, Tensor]:
        """F (r, r) and s (r,) of β ↦ F β + s over `length` of model time."""
        whole = round(length / float(self.step))
        if abs(length / float(self.step) - whole) <= WHOLE:
            map_ = _affine(self.step_matrix - _identity(self.dim), self.step_constant)
            power = torch.linalg.matrix_power(map_ + _identity(self.dim + 1), whole)
        else:
            power = torch.linalg.matrix_exp(length * _affine(self.linear.detach(), self.constant))
        return power[: self.dim, : self.dim], power[: self.dim, self.dim]


def departures(dynamics: LatentDynamics, states: Tensor, times: Tensor) -> Tensor:
    """States (..., r) less the centre at model times (...), where dynamics have one."""
    return states - dynamics.centre(times) if isinstance(dynamics, ForcedLinear) else states


def centre_functions(times: Tensor, frequencies: Tensor, trend: Tensor) -> Tensor:
    """(..., 2 + 2 periods): 1, the line, cosines, sines."""
    turns = 2 * math.pi * times[..., None] * frequencies
    line = (times - trend[0]) * trend[1]
    return torch.cat(
        [torch.ones_like(times)[..., None], line[..., None], turns.cos(), turns.sin()], dim=-1
    )


def _identity(dim: int) -> Tensor:
    return torch.eye(dim, dtype=torch.float64)


def _affine(matrix: Tensor, constant: Tensor) -> Tensor:
    """(r + 1, r + 1) acting on (β, 1), with a last row of zeros."""
    block = torch.cat([matrix, constant[:, None]], dim=1)
    return torch.cat([block, block.new_zeros(1, block.shape[1])])
