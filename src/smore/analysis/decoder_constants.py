"""How large decoded fields can be and how fast they change with the latent state, user's units.

Channel k of the field at x is shift_k + scale_k (c₀(x) + J₀(x) z_k), so the constants of Theorem 2,
"Decoder growth and Lipschitz transfer", are (paper, remark "Explicit constants")

    C_D = sup_x ‖(shift_k + scale_k c₀(x))_k‖
    D_D = max_k scale_k · sup_x ‖J₀(x)‖
    L_D = max_k scale_k · λ_max(∫ J₀ᵀJ₀ dx)^½.

With modes J_k of its own for every channel, J is that of all channels, scale_k J_k one below the
other: D_D = sup_x ‖J(x)‖_F and L_D = λ_max(∫ JᵀJ dx)^½.

The largest value on a sample is only a lower bound of a supremum. Those of a network are proved
from its values at Chebyshev points and from its weights (`_suprema`), those of interpolations from
the coefficients between which it stays.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from smore.analysis._suprema import (
    NEGLIGIBLE,
    SAMPLED,
    BoxChart,
    Chart,
    SphereChart,
    sampled,
    suprema,
)
from smore.data import BoxMap, Mesh, SphereMap
from smore.decoder import Basis, Decoder, FilterNetwork, GriddedBasis

if TYPE_CHECKING:  # a surrogate may one day ask for its own certificate
    from smore.surrogate import Surrogate

# A bound of more than this many times the sample maximum tells less than the sample does.
USEFUL = 2.0
# Points that are decoded at once.
CHUNK = 2**12
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
            are estimates: the largest values of a sample.
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
    surrogate: Surrogate, mesh: Mesh, *, max_points: int = 2**20
) -> DecoderConstants:
    """C_D, D_D and L_D of a trained decoder.

    Args:
        surrogate: the trained model.
        mesh: points and weights of the L2 norm.
        max_points: how many points a network may be evaluated at to prove suprema.
    """
    description = surrogate.description
    decoder = copy.deepcopy(surrogate.decoder).to("cpu", torch.float64)
    units = _Units.of(surrogate)
    coords = torch.as_tensor(description.coordinate_map(mesh.coords))
    gram, peaks = _on_mesh(decoder, coords, torch.tensor(mesh.weights), units)
    if isinstance(decoder, GriddedBasis):
        return _of_coefficients(decoder, units, gram, peaks, mesh)
    chart = _chart(description.coordinate_map, mesh)

    def largest(places: Tensor) -> Tensor:
        return _largest(*units.rows(decoder, places))

    if isinstance(decoder, FilterNetwork):
        amplitudes = _Amplitudes(decoder, units)
        found = suprema(decoder, chart, amplitudes, largest, peaks, max_points)
    else:
        found = sampled(chart, largest, peaks, min(max_points, SAMPLED))
    return _constants(found.peaks, found.bound, gram, mesh, found.num_points + mesh.num_points)


def _constants(
    peaks: Tensor, bound: Tensor, gram: Tensor, mesh: Mesh, num_points: int
) -> DecoderConstants:
    """With the bounds (2,) of the suprema if they say more than the largest values seen (2,)."""
    bound = bound * (1 + _ROUND_OFF)
    negligible = NEGLIGIBLE * float(peaks.max())  # an offset of nothing but round-off, say
    rigorous = bool((bound <= USEFUL * peaks + negligible).all())
    growth_offset, growth_slope = (bound if rigorous else peaks).tolist()
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
    return _constants(peaks, bound, gram, mesh, mesh.num_points)


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


def _largest(offset: Tensor, modes: Tensor) -> Tensor:
    """(2,) the largest norm of a row."""
    return torch.stack([offset.norm(dim=1).max(), modes.norm(dim=1).max()])


@dataclass(frozen=True, eq=False)
class _Amplitudes:
    """From bounds of ‖y_l‖ for every layer to those of what the layers contribute to the rows."""

    decoder: FilterNetwork
    units: _Units

    def __call__(self, sizes: list[Tensor]) -> Tensor:
        decoder, outputs = self.decoder, self.decoder.num_outputs
        offsets, modes = (torch.zeros(outputs, len(sizes[0]), dtype=torch.float64) for _ in "cJ")
        for size, bias, matrix in zip(sizes, decoder.biases, decoder.modulations, strict=True):
            offsets += bias.view(outputs, -1).norm(dim=1)[:, None] * size
            matrices = matrix.view(outputs, -1, decoder.latent_dim)
            modes += torch.linalg.matrix_norm(matrices, 2)[:, None] * size
        return self.units.total(offsets, modes)


def _chart(coordinate_map: BoxMap | SphereMap, mesh: Mesh) -> Chart:
    """The training domain, enlarged to hold every point of `mesh`."""
    if isinstance(coordinate_map, BoxMap):
        coords = coordinate_map(mesh.coords)
        lower, upper = np.minimum(coords.min(axis=0), 0.0), np.maximum(coords.max(axis=0), 0.5)
        return BoxChart(torch.tensor(lower), torch.tensor(upper))
    latitude, longitude = mesh.coords.T
    # Longitudes within half a turn of the middle of the domain: together never more than a circle.
    middle = (coordinate_map.west + coordinate_map.east) / 2
    longitude = middle + (longitude - middle + 180.0) % 360.0 - 180.0
    lower = [min(coordinate_map.south, latitude.min()), min(coordinate_map.west, longitude.min())]
    upper = [max(coordinate_map.north, latitude.max()), max(coordinate_map.east, longitude.max())]
    return SphereChart(*(torch.deg2rad(torch.tensor(end).double()) for end in (lower, upper)))
