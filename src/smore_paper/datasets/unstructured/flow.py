"""Flow past two cylinders in a channel: unsteady, incompressible, with vortices behind them.

Linear elements for velocity and pressure, which a projection without increments keeps stable
(Guermond, Minev, Shen 2006); advection by Adams-Bashforth, viscosity implicitly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import splu

from smore_paper.datasets.unstructured.elements import Elements
from smore_paper.datasets.unstructured.shapes import CHANNEL, Array, channel_sides


@dataclass(frozen=True)
class FlowOptions:
    """What is simulated: inflow of mean speed 1, in seconds and metres.

    With half as many cells the vortices on two meshes drift apart by more than forecasts do.
    """

    viscosity: float = 0.0025
    time_step: float = 0.002
    every: int = 30
    spin_up: int = 6000
    num_times: int = 100
    fineness: float = 1.5


def simulate_flow(
    points: Array, triangles: NDArray[np.int64], options: FlowOptions
) -> tuple[Array, Array]:
    """Times (times,) and velocities (times, 2, points)."""
    solver = _Solver(Elements(points, triangles), options)
    found = []
    for step in range(options.spin_up + options.every * (options.num_times - 1) + 1):
        if step >= options.spin_up and (step - options.spin_up) % options.every == 0:
            found.append(solver.velocity.copy())
        solver.advance()
    times: Array = options.time_step * options.every * np.arange(options.num_times, dtype=float)
    return times, np.stack(found)


class _Solver:
    """Velocity (2, points) on one mesh."""

    def __init__(self, elements: Elements, options: FlowOptions) -> None:
        self.elements, self.step = elements, options.time_step
        x, y = elements.points.T
        wide = CHANNEL[1]
        inlet, outlet, walls = channel_sides(elements.points)
        profile = 6 * y * (wide - y)
        self.given = np.zeros((2, len(x)))
        self.given[0, inlet] = profile[inlet]
        self.free = np.flatnonzero(~(inlet | walls))
        self.matrix: csr_matrix = elements.mass / self.step + options.viscosity * elements.stiffness
        self.solve = splu(self.matrix[self.free][:, self.free].tocsc()).solve
        self.lumped = np.asarray(elements.mass.sum(axis=1)).ravel()
        self.pressed = np.flatnonzero(~outlet)
        poisson = elements.stiffness[self.pressed][:, self.pressed]
        self.relax = splu(poisson.tocsc()).solve
        self.velocity = self.given.copy()
        self.velocity[0, self.free] = profile[self.free]
        # What makes the first vortices leave on one side.
        self.velocity[1, self.free] = 0.1 * np.sin(2 * np.pi * x[self.free])
        self.before: Array | None = None

    def advance(self) -> None:
        """One step."""
        now = self.elements.advection(self.velocity)
        advection = now if self.before is None else 1.5 * now - 0.5 * self.before
        self.before = now
        right = (self.elements.mass @ self.velocity.T).T / self.step - advection
        right -= (self.matrix @ self.given.T).T
        tentative = self.given.copy()
        tentative[:, self.free] = self.solve(right[:, self.free].T).T
        # ∫ ∇p·∇q = -1/Δt ∫ q ∇·u
        slopes = self.elements.slopes
        divergence = slopes[0] @ tentative[0] + slopes[1] @ tentative[1]
        pressure = np.zeros(len(divergence))
        pressure[self.pressed] = self.relax(-divergence[self.pressed] / self.step)
        for axis, slope in enumerate(slopes):
            drop = self.step * (slope @ pressure) / self.lumped
            tentative[axis, self.free] -= drop[self.free]
        self.velocity = tentative
