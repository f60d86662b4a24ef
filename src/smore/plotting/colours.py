"""Which colours show a field, such that everybody can tell them apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Of fields with both signs (white is zero), of other fields, and of what is best when it is zero.
DIVERGING, SEQUENTIAL, OF_ERRORS = "RdBu_r", "viridis", "magma"
# A field has both signs if the smaller of its extremes is at least this share of the larger.
COMPARABLE = 0.2
LEAST = 1e-30


@dataclass(frozen=True)
class Colours:
    """A map of colours and the values at its ends."""

    name: str
    low: float
    high: float

    @property
    def ink(self) -> str:
        """A grey that is seen on these colours."""
        return "0.7" if self.name == OF_ERRORS else "0.15"

    @property
    def limits(self) -> tuple[float, float]:
        return self.low, self.high


def field_colours(values: NDArray[np.floating]) -> Colours:
    """Centred on zero for fields that have both signs, from lowest to highest for others."""
    low, high = extremes(values)
    if low < 0 < high and min(-low, high) >= COMPARABLE * max(-low, high):
        return Colours(DIVERGING, -max(-low, high), max(-low, high))
    return Colours(SEQUENTIAL, low, high)


def signed_colours(values: NDArray[np.floating]) -> Colours:
    """Centred on zero, whatever the values: of departures from a mean, modes for instance."""
    largest = max(map(abs, extremes(values)))
    return Colours(DIVERGING, -max(largest, LEAST), max(largest, LEAST))


def error_colours(values: NDArray[np.floating], most: float = np.inf) -> Colours:
    """From zero on; errors beyond `most` must not hide the others."""
    return Colours(OF_ERRORS, 0.0, max(min(extremes(values)[1], most), LEAST))


def extremes(values: NDArray[np.floating]) -> tuple[float, float]:
    """Lowest and highest known value; (0, 1) where nothing is known."""
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
