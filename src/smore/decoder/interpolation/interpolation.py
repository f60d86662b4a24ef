"""What every interpolation does: coefficients for values at nodes, and weights for a place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Interpolation(ABC):
    """u(x) = Σ_k w_k(x) c_k with few weights at a place, which sum to 1.

    Every field is everywhere a convex combination of its `bounding` values: that is what proves
    suprema. Where no weight is negative these are its coefficients.

    Attributes:
        num_nodes: points of the mesh.
        num_coefficients: how many c_k there are.
    """

    num_nodes: int
    num_coefficients: int

    @abstractmethod
    def coefficients(self, values: FloatArray) -> FloatArray:
        """c (num_coefficients, n) of fields with `values` (num_nodes, n) at the nodes."""

    @abstractmethod
    def weights(self, coords: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        """Which coefficients count at decoder coordinates (points, d), and how much.

        Places outside the mesh have about the values of its border.

        Returns:
            Two (points, few) arrays.
        """

    def bounding(self, coefficients: FloatArray) -> Iterator[FloatArray]:
        """Values (any number, n), some after others, that fields with `coefficients` are between.

        Args:
            coefficients: (num_coefficients, n).
        """
        yield coefficients

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Nothing about it ever changes."""
        return self
