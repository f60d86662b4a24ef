"""Suprema of what a filter network decodes, proved by its values at Chebyshev points.

A function f of parameters in a box that is analytic around it is nearly a polynomial. Let ‖f‖ be at
most M(ρ) where each parameter is in the Bernstein ellipse of its interval whose half axes add up to
ρ_i. Then the coefficients of its Chebyshev series are at most 2ᵈ M(ρ) Π ρ_i^(-k_i), and for the
polynomial p of the terms up to degrees n_i, whatever ρ is, another one for each i if need be,

    ‖f - p‖ <= ε = Σ_i 2ᵈ M(ρ) ρ_i^(-n_i) / (ρ_i - 1) Π_{j≠i} ρ_j / (ρ_j - 1).

Between the m_i > n_i Chebyshev points of every axis a polynomial is hardly larger than at these
(Ehlich and Zeller, 1964), max ‖p‖ <= C max over points ‖p‖ with C = Π_i 1 / cos(π n_i / 2 m_i), so

    sup ‖f‖ <= C (max over points ‖f‖ + ε) + ε.

For a network M follows from the weights. Layer l contributes y_l b_l to c₀ and y_l M_l to J₀, where
y_l is a product of the filters from the last to l with matrices between them. A filter sin z is at
most exp |Im z|, so ‖y_l‖ is at most the product of the matrix norms times exp of the sum of the
imaginary parts of its filters' phases. The same amplitudes say what rounding may be.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from smore.decoder import FilterNetwork

# How many Chebyshev points for every degree are tried: C is 1.005 for an axis with the first.
FOR_A_DEGREE = (16, 12, 8, 6, 4, 3)
# More than the last where features at all points are no more numbers than this.
CHEAP = 2**28
# ε is at most this share of what was seen, or of what is nothing beside the larger of the two.
NEARLY, NEGLIGIBLE = 1e-4, 1e-6
# Sums of half axes of the ellipses that are tried, and a degree that is too much for anybody.
ELLIPSES = torch.logspace(0.002, 1.5, 300, dtype=torch.float64)
MOST_DEGREE = 10**7
# Points that are looked at together.
CHUNK = 2**12
# Points at which decoders are looked at of which nothing can be proved.
SAMPLED = 2**14

# From places (points, d) to the largest norms (2,) of offset and modes there.
Largest = Callable[[Tensor], Tensor]
# From bounds of ‖y_l‖ (ellipses,) for every layer to those of offset and modes (2, ellipses).
Amplitudes = Callable[[list[Tensor]], Tensor]


@dataclass(frozen=True, eq=False)
class Chart(ABC):
    """A box [lower, upper] of parameters, and the part of space that it stands for."""

    lower: Tensor
    upper: Tensor

    @property
    def num_axes(self) -> int:
        return len(self.lower)

    @property
    def half(self) -> Tensor:
        """(axes,) half of the extent."""
        return (self.upper - self.lower) / 2

    def points(self, counts: list[int]) -> Tensor:
        """Parameters (points, axes) of the Chebyshev points of every axis."""
        axes = [
            low + size * (1 + torch.cos(math.pi * (torch.arange(count).double() + 0.5) / count))
            for low, size, count in zip(self.lower, self.half, counts, strict=True)
        ]
        return torch.cartesian_prod(*axes).view(-1, self.num_axes)

    @abstractmethod
    def place(self, parameters: Tensor) -> Tensor:
        """Decoder coordinates (points, d) of parameters (points, axes)."""

    @abstractmethod
    def highest(self, frequencies: Tensor) -> Tensor:
        """(axes,) how fast phases with `frequencies` (filters, d) can change along each axis."""

    @abstractmethod
    def imaginary(self, frequency: Tensor, heights: Tensor) -> Tensor:
        """(...) largest |Im| of such phases where parameters have |Im| of `heights` (..., axes)."""


class BoxChart(Chart):
    """Parameters are the decoder's coordinates."""

    def place(self, parameters: Tensor) -> Tensor:
        return parameters

    def highest(self, frequencies: Tensor) -> Tensor:
        return frequencies.abs().amax(0)

    def imaginary(self, frequency: Tensor, heights: Tensor) -> Tensor:
        return heights @ frequency


class SphereChart(Chart):
    """Parameters are latitude and longitude in radians.

    A latitude φ + iη turns the unit vector by η into the imaginary, a longitude by λ + iκ likewise,
    and together the imaginary part of the vector is at most sinh(η + κ) long.
    """

    def place(self, parameters: Tensor) -> Tensor:
        latitude, longitude = parameters.unbind(-1)
        across = latitude.cos()
        return torch.stack(
            [across * longitude.cos(), across * longitude.sin(), latitude.sin()], dim=-1
        )

    def highest(self, frequencies: Tensor) -> Tensor:
        return frequencies.norm(dim=1).max().expand(2)

    def imaginary(self, frequency: Tensor, heights: Tensor) -> Tensor:
        return frequency[0] * torch.sinh(heights.sum(-1))


@dataclass(frozen=True)
class Suprema:
    """What is known of the largest norms of offset and modes.

    Args:
        peaks: (2,) the largest seen.
        bound: (2,) of all; infinite if nothing is proved.
        num_points: where they were looked at.
    """

    peaks: Tensor
    bound: Tensor
    num_points: int


