"""Fourier neural operator in two dimensions (Li et al. 2021).

v ← σ(W v + F⁻¹(R · F v)): a pointwise linear map beside a convolution with a kernel that is given
by its first Fourier coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from smore.errors import DataError
from smore_paper.baselines.grid import Grid
from smore_paper.baselines.rollout_operator import AppendCoordinates, RolloutOperator

PROJECTION_WIDTH = 128


@dataclass(eq=False)
class FNO(RolloutOperator):
    """The original 2-D network: lift, spectral layers, projection through 128 channels.

    Args:
        modes: wavenumbers kept per dimension, -modes..modes-1 along rows and 0..modes-1 along
            columns, whose negative ones a real field mirrors.
        width: channels inside.
        num_layers: spectral layers.
        batch_size, windows_at_once, device: as in `RolloutOperator`.
    """

    name = "FNO"
    modes: int
    width: int
    num_layers: int
    windows_at_once: int | None = field(default=8, kw_only=True)

    def build(self, grid: Grid, num_channels: int) -> nn.Module:
        if min(grid.shape) < 2 * self.modes:
            raise DataError(
                f"{self.modes} Fourier modes need at least {2 * self.modes} grid points along each "
                f"dimension, got {grid.shape}; use fewer modes or a finer grid"
            )
        layers = [FourierLayer(self.width, self.modes) for _ in range(self.num_layers)]
        return SpectralNetwork(grid, num_channels, self.width, layers)


class SpectralNetwork(nn.Module):
    """Coordinates appended, lift, spectral layers beside pointwise ones, projection.

    Args:
        grid: where the fields live.
        num_channels: of the fields.
        width: channels inside.
        layers: convolutions (batch, width, rows, columns) -> the same.
    """

    def __init__(
        self, grid: Grid, num_channels: int, width: int, layers: Iterable[nn.Module]
    ) -> None:
        super().__init__()
        self.append = AppendCoordinates(grid)
        self.lift = nn.Conv2d(num_channels + len(grid.coordinates), width, 1)
        self.spectral = nn.ModuleList(layers)
        self.pointwise = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in self.spectral)
        self.project = nn.Sequential(
            nn.Conv2d(width, PROJECTION_WIDTH, 1),
            nn.GELU(),
            nn.Conv2d(PROJECTION_WIDTH, num_channels, 1),
        )

    def forward(self, fields: Tensor) -> Tensor:
        v = self.lift(self.append(fields))
        last = len(self.spectral) - 1
        for number, (spectral, pointwise) in enumerate(
            zip(self.spectral, self.pointwise, strict=True)
        ):
            v = spectral(v) + pointwise(v)
            if number < last:
                v = gelu(v)
        return self.project(v)


class FourierLayer(nn.Module):
    """F⁻¹(R · F v) with a complex matrix R per wavenumber, zero beyond `modes`.

    Fourier coefficients are means over the grid, so the same weights are the same convolution at
    every resolution.
    """

    def __init__(self, width: int, modes: int) -> None:
        super().__init__()
        self.modes = modes
        # Two blocks: wavenumbers 0..modes-1 and -modes..-1 along rows.
        self.weights = nn.Parameter(
            torch.rand(2, width, width, modes, modes, dtype=torch.cfloat) / width**2
        )

    def forward(self, v: Tensor) -> Tensor:
        rows, columns = v.shape[-2:]
        low, high = slice(None, self.modes), slice(-self.modes, None)
        coefficients = torch.fft.rfft2(v, norm="forward")
        convolved = torch.zeros_like(coefficients)
        for block, weights in zip((low, high), self.weights, strict=True):
            convolved[:, :, block, low] = mix_channels(coefficients[:, :, block, low], weights)
        return torch.fft.irfft2(convolved, s=(rows, columns), norm="forward")


def mix_channels(coefficients: Tensor, weights: Tensor) -> Tensor:
    """Σ_i c_i w_io for each mode: (batch, in, k, l) and (in, out, k, l) -> (batch, out, k, l)."""
    return torch.einsum("bikl,iokl->bokl", coefficients, weights)
