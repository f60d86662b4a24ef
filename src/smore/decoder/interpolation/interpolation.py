"""What every interpolation does: coefficients for values at nodes, and weights for a place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Interpolation(ABC):
    """u(x) = Σ_k w_k(x) c_k with few weights at a place, none negative, which sum to 1.

    Being convex combinations, no field exceeds its coefficients: that is what proves suprema.

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

        Places outside the mesh have the values of its border.

        Returns:
            Two (points, few) arrays.
        """

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Nothing about it ever changes."""
        return self
