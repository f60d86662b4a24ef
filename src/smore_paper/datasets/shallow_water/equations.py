"""The rotating shallow-water equations in vorticity-divergence form."""

import numpy as np
from numpy.typing import NDArray

from smore_paper.datasets.shallow_water.earth import GRAVITY, MEAN_DEPTH, ROTATION
from smore_paper.datasets.shallow_water.imex import ars222
from smore_paper.datasets.shallow_water.sphere import Coefficients, Sphere

Array = NDArray[np.float64]


class ShallowWaterEquations:
    """Dv/Dt = -f k × v - g ∇h + diffusion,   Dh/Dt = -h ∇·v + diffusion, on the Earth.

    With ζ = k·∇×v, δ = ∇·v and the geopotential g h = Φ₀ + Φ about its mean Φ₀,

        ∂ζ/∂t = -∇·((ζ + f) v)                              + D ζ
        ∂δ/∂t = k·∇×((ζ + f) v) - Δ|v|²/2       - ΔΦ        + D δ
        ∂Φ/∂t = -∇·(Φ v)                        - Φ₀ δ      + D Φ

    where the two columns on the right, gravity waves and diffusion, are implicit. The state is the
    array (ζ, δ, Φ) of coefficients, (3, modes), in units of the Earth's radius and the hour.

    Args:
        sphere: grid and harmonics.
        damping: the rate -D ≥ 0 at which each harmonic decays, (modes,).
    """

    def __init__(self, sphere: Sphere, damping: Array) -> None:
        self.sphere = sphere
        self.damping = damping
        self.coriolis = np.repeat(
            2 * ROTATION * np.sin(sphere.latitude)[:, None], sphere.longitude.size, axis=1
        )

    def tendency(self, state: Coefficients) -> Coefficients:
        """The explicit terms, (3, modes)."""
        vorticity, divergence, geopotential = state
        sphere = self.sphere
        velocity = sphere.vector(divergence, vorticity)
        spreading, turning = self._vorticity_flux(velocity, vorticity)
        outflow, _ = sphere.divergence_and_vorticity(sphere.synthesis(geopotential) * velocity)
        kinetic = sphere.analysis((velocity**2).sum(axis=0) / 2)
        return np.stack([-spreading, turning - sphere.laplacian * kinetic, -outflow])

    def solve(self, state: Coefficients, step: float) -> Coefficients:
        """(1 - step·L)⁻¹ of the implicit terms L: a 2 x 2 system for each harmonic."""
        vorticity, divergence, geopotential = state
        decay = 1 + step * self.damping
        wave, mean = step * self.sphere.laplacian, step * GRAVITY * MEAN_DEPTH
        determinant = decay**2 - wave * mean
        return np.stack(
            [
                vorticity / decay,
                (decay * divergence - wave * geopotential) / determinant,
                (decay * geopotential - mean * divergence) / determinant,
            ]
        )

    def advance(self, state: Coefficients, step: float, num_steps: int = 1) -> Coefficients:
        """The state `num_steps` steps of `step` hours later."""
        for _ in range(num_steps):
            state = ars222(state, step, self.tendency, self.solve)
        return state

    def balanced(self, vorticity: Coefficients) -> Coefficients:
        """The state without divergence whose ∂δ/∂t is zero: Φ = Δ⁻¹ k·∇×((ζ + f) v) - |v|²/2."""
        sphere = self.sphere
        still = np.zeros_like(vorticity)
        velocity = sphere.vector(still, vorticity)
        _, turning = self._vorticity_flux(velocity, vorticity)
        kinetic = sphere.analysis((velocity**2).sum(axis=0) / 2)
        geopotential = sphere.inverse_laplacian * turning - kinetic
        geopotential[0] = 0.0
        return np.stack([vorticity, still, geopotential])

    def _vorticity_flux(self, velocity: Array, vorticity: Coefficients) -> Coefficients:
        absolute = self.sphere.synthesis(vorticity) + self.coriolis
        return self.sphere.divergence_and_vorticity(absolute * velocity)
