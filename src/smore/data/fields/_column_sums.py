"""What is known of columns after a single pass: moments, and checksums that tell changed values.

Everything is a sum over points, so pieces may come in any order and of any size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

POINTS_AT_ONCE = 2**16


class ColumnSums:
    """Mean, squared deviation and checksum of columns, of which pieces are added.

    Attributes:
        count: (columns,) points added so far.
        mean: (columns,) float64.
        squares: (columns,) Σ (u - mean)², float64.
        checksum: (columns,) see `checksums`.
    """

    def __init__(self, num_columns: int) -> None:
        self.count = np.zeros(num_columns)
        self.mean = np.zeros(num_columns)
        self.squares = np.zeros(num_columns)
        self.checksum = np.zeros(num_columns, dtype=np.uint64)

    def add(self, column: int, values: NDArray[np.floating], keys: NDArray[np.uint64]) -> None:
        """Add values (columns, points) of columns from `column` on, at points of these keys."""
        rows, more = slice(column, column + len(values)), values.shape[1]
        mean = values.mean(axis=1, dtype=np.float64)
        anomaly = values - mean[:, None]
        # Two samples with different means vary about the common one by this much more.
        count = self.count[rows] + more
        gap = mean - self.mean[rows]
        between = gap**2 * (self.count[rows] * more / count)
        self.squares[rows] += np.einsum("kn,kn->k", anomaly, anomaly) + between
        self.mean[rows] += gap * (more / count)
        self.count[rows] = count
        self.checksum[rows] += checksums(values, keys)


def point_keys(points: NDArray[np.integer]) -> NDArray[np.uint64]:
    """An odd 64-bit number for each point number, as if random (SplitMix64)."""
    mixed = points.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


def checksums(values: NDArray, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Σ key · bits modulo 2⁶⁴ of every row of values (..., points): a multilinear hash.

    A sum over points; values that are zero do not count.
    """
    bits = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").astype(np.uint64)
    return np.einsum("...n,n->...", bits, keys)


def field_checksums(fields: NDArray) -> NDArray[np.uint64]:
    """The checksums (times, channels) of fields (times, channels, points) in memory."""
    total = np.zeros(fields.shape[:2], dtype=np.uint64)
    for start in range(0, fields.shape[2], POINTS_AT_ONCE):
        part = fields[..., start : start + POINTS_AT_ONCE]
        total += checksums(part, point_keys(np.arange(start, start + part.shape[2])))
    return total
