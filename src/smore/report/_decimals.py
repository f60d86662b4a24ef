"""Numbers kept to the digits that are shown, in 16 bits each.

A picture needs 256 colours, a reader wants a number. So every frame is kept as whole multiples of a
power of ten, the smallest for which 16 bits suffice: four digits or more of its range, and what the
page shows is the number rounded to these digits, not something close to it.
"""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = 2**16 - 1
LARGEST_CODE = MISSING - 1
# Digits of a double, and those of a frame that has one value everywhere.
MOST_DIGITS, DIGITS_OF_CONSTANT = 15, 6
# Whatever is smaller is shown as zero.
TINY = 1e-280


@dataclass(frozen=True, eq=False)
class Decimals:
    """(first + code) · 10^exponent, frame by frame.

    Args:
        codes: (frames, points) uint16, MISSING where there is no number.
        first: (frames,) whole numbers.
        exponent: (frames,) whole numbers.
    """

    codes: NDArray[np.uint16]
    first: tuple[int, ...]
    exponent: tuple[int, ...]

    @classmethod
    def of(cls, values: NDArray[np.floating]) -> Decimals:
        """Of values (frames, points); what is not finite is missing."""
        frames = [_frame(np.asarray(frame, dtype=np.float64)) for frame in values]
        codes, first, exponent = zip(*frames, strict=True)
        return cls(np.stack(codes), first, exponent)

    def values(self) -> NDArray[np.float64]:
        """(frames, points) what is shown; NaN where nothing is."""
        first = np.array(self.first, dtype=np.float64)[:, None]
        unit = np.array([10.0**each for each in self.exponent])[:, None]
        return np.where(self.codes == MISSING, np.nan, (first + self.codes) * unit)

    def to_json(self) -> dict[str, Any]:
        """For the page; codes as base64 of little-endian bytes."""
        return {
            "codes": encoded(self.codes, "<u2"),
            "first": list(self.first),
            "exponent": list(self.exponent),
        }


def _frame(values: NDArray[np.float64]) -> tuple[NDArray[np.uint16], int, int]:
    known = np.isfinite(values)
    codes = np.full(values.shape, MISSING, dtype=np.uint16)
    if not known.any():
        return codes, 0, 0
    low, high = float(values[known].min()), float(values[known].max())
    exponent = _exponent(low, high)
    whole = _multiples(values[known], exponent)
    if whole.max() - whole.min() > LARGEST_CODE:  # rounding at both ends
        exponent += 1
        whole = _multiples(values[known], exponent)
    first = int(whole.min())
    codes[known] = (whole - first).astype(np.uint16)
    return codes, first, exponent


def _exponent(low: float, high: float) -> int:
    """The smallest power of ten whose multiples reach from `low` to `high` in 16 bits."""
    size = max(abs(low), abs(high))
    if size < TINY:
        return 0
    coarsest = math.floor(math.log10(size)) + 1
    if high == low:
        return coarsest - DIGITS_OF_CONSTANT
    return max(math.ceil(math.log10((high - low) / LARGEST_CODE)), coarsest - MOST_DIGITS)


def _multiples(values: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Of 10^exponent, whole; divided by an exact power, which multiplying by 0.001 is not."""
    return np.rint(values * 10.0**-exponent if exponent < 0 else values / 10.0**exponent)


def encoded(values: NDArray, kind: str) -> str:
    """Base64 of an array as numbers of a kind."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
