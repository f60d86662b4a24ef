"""How large decoded fields can be and how fast they change with the latent state, user's units.

Channel k of the field at x is shift_k + scale_k (c₀(x) + J₀(x) z_k), so the constants of Theorem 2,
"Decoder growth and Lipschitz transfer", are (paper, remark "Explicit constants")

    C_D = sup_x ‖(shift_k + scale_k c₀(x))_k‖
    D_D = max_k scale_k · sup_x ‖J₀(x)‖
    L_D = max_k scale_k · λ_max(∫ J₀ᵀJ₀ dx)^½.

With modes J_k of its own for every channel, J is that of all channels, scale_k J_k one below the
other: D_D = sup_x ‖J(x)‖_F and L_D = λ_max(∫ JᵀJ dx)^½.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.func import jvp

from smore.data import BoxMap, Mesh, SphereMap
from smore.decoder import Basis, Decoder, FilterNetwork, GriddedBasis

if TYPE_CHECKING:  # a surrogate may one day ask for its own certificate
    from smore.surrogate import Surrogate

# A bound of more than this many times the sample maximum tells less than the sample does.
USEFUL = 2.0
# How many times finer grids are tried where one does not prove such a bound.
FINER = (1, 4, 16)
NEGLIGIBLE = 1e-6
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
        max_points: size of the grid on which suprema are sought first; each of its points costs
            about as much as five evaluations of the decoder per coordinate. Where it proves
            nothing, up to 16 times as many are tried.
    """
    description = surrogate.description
    decoder = copy.deepcopy(surrogate.decoder).to("cpu", torch.float64)
    units = _Units.of(surrogate)
    coords = torch.as_tensor(description.coordinate_map(mesh.coords))
    gram, mesh_peaks = _on_mesh(decoder, coords, torch.tensor(mesh.weights), units)
    if isinstance(decoder, GriddedBasis):
        return _of_coefficients(decoder, units, gram, mesh_peaks, mesh)
    chart = _chart(description.coordinate_map, mesh)
    fourth = _fourth(decoder, chart, units)
    peaks, rigorous = mesh_peaks, False
    for finer in FINER:
        grid, steps = chart.grid(finer * max_points)
        reach = steps**2 / 8
        beyond = torch.einsum("fij,i,j->f", fourth, reach, reach)
        if finer > 1 and bool((beyond > (USEFUL - 1) * peaks).any()):
            continue  # whatever is on this grid, it would prove nothing
        grid_peaks, bends = _on_grid(decoder, chart, grid, units)
        peaks = torch.maximum(peaks, grid_peaks)
        estimate = peaks + bends @ reach
        bound = (estimate + beyond) * (1 + _ROUND_OFF)
        num_points = len(grid) + mesh.num_points
        rigorous = bool((bound <= USEFUL * peaks).all())
        if rigorous:
            break
    growth_offset, growth_slope = (bound if rigorous else estimate).tolist()
    return DecoderConstants(
        growth_offset=growth_offset,
        growth_slope=growth_slope,
        lipschitz=float(torch.linalg.eigvalsh(gram)[-1].clamp(min=0).sqrt()),
        measure=float(mesh.weights.sum()),
        rigorous=rigorous,
        num_points=num_points,
    )


def _of_coefficients(
    decoder: GriddedBasis, units: _Units, gram: Tensor, peaks: Tensor, mesh: Mesh
) -> DecoderConstants:
    """Those of an interpolation, whose fields are everywhere between known values."""
    bound = torch.zeros(2, dtype=torch.float64)
    for bases in decoder.bounding():
        each = bases if decoder.joint else bases * len(units.scale)
        bound = torch.maximum(bound, _largest(*units.of_bases(each, decoder.joint)))
    bound = bound * (1 + _ROUND_OFF)
    negligible = NEGLIGIBLE * float(bound.max())  # an offset of nothing but round-off, say
    rigorous = bool((bound <= USEFUL * peaks + negligible).all())
    growth_offset, growth_slope = (bound if rigorous else peaks).tolist()
    return DecoderConstants(
        growth_offset=growth_offset,
        growth_slope=growth_slope,
        lipschitz=float(torch.linalg.eigvalsh(gram)[-1].clamp(min=0).sqrt()),
        measure=float(mesh.weights.sum()),
        rigorous=rigorous,
        num_points=mesh.num_points,
    )


