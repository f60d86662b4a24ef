"""The largest grid within a bound of memory, found by a few measurements.

Memory grows linearly with the number of points, so two small grids tell where the bound will be
reached. That grid is measured, which corrects the line, until one fits and the next does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from smore.errors import DataError


@dataclass(frozen=True)
class LargestGrid:
    """A grid that fits, and the next one, which does not.

    Attributes:
        grid: points along each side.
        peak: bytes measured there.
        next_grid: the next larger one.
        next_peak: bytes that it would take by the line; None if it was tried and went beyond.
    """

    grid: int
    peak: int
    next_grid: int
    next_peak: int | None


def largest_grid(
    measure: Callable[[int], int | None], bound: int, start: Sequence[int], step: int = 1
) -> LargestGrid:
    """Search for the largest n x n grid that takes at most `bound` bytes.

    Args:
        measure: bytes that n takes, or None beyond the bound.
        bound: bytes.
        start: small grids to begin with, increasing.
        step: n are multiples of it.

    Raises:
        DataError: not even two of the small grids fit.
    """
    fits: dict[int, int] = {}
    too_large = math.inf

    def fit(grid: int) -> bool:
        nonlocal too_large
        peak = measure(grid)
        if peak is None or peak > bound:
            too_large = grid
            return False
        fits[grid] = peak
        return True

    if not all(fit(grid) for grid in start) and len(fits) < 2:
        raise DataError(
            f"grids of {start[0]} and {start[1]} points a side do not fit into "
            f"{bound / 1e9:.3g} GB; give more memory with --bound"
        )
    while True:
        best = max(fits)
        level, slope = _line(fits)
        grid = step * int(math.sqrt(max(bound - level, 0) / slope) / step)
        if grid >= too_large:  # the line is wrong: halve what is left
            grid = best + step * int((too_large - best) / (2 * step))
        if grid <= best:
            break
        fit(grid)
    following = best + step
    expected = None if following == too_large else round(level + slope * following**2)
    return LargestGrid(best, fits[best], following, expected)


def _line(fits: Mapping[int, int]) -> tuple[float, float]:
    """Bytes without any points, and for each: by the two largest grids."""
    small, large = sorted(fits)[-2:]
    slope = (fits[large] - fits[small]) / (large**2 - small**2)
    return fits[large] - slope * large**2, max(slope, 1e-9)
