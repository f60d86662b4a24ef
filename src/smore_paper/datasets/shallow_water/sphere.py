"""Scalar and vector fields on the unit sphere, by spherical harmonics."""

import numpy as np
from ducc0.misc import GL_thetas
from ducc0.sht.experimental import analysis_2d, synthesis_2d
from numpy.typing import NDArray

Array = NDArray[np.float64]
Coefficients = NDArray[np.complex128]


class Sphere:
    """Harmonics of degree 0..T on a Gauss-Legendre grid of n x 2n points, 3T < 2n.

    Rows run from the north to the south pole, columns eastward from the prime meridian. With that
    many points products of two fields are free of aliasing. Coefficients are those of real fields:
    orders m ≥ 0 only, one after the other, degrees m..T in each.

    Vector fields are (2, n, 2n), southward component first. With velocity potential χ and stream
    function ψ, v = ∇χ + k × ∇ψ, ∇·v = Δχ and k·∇×v = Δψ.

    Args:
        num_latitudes: n.
    """

    def __init__(self, num_latitudes: int) -> None:
        self.num_latitudes = num_latitudes
        self.truncation = (2 * num_latitudes - 1) // 3
        self.latitude: Array = np.pi / 2 - np.asarray(GL_thetas(num_latitudes))
        self.longitude: Array = np.pi * np.arange(2 * num_latitudes) / num_latitudes
        degree = np.concatenate(
            [np.arange(order, self.truncation + 1) for order in range(self.truncation + 1)]
        )
        self.laplacian: Array = -1.0 * degree * (degree + 1)
        self.inverse_laplacian: Array = np.zeros_like(self.laplacian)
        np.divide(1.0, self.laplacian, out=self.inverse_laplacian, where=degree > 0)
        # ‖∇Y_l‖ = √(l(l+1)): vector harmonics are normalised, gradients of harmonics are not.
        self._slope = np.sqrt(-self.laplacian)
        self._inverse_slope = np.sqrt(-self.inverse_laplacian)

    def analysis(self, field: Array) -> Coefficients:
        """Coefficients (modes,) of a scalar field (n, 2n)."""
        coefficients: Coefficients = analysis_2d(
            map=field[None], spin=0, lmax=self.truncation, geometry="GL"
        )
        return coefficients[0]

    def synthesis(self, coefficients: Coefficients) -> Array:
        """The scalar field (n, 2n) of coefficients (modes,)."""
        return self._synthesis(coefficients[None], spin=0)[0]

    def vector(self, divergence: Coefficients, vorticity: Coefficients) -> Array:
        """The vector field (2, n, 2n) with this divergence and vorticity."""
        potentials = -self._inverse_slope * np.stack([divergence, vorticity])
        return self._synthesis(potentials, spin=1)

    def divergence_and_vorticity(self, vector: Array) -> Coefficients:
        """∇·v and k·∇×v of a vector field (2, n, 2n): (2, modes)."""
        harmonics: Coefficients = analysis_2d(
            map=vector, spin=1, lmax=self.truncation, geometry="GL"
        )
        return -self._slope * harmonics

    def _synthesis(self, coefficients: Coefficients, spin: int) -> Array:
        fields: Array = synthesis_2d(
            alm=coefficients,
            spin=spin,
            lmax=self.truncation,
            ntheta=self.num_latitudes,
            nphi=2 * self.num_latitudes,
            geometry="GL",
        )
        return fields
