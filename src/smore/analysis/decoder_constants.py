"""How large decoded fields can be and how fast they change with the latent state, user's units.

Channel k of the field at x is shift_k + scale_k (c₀(x) + J₀(x) z_k), so the constants of Theorem 2,
"Decoder growth and Lipschitz transfer", are (paper, remark "Explicit constants")

    C_D = sup_x ‖(shift_k + scale_k c₀(x))_k‖
    D_D = max_k scale_k · sup_x ‖J₀(x)‖
    L_D = max_k scale_k · λ_max(∫ J₀ᵀJ₀ dx)^½.

The largest value on a sample is only a lower bound of a supremum. Between the points of a grid of
steps h_j, linear interpolation cannot exceed the values at the corners, and its error is at most
h_j²/8 times the second derivative along each axis j. The same holds for the second derivative
itself, so that with q_j = h_j²/8

    sup ‖f‖ <= max ‖f‖ + Σ_j q_j (max ‖∂_j² f‖ + Σ_i q_i sup ‖∂_i² ∂_j² f‖)

where both maxima are over the grid. The last supremum follows from the weights alone: c₀ and J₀ are
sums of products of sines and cosines, of which every derivative is bounded. A Lipschitz constant
from the weights and a fill distance would do in principle, but give bounds that are tens of times
too large for a trained network and a grid of reasonable size.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.func import jvp

from smore.data import BoxMap, Mesh, SphereMap
from smore.decoder import Decoder, FilterNetwork

if TYPE_CHECKING:  # a surrogate may one day ask for its own certificate
    from smore.surrogate import Surrogate

# A bound of more than this many times the sample maximum tells less than the sample does.
USEFUL = 2.0
# Points whose derivatives are taken at once.
CHUNK = 2**10
# What sums in float64 may lose of a bound that is claimed to be proven.
_ROUND_OFF = 1e-9


@dataclass(frozen=True)
class DecoderConstants:
    """The constants of Theorem 2, for latents as they are and fields in the user's units.

    Ω is the box (or the part of the sphere between two latitudes and two meridians) that holds both
    the training domain and the mesh. L2 norms are those of the mesh's quadrature, for which both
    bounds of the theorem hold exactly.

    Attributes:
        growth_offset: C_D.
        growth_slope: D_D.
        lipschitz: L_D.
        measure: |Ω|, the sum of the mesh's weights. For a box in the product of the coordinates'
            units (a grid's outermost cells reach half a step beyond its points), for a sphere in
            steradians, whatever its radius; if weights came with the data, in their units.
        rigorous: whether C_D and D_D are proven upper bounds of the suprema over Ω. If not, they
            are estimates: sample maximum and sampled curvature.
        num_points: points at which the decoder was evaluated.
    """

    growth_offset: float
    growth_slope: float
    lipschitz: float
    measure: float
    rigorous: bool
    num_points: int


def field_bound(constants: DecoderConstants, centre_norm: float, radius: float) -> float:
    """|Ω|^½ [C_D + D_D (‖m‖ + R)], the largest L2 norm of a field (decoded_field_bound_method).

    Args:
        constants: of the decoder.
        centre_norm: ‖m‖.
        radius: R, with ‖α - m‖ <= R.
    """
    growth = constants.growth_offset + constants.growth_slope * (centre_norm + radius)
    return math.sqrt(constants.measure) * growth


@torch.no_grad()
def decoder_constants(
    surrogate: Surrogate, mesh: Mesh, *, max_points: int = 2**14
) -> DecoderConstants:
    """C_D, D_D and L_D of a trained decoder.

    Args:
        surrogate: the trained model.
        mesh: points and weights of the L2 norm.
        max_points: size of the grid on which suprema are sought; each of its points costs about as
            much as five evaluations of the decoder per coordinate.
    """
    description = surrogate.description
    decoder = copy.deepcopy(surrogate.decoder).to("cpu", torch.float64)
    shift = torch.as_tensor(description.normalization.shift_array)
    scale = torch.as_tensor(description.normalization.scale_array)
    units = torch.stack([scale.norm(), scale.max()])  # of changes of the offset, and of the modes

    coords = torch.as_tensor(description.coordinate_map(mesh.coords))
    gram, mesh_peaks = _on_mesh(decoder, coords, torch.tensor(mesh.weights), shift, scale)
    chart = _chart(description.coordinate_map, mesh)
    grid, steps = chart.grid(max_points)
    grid_peaks, bends = _on_grid(decoder, chart, grid, shift, scale)

    reach = steps**2 / 8
    peaks = torch.maximum(mesh_peaks, grid_peaks)
    estimate = peaks + units * (bends @ reach)
    bound = estimate + units * torch.einsum("fij,i,j->f", _fourth(decoder, chart), reach, reach)
    bound = bound * (1 + _ROUND_OFF)
    rigorous = bool((bound <= USEFUL * peaks).all())
    growth_offset, growth_slope = (bound if rigorous else estimate).tolist()
    return DecoderConstants(
        growth_offset=growth_offset,
        growth_slope=growth_slope,
        lipschitz=float(scale.max() * torch.linalg.eigvalsh(gram)[-1].clamp(min=0).sqrt()),
        measure=float(mesh.weights.sum()),
        rigorous=rigorous,
        num_points=len(grid) + mesh.num_points,
    )


def _on_mesh(
    decoder: Decoder, coords: Tensor, weights: Tensor, shift: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor]:
    """∫ J₀ᵀJ₀ dx (p, p), and the largest norms (2,) of offset and modes in the user's units."""
    gram = torch.zeros(decoder.latent_dim, decoder.latent_dim, dtype=torch.float64)
    peaks = torch.zeros(2, dtype=torch.float64)
    for points, weight in zip(coords.split(CHUNK), weights.split(CHUNK), strict=True):
        basis = decoder.basis(points)
        gram += basis.modes.T @ (weight[:, None] * basis.modes)
        peaks = torch.maximum(peaks, _peaks(basis.offset, basis.modes, shift, scale))
    return gram, peaks


def _on_grid(
    decoder: Decoder, chart: _Chart, grid: Tensor, shift: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor]:
    """Largest norms (2,) of offset and modes, user's units, and of ∂_j² of c₀ and J₀ (2, axes)."""
    num_axes = grid.shape[1]
    peaks = torch.zeros(2, dtype=torch.float64)
    bends = torch.zeros(2, num_axes, dtype=torch.float64)

    def basis(points: Tensor) -> tuple[Tensor, Tensor]:
        here = decoder.basis(chart.place(points))
        return here.offset, here.modes

    for points in grid.split(CHUNK):
        peaks = torch.maximum(peaks, _peaks(*basis(points), shift, scale))
        for axis in range(num_axes):
            direction = torch.zeros_like(points)
            direction[:, axis] = 1.0

            def slope(points: Tensor, direction: Tensor = direction) -> tuple[Tensor, Tensor]:
                slopes: tuple[Tensor, Tensor] = jvp(basis, (points,), (direction,))[1]
                return slopes

            offset, modes = jvp(slope, (points,), (direction,))[1]
            bend = torch.stack([offset.abs().max(), modes.norm(dim=1).max()])
            bends[:, axis] = torch.maximum(bends[:, axis], bend)
    return peaks, bends


def _peaks(offset: Tensor, modes: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """max ‖shift + scale c₀‖ and max_k scale_k max ‖J₀‖ over some points."""
    offsets = (shift + scale * offset[:, None]).norm(dim=1)
    return torch.stack([offsets.max(), scale.max() * modes.norm(dim=1).max()])


def _fourth(decoder: Decoder, chart: _Chart) -> Tensor:
    """Bounds of ‖∂_i² ∂_j² c₀‖ and ‖∂_i² ∂_j² J₀‖ everywhere, (2, axes, axes), from the weights.

    Layer l contributes y_l b_l to c₀ and y_l M_l to J₀, where y_l is a product of the filters from
    the last to l with matrices between them. Each filter is bounded by one, so ‖y_l‖ is at most the
    product of the matrix norms; derivatives of y_l add up the phases of its filters.
    """
    if not isinstance(decoder, FilterNetwork):
        return torch.full((2, chart.num_axes, chart.num_axes), torch.inf, dtype=torch.float64)
    total = torch.zeros(2, chart.num_axes, chart.num_axes, dtype=torch.float64)
    for size, frequency, layer in _layers(decoder, chart):
        norms = torch.stack(
            [decoder.biases[layer].norm(), torch.linalg.matrix_norm(decoder.modulations[layer], 2)]
        )
        total += size * norms[:, None, None] * chart.fourth(frequency)
    return total


def _layers(decoder: FilterNetwork, chart: _Chart) -> Iterator[tuple[Tensor, Tensor, int]]:
    """From last to first: a bound of ‖y_l‖, the highest frequency along each axis, and l."""
    size = decoder.output_weight.norm()
    frequency = torch.zeros(chart.num_axes, dtype=torch.float64)
    for layer in reversed(range(len(decoder.frequencies))):
        frequency = frequency + chart.highest(decoder.filter_scale * decoder.frequencies[layer])
        yield size, frequency, layer
        if layer:
            size = size * torch.linalg.matrix_norm(decoder.weights[layer - 1], 2)


@dataclass(frozen=True, eq=False)
class _Chart(ABC):
    """A box [lower, upper] of parameters, and the part of space that it stands for."""

    lower: Tensor
    upper: Tensor

    @property
    def num_axes(self) -> int:
        return len(self.lower)

    def grid(self, max_points: int) -> tuple[Tensor, Tensor]:
        """Parameters (points, axes) of a grid with all corners, and its step along each axis."""
        extent = self.upper - self.lower
        width = float(extent.prod() / max_points) ** (1 / self.num_axes)
        counts = (extent / width + 1e-9).long().clamp(min=2)  # 33 points are not 32.999
        axes = [
            low + length * torch.linspace(0, 1, int(count), dtype=torch.float64)
            for low, length, count in zip(self.lower, extent, counts, strict=True)
        ]
        points = torch.cartesian_prod(*axes).view(-1, self.num_axes)
        return points, extent / (counts - 1)

    @abstractmethod
    def place(self, parameters: Tensor) -> Tensor:
        """Decoder coordinates (points, d) of parameters (points, axes)."""

    @abstractmethod
    def highest(self, frequencies: Tensor) -> Tensor:
        """(axes,) how fast phases with `frequencies` (filters, d) can change along each axis."""

    @abstractmethod
    def fourth(self, frequency: Tensor) -> Tensor:
        """Bounds (axes, axes) of |∂_i² ∂_j²| of a wave whose phase changes by `frequency`."""


class _BoxChart(_Chart):
    """Parameters are the decoder's coordinates."""

    def place(self, parameters: Tensor) -> Tensor:
        return parameters

    def highest(self, frequencies: Tensor) -> Tensor:
        return frequencies.abs().amax(0)

    def fourth(self, frequency: Tensor) -> Tensor:
        return torch.outer(frequency**2, frequency**2)


class _SphereChart(_Chart):
    """Parameters are latitude and longitude in radians.

    Unit vectors have partial derivatives of norm at most one, to any order. By Faà di Bruno's rule
    the fourth derivatives of a wave of frequency w are then at most w⁴ + 6w³ + 7w² + w, and so for
    products of waves with the sum of their frequencies (Touchard polynomials are binomial).
    """

    def place(self, parameters: Tensor) -> Tensor:
        latitude, longitude = parameters.unbind(-1)
        across = latitude.cos()
        return torch.stack(
            [across * longitude.cos(), across * longitude.sin(), latitude.sin()], dim=-1
        )

    def highest(self, frequencies: Tensor) -> Tensor:
        return frequencies.norm(dim=1).max().expand(2)

    def fourth(self, frequency: Tensor) -> Tensor:
        w = frequency[0]
        return (w**4 + 6 * w**3 + 7 * w**2 + w).expand(2, 2)


def _chart(coordinate_map: BoxMap | SphereMap, mesh: Mesh) -> _Chart:
    """The training domain, enlarged to hold every point of `mesh`."""
    if isinstance(coordinate_map, BoxMap):
        coords = coordinate_map(mesh.coords)
        lower, upper = np.minimum(coords.min(axis=0), 0.0), np.maximum(coords.max(axis=0), 0.5)
        return _BoxChart(torch.tensor(lower), torch.tensor(upper))
    latitude, longitude = mesh.coords.T
    # Longitudes within half a turn of the middle of the domain: together never more than a circle.
    middle = (coordinate_map.west + coordinate_map.east) / 2
    longitude = middle + (longitude - middle + 180.0) % 360.0 - 180.0
    lower = [min(coordinate_map.south, latitude.min()), min(coordinate_map.west, longitude.min())]
    upper = [max(coordinate_map.north, latitude.max()), max(coordinate_map.east, longitude.max())]
    return _SphereChart(*(torch.deg2rad(torch.tensor(end).double()) for end in (lower, upper)))
