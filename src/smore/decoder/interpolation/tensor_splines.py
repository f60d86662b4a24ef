"""Cubic splines along every axis of a grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, make_interp_spline

from smore.decoder.interpolation.interpolation import FloatArray, Interpolation

DEGREE = 3


class TensorSplines(Interpolation):
    """The tensor product of splines along the axes of a grid.

    Args:
        axes: the places of nodes along each axis, rising.
        source: (nodes along each axis) which point of the mesh has the values of a node. A point
            may serve several: around a globe the grid goes on where it began.
        locate: from decoder coordinates (points, d) to places along the axes (points, axes).
    """

    def __init__(
        self,
        axes: tuple[FloatArray, ...],
        source: NDArray[np.intp],
        locate: Callable[[FloatArray], FloatArray],
    ) -> None:
        self.axes, self.source, self.locate = axes, source, locate
        self.degrees = [min(DEGREE, len(axis) - 1) for axis in axes]
        self.knots = [
            make_interp_spline(axis, np.zeros(len(axis)), k=degree).t
            for axis, degree in zip(axes, self.degrees, strict=True)
        ]
        self.num_nodes = int(source.max()) + 1
        self.num_coefficients = source.size

    def coefficients(self, values: FloatArray) -> FloatArray:
        grid = values[self.source]
        for dim, (axis, degree) in enumerate(zip(self.axes, self.degrees, strict=True)):
            spline = make_interp_spline(axis, grid, k=degree, axis=dim)
            grid = np.moveaxis(spline.c, 0, dim)
        return np.ascontiguousarray(grid).reshape(self.num_coefficients, -1)

    def weights(self, coords: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        places = self.locate(coords)
        index, weight = np.zeros((len(coords), 1), np.int64), np.ones((len(coords), 1))
        for axis, knots, degree, along in zip(
            self.axes, self.knots, self.degrees, places.T, strict=True
        ):
            rows = BSpline.design_matrix(np.clip(along, axis[0], axis[-1]), knots, degree)
            own = rows.indices.astype(np.int64).reshape(len(coords), 1, -1)
            index = (index[:, :, None] * len(axis) + own).reshape(len(coords), -1)
            share = rows.data.reshape(len(coords), 1, -1)
            weight = (weight[:, :, None] * share).reshape(len(coords), -1)
        return index, weight
