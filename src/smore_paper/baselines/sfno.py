"""Fourier neural operator on the sphere (Bonev et al. 2023): harmonics in place of waves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray
from scipy.special import gammaln, lpmv
from torch import Tensor, nn

from smore.errors import DataError
from smore_paper.baselines.fno import SpectralNetwork, mix_channels
from smore_paper.baselines.grid import Grid
from smore_paper.baselines.rollout_operator import RolloutOperator

FloatArray = NDArray[np.float64]


@dataclass(eq=False)
class SFNO(RolloutOperator):
    """The network of `FNO` with spherical convolutions and points as unit vectors.

    Args:
        modes: degrees l and orders m kept, 0..modes-1 each.
        width: channels inside.
        num_layers: spectral layers.
        batch_size, windows_at_once, device: as in `RolloutOperator`.
    """

    name = "SFNO"
    modes: int
    width: int
    num_layers: int
    batch_size: int = field(default=4, kw_only=True)
    windows_at_once: int | None = field(default=4, kw_only=True)

    def build(self, grid: Grid, num_channels: int) -> nn.Module:
        if grid.geometry != "sphere":
            raise DataError("expected fields on a sphere, got a box; use FNO there")
        require_longitudes(grid.mesh.axes[1], self.modes)
        harmonics = Harmonics(grid.mesh.axes[0], grid.shape[1], self.modes)
        layers = [HarmonicLayer(self.width, harmonics) for _ in range(self.num_layers)]
        return SpectralNetwork(grid, num_channels, self.width, layers)


class Harmonics(nn.Module):
    """Spherical harmonics of degree and order below `modes`, as tensors to differentiate through.

    c_lm = ∫ f Y*_lm dΩ by a quadrature that is exact for the products Y_lm Y*_l'm, so synthesis
    after analysis returns a band-limited field, and analysis after synthesis its coefficients.

    Args:
        latitudes: (rows,) in degrees, from pole to pole, not necessarily Gaussian.
        num_longitudes: equally spaced around the globe.
        modes: degrees and orders.
    """

    functions: Tensor
    weighted: Tensor

    def __init__(self, latitudes: FloatArray, num_longitudes: int, modes: int) -> None:
        super().__init__()
        self.num_longitudes, self.modes = num_longitudes, modes
        height = np.sin(np.deg2rad(latitudes))
        functions = legendre_functions(height, modes)
        weights = 2 * np.pi * latitude_weights(height, modes)
        for name, values in (("functions", functions), ("weighted", functions * weights)):
            self.register_buffer(name, torch.from_numpy(values).to(torch.cfloat), persistent=False)

    def analysis(self, field: Tensor) -> Tensor:
        """(..., rows, columns) -> complex coefficients (..., l, m), m ≥ 0."""
        orders = torch.fft.rfft(field, norm="forward")[..., : self.modes]
        return torch.einsum("...jm,lmj->...lm", orders, self.weighted)

    def synthesis(self, coefficients: Tensor) -> Tensor:
        """Complex coefficients (..., l, m), m ≥ 0 -> (..., rows, columns)."""
        orders = torch.einsum("...lm,lmj->...jm", coefficients, self.functions)
        return torch.fft.irfft(orders, n=self.num_longitudes, norm="forward")


class HarmonicLayer(nn.Module):
    """Coefficients (l, m) of all channels times a complex matrix of their own.

    Each harmonic is an eigenfunction of rotations about the axis, so the layer commutes with them.
    The weights fill a square of which the half with m > l meets no harmonic and never moves; it is
    stored because the paper counts it.
    """

    def __init__(self, width: int, harmonics: Harmonics) -> None:
        super().__init__()
        self.harmonics = harmonics
        modes = harmonics.modes
        self.weights = nn.Parameter(
            torch.rand(width, width, modes, modes, dtype=torch.cfloat) / width**2
        )

    def forward(self, v: Tensor) -> Tensor:
        return self.harmonics.synthesis(mix_channels(self.harmonics.analysis(v), self.weights))


def legendre_functions(height: FloatArray, modes: int) -> FloatArray:
    """P_lm(sin φ) with 2π ∫ P_lm² d(sin φ) = 1 and zeros for m > l: (l, m, rows)."""
    degree, order = np.ogrid[:modes, :modes]
    ratio = gammaln(np.maximum(degree - order, 0) + 1) - gammaln(degree + order + 1)
    norm = np.sqrt((2 * degree + 1) / (4 * np.pi) * np.exp(ratio))
    functions: FloatArray = norm[..., None] * lpmv(order[..., None], degree[..., None], height)
    return functions


def latitude_weights(height: FloatArray, modes: int) -> FloatArray:
    """Weights (rows,) that integrate polynomials in sin φ of degree < rows exactly.

    The benchmark keeps every second Gaussian latitude, to which no classical rule belongs.

    Raises:
        DataError: too few latitudes for so many modes, or not from pole to pole.
    """
    rows = len(height)
    if rows < 2 * modes:
        raise DataError(
            f"{modes} spherical modes need at least {2 * modes} latitudes, got {rows}; use fewer "
            "modes or a finer grid"
        )
    integrals = np.zeros(rows)
    integrals[0] = 2.0
    weights = np.linalg.solve(legvander(height, rows - 1).T, integrals).astype(np.float64)
    # A rule through points that leave out a part of the interval has large weights of both signs.
    if not np.all(weights > 0):
        raise DataError(
            "expected latitudes from pole to pole that are densest in sin(latitude) near the "
            f"poles, as Gaussian and equiangular grids are, got {rows} latitudes without a "
            "positive quadrature rule; interpolate the data to such a grid"
        )
    return weights


def require_longitudes(longitudes: FloatArray, modes: int) -> None:
    """Refuse (DataError) longitudes that are not equally spaced eastward around the globe."""
    step = 360.0 / len(longitudes)
    if len(longitudes) < 2 * modes or not np.allclose(np.diff(longitudes), step, atol=1e-6):
        raise DataError(
            f"expected at least {2 * modes} longitudes, equally spaced eastward around the whole "
            f"globe, got {len(longitudes)} from {longitudes[0]:g} to {longitudes[-1]:g} degrees"
        )