def suprema(
    decoder: FilterNetwork,
    chart: Chart,
    amplitudes: Amplitudes,
    largest: Largest,
    seen: Tensor,
    most: int,
) -> Suprema:
    """Of a network over a chart.

    Args:
        decoder: in float64.
        chart: where.
        amplitudes: of offset and modes, from those of the layers' features.
        largest: norms of offset and modes at places.
        seen: (2,) largest norms known already.
        most: points that may be looked at.
    """
    layers = list(_layers(decoder, chart))
    real = amplitudes([size.view(1) for size, _ in layers])[:, 0]
    counts = None
    if bool((seen + real).isfinite().all()):  # weights may have diverged
        degrees, missed = _degrees(chart, layers, amplitudes, seen)
        counts = _counts(degrees, most, CHEAP // decoder.num_features)
    if counts is None:
        return sampled(chart, largest, seen, min(most, SAMPLED))
    found = sampled(chart, largest, seen, counts)
    spread = math.prod(
        1 / math.cos(math.pi * degree / (2 * count))
        for degree, count in zip(degrees, counts, strict=True)
    )
    bound = spread * (found.peaks + missed) + missed + _rounding(decoder, chart, layers) * real
    return Suprema(found.peaks, bound, found.num_points)


def sampled(chart: Chart, largest: Largest, seen: Tensor, counts: list[int] | int) -> Suprema:
    """The largest norms at Chebyshev points, so many along each axis or about so many in all."""
    if isinstance(counts, int):
        counts = [max(2, int(counts ** (1 / chart.num_axes) + 1e-9))] * chart.num_axes
    points = chart.points(counts)
    peaks = seen
    for some in points.split(CHUNK):
        peaks = torch.maximum(peaks, largest(chart.place(some)))
    return Suprema(peaks, torch.full((2,), torch.inf, dtype=torch.float64), len(points))


def _rounding(decoder: FilterNetwork, chart: Chart, layers: list[tuple[Tensor, Tensor]]) -> float:
    """What sums of products in float64 and phases may be off by, as a share of the amplitudes."""
    # The largest elements of |W| z may be √h times what ‖W‖ says.
    sums = decoder.num_features * math.sqrt(len(decoder.output_weight))
    reach = 1 + torch.maximum(chart.lower.abs(), chart.upper.abs())
    phases = max(float(frequency @ reach) for _, frequency in layers)
    return torch.finfo(torch.float64).eps * (sums + phases)


def _layers(decoder: FilterNetwork, chart: Chart) -> Iterator[tuple[Tensor, Tensor]]:
    """From first to last: a bound of ‖y_l‖ at real places, the highest frequencies (axes,)."""
    found = []
    size = decoder.output_weight.norm()
    frequency = torch.zeros(chart.num_axes, dtype=torch.float64)
    for layer in reversed(range(len(decoder.frequencies))):
        frequency = frequency + chart.highest(decoder.filter_scale * decoder.frequencies[layer])
        found.append((size, frequency))
        if layer:
            size = size * torch.linalg.matrix_norm(decoder.weights[layer - 1], 2)
    return reversed(found)


def _degrees(
    chart: Chart, layers: list[tuple[Tensor, Tensor]], amplitudes: Amplitudes, seen: Tensor
) -> tuple[list[int], Tensor]:
    """n_i for every axis so that ε is small beside what was seen, and ε (2,)."""
    fastest = torch.stack([frequency for _, frequency in layers]).amax(0)
    # Along other axes an ellipse in which waves hardly grow.
    narrow = 1 + 1 / (1 + fastest * chart.half)
    counted = seen.clamp(min=NEGLIGIBLE * float(seen.max()) + 1e-300)
    enough = (NEARLY / chart.num_axes * counted).log()
    degrees, missed = [], torch.zeros(2, dtype=torch.float64)
    for axis in range(chart.num_axes):
        sums = narrow.repeat(len(ELLIPSES), 1)
        sums[:, axis] = ELLIPSES
        heights = chart.half * (sums - 1 / sums) / 2
        grown = amplitudes(
            [size * chart.imaginary(frequency, heights).exp() for size, frequency in layers]
        )
        others = (sums / (sums - 1)).log().sum(1) - (ELLIPSES / (ELLIPSES - 1)).log()
        logs = grown.log() + chart.num_axes * math.log(2) + others - (ELLIPSES - 1).log()
        logs = logs.nan_to_num(nan=math.inf, posinf=math.inf)  # nothing times what overflows
        wanted = ((logs - enough[:, None]) / ELLIPSES.log()).amin(1).max()
        degree = math.ceil(float(wanted.clamp(min=0, max=MOST_DEGREE)))
        degrees.append(degree)
        missed += (logs - degree * ELLIPSES.log()).amin(1).exp()
    return degrees, missed


def _counts(degrees: list[int], most: int, cheap: int) -> list[int] | None:
    """Points of every axis: as many for a degree as are cheap; None if the fewest are too many."""
    for times in FOR_A_DEGREE:
        counts = [max(1, times * degree) for degree in degrees]
        if math.prod(counts) <= (most if times == FOR_A_DEGREE[-1] else min(most, cheap)):
            return counts
    return None
