"""Heat in an L with a slit: ∂u/∂t = κ Δu, cold on the right and on top, insulated elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from smore_paper.datasets.unstructured.elements import Elements
from smore_paper.datasets.unstructured.shapes import Array

NUM_BLOBS = 4


@dataclass(frozen=True)
class HeatOptions:
    """What is simulated.

    Args:
        conductivity: κ.
        step: between snapshots.
        num_times: snapshots.
        substeps: of Crank-Nicolson, for every step.
        damped: first substeps that are two halves of implicit Euler each (Rannacher): the initial
            state jumps at the cold sides, where Crank-Nicolson rings, on every mesh in its own way.
        fineness: of the mesh, see `triangulated`.
    """

    conductivity: float = 0.1
    step: float = 0.05
    num_times: int = 25
    substeps: int = 5
    damped: int = 2
    fineness: float = 1.0


def simulate_heat(
    points: Array, triangles: NDArray[np.int64], seed: int, options: HeatOptions
) -> tuple[Array, Array]:
    """Times (times,) and temperatures (times, points), by linear elements.

    In time Crank-Nicolson's method with a damped start.

    Args:
        points, triangles: the mesh.
        seed: of the blobs of heat at the beginning, which do not depend on the mesh.
        options: what is simulated.
    """
    elements = Elements(points, triangles)
    inner = np.flatnonzero((points < 2 - 1e-9).all(axis=1))
    half = options.step / options.substeps / 2 * options.conductivity * elements.stiffness
    ahead, behind = elements.mass + half, elements.mass - half
    solve = splu(ahead[inner][:, inner].tocsc()).solve
    field = np.zeros(len(points))
    field[inner] = initial_heat(points, seed)[inner]
    found = [field]
    for number in range(options.num_times - 1):
        for substep in range(options.substeps):
            early = number * options.substeps + substep < options.damped
            for operator in [elements.mass] * 2 if early else [behind]:  # both solve with `ahead`
                right, field = operator @ field, np.zeros_like(field)
                field[inner] = solve(right[inner])
        found.append(field)
    times: Array = options.step * np.arange(options.num_times, dtype=float)
    return times, np.stack(found)


def initial_heat(points: Array, seed: int) -> Array:
    """Blobs of heat and of cold at random places of the L."""
    random = np.random.default_rng(seed)
    field = np.zeros(len(points))
    for _ in range(NUM_BLOBS):
        centre = random.uniform(0.1, 1.9, size=2)
        if (centre > 1).all():
            centre[random.integers(2)] -= 1
        width, height = random.uniform(0.25, 0.5), random.normal()
        field += height * np.exp(-((points - centre) ** 2).sum(axis=1) / (2 * width**2))
    return field
