"""Linear elements on triangles: the few matrices that both problems are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from smore_paper.datasets.unstructured.shapes import Array


@dataclass(frozen=True, eq=False)
class Elements:
    """Functions that are linear on each triangle, by their values at points.

    Args:
        points: (points, 2).
        triangles: (triangles, 3).
    """

    points: Array
    triangles: NDArray[np.int64]

    @cached_property
    def areas(self) -> Array:
        (x1, y1), (x2, y2) = (self._sides[:, side].T for side in (0, 1))
        return (x1 * y2 - x2 * y1) / 2

    @property
    def _sides(self) -> Array:
        corners = self.points[self.triangles]
        return corners[:, 1:] - corners[:, :1]

    @cached_property
    def gradients(self) -> Array:
        """(triangles, 3, 2) of the function that is 1 at a corner."""
        corners = self.points[self.triangles]
        opposite = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)
        turned = np.stack([-opposite[..., 1], opposite[..., 0]], axis=-1)
        return turned / (2 * self.areas)[:, None, None]

    @cached_property
    def mass(self) -> csr_matrix:
        """∫ u v."""
        local = (np.ones((3, 3)) + np.eye(3)) / 12
        return self._assembled(self.areas[:, None, None] * local)

    @cached_property
    def stiffness(self) -> csr_matrix:
        """∫ ∇u·∇v."""
        products = np.einsum("tid,tjd->tij", self.gradients, self.gradients)
        return self._assembled(self.areas[:, None, None] * products)

    @cached_property
    def slopes(self) -> tuple[csr_matrix, csr_matrix]:
        """∫ ∂u/∂x v and ∫ ∂u/∂y v."""
        third = np.full(3, 1 / 3)
        x, y = (
            self._assembled(
                self.areas[:, None, None] * np.einsum("i,tj->tij", third, self.gradients[..., axis])
            )
            for axis in (0, 1)
        )
        return x, y

    def advection(self, velocity: Array) -> Array:
        """∫ (u·∇)u v of both components of a velocity (2, points)."""
        local = velocity[:, self.triangles]  # (2, triangles, 3)
        slope = np.einsum("cti,tid->tcd", local, self.gradients)
        # ∫ u v over a triangle, with u linear.
        weighted = (local.sum(axis=2, keepdims=True) + local) * self.areas[:, None] / 12
        terms = np.einsum("tcd,dti->cti", slope, weighted)
        count = len(self.points)
        return np.stack(
            [np.bincount(self.triangles.ravel(), each.ravel(), minlength=count) for each in terms]
        )

    def _assembled(self, local: Array) -> csr_matrix:
        rows = np.repeat(self.triangles, 3, axis=1).ravel()
        columns = np.tile(self.triangles, (1, 3)).ravel()
        size = len(self.points)
        return csr_matrix((local.ravel(), (rows, columns)), shape=(size, size))
