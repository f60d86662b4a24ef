"""The continuous basis: everything a decoder has to say about a set of points.

A FiLM-shifted multiplicative filter network is affine in its latent code,

    u(x) = c₀(x) + J₀(x) z,

so the values c₀ and J₀ at some points are all that training, inference, certificates and sensor
placement ever need of the decoder there.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Basis:
    """Offset c₀ (points,) and modes J₀ (points, p) of a decoder at some points."""

    offset: Tensor
    modes: Tensor

    def decode(self, latents: Tensor) -> Tensor:
        """u = c₀ + J₀ z for any number of codes: (..., p) -> (..., points)."""
        return latents @ self.modes.T + self.offset

    def detach(self) -> Basis:
        return Basis(self.offset.detach(), self.modes.detach())