@dataclass(frozen=True, eq=False)
class _Units:
    """What a decoder says, in the user's units.

    Args:
        shift, scale: (channels,) of the normalisation.
    """

    shift: Tensor
    scale: Tensor

    @classmethod
    def of(cls, surrogate: Surrogate) -> _Units:
        normalization = surrogate.description.normalization
        return cls(
            torch.as_tensor(normalization.shift_array), torch.as_tensor(normalization.scale_array)
        )

    def rows(self, decoder: Decoder, coords: Tensor) -> tuple[Tensor, Tensor]:
        """(points, channels) and (points, q), whose norms at a point are those of the theorem.

        Channels that share modes have one norm for all, the largest; with modes of their own their
        squares add up.
        """
        return self.of_bases(decoder.channel_bases(coords, len(self.scale)), decoder.joint)

    def of_bases(self, bases: Sequence[Basis], joint: bool) -> tuple[Tensor, Tensor]:
        """`rows` of what the channels have at some points."""
        offset = torch.stack([basis.offset for basis in bases], dim=1)
        modes = (
            torch.cat([s * basis.modes for s, basis in zip(self.scale, bases, strict=True)], dim=1)
            if joint
            else self.scale.max() * bases[0].modes
        )
        return self.shift + self.scale * offset, modes

    def total(self, offsets: Tensor, modes: Tensor) -> Tensor:
        """From bounds (outputs, ...) of what outputs do to those (2, ...) of the rows."""
        if len(offsets) == 1:
            return torch.stack([self.scale.norm() * offsets[0], self.scale.max() * modes[0]])
        scale = self.scale.view(-1, *[1] * (offsets.ndim - 1))
        return torch.stack([(scale * each).norm(dim=0) for each in (offsets, modes)])


def _on_mesh(
    decoder: Decoder, coords: Tensor, weights: Tensor, units: _Units
) -> tuple[Tensor, Tensor]:
    """∫ JᵀJ dx (p, p) and the largest norms (2,) of offset and modes, both in the user's units."""
    gram = torch.zeros(decoder.latent_dim, decoder.latent_dim, dtype=torch.float64)
    peaks = torch.zeros(2, dtype=torch.float64)
    for points, weight in zip(coords.split(CHUNK), weights.split(CHUNK), strict=True):
        offset, modes = units.rows(decoder, points)
        for own in modes.split(decoder.latent_dim, dim=1):
            gram += own.T @ (weight[:, None] * own)
        peaks = torch.maximum(peaks, _largest(offset, modes))
    return gram, peaks


def _on_grid(decoder: Decoder, chart: _Chart, grid: Tensor, units: _Units) -> tuple[Tensor, Tensor]:
    """Largest norms (2,) of offset and modes, and of their ∂_j² (2, axes), in the user's units."""
    num_axes = grid.shape[1]
    peaks = torch.zeros(2, dtype=torch.float64)
    bends = torch.zeros(2, num_axes, dtype=torch.float64)

    def rows(points: Tensor) -> tuple[Tensor, Tensor]:
        return units.rows(decoder, chart.place(points))

    for points in grid.split(CHUNK):
        peaks = torch.maximum(peaks, _largest(*rows(points)))
        for axis in range(num_axes):
            direction = torch.zeros_like(points)
            direction[:, axis] = 1.0

            def slope(points: Tensor, direction: Tensor = direction) -> tuple[Tensor, Tensor]:
                slopes: tuple[Tensor, Tensor] = jvp(rows, (points,), (direction,))[1]
                return slopes

            bend = _largest(*jvp(slope, (points,), (direction,))[1])
            bends[:, axis] = torch.maximum(bends[:, axis], bend)
    return peaks, bends


def _largest(offset: Tensor, modes: Tensor) -> Tensor:
    """(2,) the largest norm of a row."""
    return torch.stack([offset.norm(dim=1).max(), modes.norm(dim=1).max()])


def _fourth(decoder: Decoder, chart: _Chart, units: _Units) -> Tensor:
    """Bounds of ‖∂_i² ∂_j²‖ of offset and modes everywhere, (2, axes, axes), from the weights.

    Layer l contributes y_l b_l to c₀ and y_l M_l to J₀, where y_l is a product of the filters from
    the last to l with matrices between them. Each filter is bounded by one, so ‖y_l‖ is at most the
    product of the matrix norms; derivatives of y_l add up the phases of its filters.
    """
    if not isinstance(decoder, FilterNetwork):
        return torch.full((2, chart.num_axes, chart.num_axes), torch.inf, dtype=torch.float64)
    shape = (decoder.num_outputs, chart.num_axes, chart.num_axes)
    offsets, modes = (torch.zeros(shape, dtype=torch.float64) for _ in range(2))
    for size, frequency, layer in _layers(decoder, chart):
        most = size * chart.fourth(frequency)
        bias = decoder.biases[layer].view(decoder.num_outputs, -1)
        matrix = decoder.modulations[layer].view(decoder.num_outputs, -1, decoder.latent_dim)
        offsets += bias.norm(dim=1)[:, None, None] * most
        modes += torch.linalg.matrix_norm(matrix, 2)[:, None, None] * most
    return units.total(offsets, modes)


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
