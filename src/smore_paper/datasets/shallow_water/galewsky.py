"""The barotropically unstable jet of Galewsky, Scott & Polvani (2004), in both hemispheres."""

import numpy as np
from numpy.typing import NDArray

from smore_paper.datasets.shallow_water.earth import GRAVITY
from smore_paper.datasets.shallow_water.equations import ShallowWaterEquations
from smore_paper.datasets.shallow_water.sphere import Coefficients

Array = NDArray[np.float64]

EQUATORWARD_EDGE = np.pi / 7
POLEWARD_EDGE = np.pi / 2 - EQUATORWARD_EDGE
BUMP_LATITUDE = np.pi / 4
BUMP_WIDTH_EAST = 1 / 3
BUMP_WIDTH_NORTH = 1 / 15


def jet(latitude: Array, speed: float) -> Array:
    """u(φ) = (u_max/e) exp(1 / ((|φ| - φ₀)(|φ| - φ₁))) between the edges φ₀ and φ₁, else 0.

    Args:
        latitude: φ in radians, any shape.
        speed: u_max; e makes it the speed at the jet's centre.

    Returns:
        The eastward wind, the same in both hemispheres.
    """
    product = (abs(latitude) - EQUATORWARD_EDGE) * (abs(latitude) - POLEWARD_EDGE)
    inside = product < 0
    peak = np.exp(-4 / (POLEWARD_EDGE - EQUATORWARD_EDGE) ** 2)
    return speed / peak * np.exp(1 / np.where(inside, product, -np.inf)) * inside


def bump(latitude: Array, longitude: Array, height: float) -> Array:
    """ĥ cos φ exp(-(λ/α)² - ((φ₂ - |φ|)/β)²): a bump at φ₂ north, and one at φ₂ south."""
    east = np.mod(longitude + np.pi, 2 * np.pi) - np.pi
    distance = (abs(latitude) - BUMP_LATITUDE) / BUMP_WIDTH_NORTH
    return height * np.cos(latitude) * np.exp(-((east / BUMP_WIDTH_EAST) ** 2) - distance**2)


def initial_state(equations: ShallowWaterEquations, speed: float, height: float) -> Coefficients:
    """Two jets in balance with their height field, and a bump on each.

    Args:
        equations: of which the jets are a steady, unstable solution.
        speed: u_max, in radii per hour.
        height: ĥ of the bumps, in radii.

    Returns:
        The state (ζ, δ, Φ), (3, modes).
    """
    sphere = equations.sphere
    latitude, longitude = np.meshgrid(sphere.latitude, sphere.longitude, indexing="ij")
    eastward = jet(latitude, speed)
    _, vorticity = sphere.divergence_and_vorticity(np.stack([np.zeros_like(eastward), eastward]))
    state = equations.balanced(vorticity)
    state[2] += GRAVITY * sphere.analysis(bump(latitude, longitude, height))
    return state
