"""Linear-quadratic dynamics as numbers, seen in coordinates in which energy is the plain norm.

    z = F α:    dz/dt = b + W z + [zᵀ Q⁽ⁱ⁾ z]_i,        V = ‖z - F m‖ = ‖F (α - m)‖

Every number comes with a bound of what rounding did to it on the way from the model's weights, so
that what is proved about the numbers is proved about the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import torch
from scipy.linalg import solve_triangular
from torch import Tensor

from smore.dynamics import ConservativeDynamics, FullQuadratic, QuadraticDynamics
from smore.stability._centre import Centre
from smore.stability._shift import shifted_system
from smore.stability.lyapunov import EPSILON, SAFETY, Enclosed, Metric
from smore.stability.stepping import Array, as_array


@dataclass(frozen=True, eq=False)
class QuadraticSystem:
    """The dynamics in the coordinates of a metric, and how far rounding may have moved them.

    Args:
        metric: F.
        bias: b (r,).
        linear: W (r, r).
        slices: symmetric Q⁽ⁱ⁾_jk (r, r, r), as (i, j, k).
        bias_error: bound of the error of `bias`, a Euclidean norm, and
        linear_error: of `linear` and
        slices_error: of `slices`, Frobenius norms.
        defect: η_Q, |Σ_i z_i zᵀ Q⁽ⁱ⁾ z| <= η_Q ‖z‖³, rounding included; 0 only if that is exact.
    """

    metric: Metric
    bias: Array
    linear: Array
    slices: Tensor
    bias_error: float
    linear_error: float
    slices_error: float
    defect: float

    @classmethod
    @torch.no_grad()
    def of(cls, dynamics: QuadraticDynamics) -> QuadraticSystem:
        """The dynamics in their own coordinates."""
        slices = dynamics.slices(slice(None)).to("cpu", torch.float64)
        error = SAFETY * dynamics.dim * EPSILON * float(dynamics.magnitude)
        return cls(
            metric=Metric("the norm of the latents", np.eye(dynamics.dim)),
            bias=as_array(dynamics.bias),
            linear=as_array(dynamics.linear),
            slices=slices,
            bias_error=0.0,
            linear_error=0.0,
            slices_error=error,
            defect=0.0 if _conserves_exactly(dynamics, slices) else cyclic_defect(slices, error),
        )

    def in_metric(self, metric: Metric) -> QuadraticSystem:
        """The same system, in its own coordinates so far, in those of another metric."""
        forth, dim = metric.factor, len(self.bias)
        back = solve_triangular(forth, np.eye(dim))
        linear, linear_error = metric.transform(self.linear)
        slices = np.einsum("il,lmn->imn", forth, self.slices.numpy(), optimize=True)
        slices = slices @ back
        slices = (slices.transpose(0, 2, 1) @ back).transpose(0, 2, 1)
        symmetric = torch.from_numpy((slices + slices.transpose(0, 2, 1)) / 2)
        forth_size, back_size = np.linalg.norm(forth), np.linalg.norm(back)
        unit = SAFETY * dim * EPSILON * metric.condition
        stretch = float(forth_size * back_size**2)
        error = stretch * (unit * float(self.slices.norm()) + self.slices_error)
        return QuadraticSystem(
            metric=metric,
            bias=forth @ self.bias,
            linear=linear,
            slices=symmetric,
            bias_error=float(unit * forth_size * np.linalg.norm(self.bias)),
            linear_error=linear_error,
            slices_error=error,
            defect=cyclic_defect(symmetric, error),
        )

    def about(self, shift: Array) -> Centre:
        """The system seen from a centre m = `shift` (r,) of the model's own coordinates."""
        dim, place = len(self.bias), self.metric.factor @ shift
        found = shifted_system(
            torch.as_tensor(self.bias),
            torch.as_tensor(self.linear),
            self.slices,
            torch.as_tensor(place),
        )
        unit = SAFETY * dim * EPSILON
        far = float(np.linalg.norm(place))
        # F m was rounded too, unless F is the identity.
        moved = unit * float(np.linalg.norm(self.metric.factor) * np.linalg.norm(shift))
        moved = 0.0 if self.metric.is_identity else moved
        linear, quadratic = float(np.linalg.norm(self.linear)), float(self.slices.norm())
        size = linear + 2 * quadratic * far
        error = 2 * unit * size + self.linear_error + 2 * self.slices_error * far
        error += 2 * quadratic * moved
        forcing = float(found.forcing.norm())
        forcing += unit * (float(np.linalg.norm(self.bias)) + size * far) + self.bias_error
        forcing += self.linear_error * far + self.slices_error * far**2 + size * moved
        return Centre(
            shift=shift,
            forcing=forcing,
            growth=Enclosed(found.growth, error),
            defect=self.defect,
            size=size,
        )


def cyclic_defect(slices: Tensor, error: float = 0.0) -> float:
    """η_Q = ‖T‖ / 3, T_ijk = Q⁽ⁱ⁾_jk + Q⁽ᵏ⁾_ij + Q⁽ʲ⁾_ki (paper, equation cyclic_defect_tensor).

    Args:
        slices: symmetric Q⁽ⁱ⁾_jk (r, r, r).
        error: bound of their error, Frobenius norm: T is three of them.
    """
    total = slices + slices.permute(1, 2, 0) + slices.permute(2, 0, 1)
    rounding = SAFETY * EPSILON * float(slices.norm())
    return (float(total.norm()) + rounding) / 3 + error


def _conserves_exactly(dynamics: QuadraticDynamics, slices: Tensor) -> bool:
    """Whether Σ_i α_i αᵀ Q⁽ⁱ⁾ α is zero for every α, in exact arithmetic."""
    if isinstance(dynamics, ConservativeDynamics):
        return True
    if float(dynamics.magnitude) == 0:
        return True
    rounding = SAFETY * dynamics.dim * EPSILON * float(slices.norm())
    if not isinstance(dynamics, FullQuadratic) or cyclic_defect(slices) > rounding:
        return False
    # As far as rounded sums can tell. fsum does not round before the end: a zero of it is one.
    tensor = as_array(dynamics.tensor)
    orders = np.stack([tensor.transpose(order) for order in permutations(range(3))], axis=-1)
    return all(
        math.fsum(terms) == 0
        for i, rows in enumerate(orders)
        for terms in rows[i:, i:][np.triu_indices(dynamics.dim - i)].tolist()
    )
