"""Flow past two cylinders in a channel: unsteady, incompressible, with vortices behind them.

Taylor-Hood elements; pressure by projection, in increments; advection by Adams-Bashforth, viscosity
implicitly (Guermond, Minev, Shen 2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from smore_paper.datasets.unstructured.shapes import CHANNEL, Array


@dataclass(frozen=True)
class FlowOptions:
    """What is simulated: inflow of mean speed 1, in seconds and metres."""

    viscosity: float = 0.0025
    time_step: float = 0.005
    every: int = 12
    spin_up: int = 3600
    num_times: int = 100


def simulate_flow(
    points: Array, triangles: NDArray[np.int64], options: FlowOptions
) -> tuple[Array, Array]:
    """Times (times,) and velocities (times, 2, points)."""
    solver = _Solver(points, triangles, options)
    found = []
    for step in range(options.spin_up + options.every * (options.num_times - 1) + 1):
        if step >= options.spin_up and (step - options.spin_up) % options.every == 0:
            found.append(solver.velocity[:, solver.vertices].copy())
        solver.advance()
    times = options.time_step * options.every * np.arange(options.num_times)
    return times, np.stack(found)


class _Solver:
    """Velocity and pressure on one mesh."""

    def __init__(self, points: Array, triangles: NDArray[np.int64], options: FlowOptions) -> None:
        from skfem import Basis, BilinearForm, ElementTriP1, ElementTriP2, MeshTri
        from skfem.helpers import dot, grad
        from skfem.models.poisson import laplace, mass

        mesh = MeshTri(points.T.copy(), triangles.T.copy())
        self.speeds = Basis(mesh, ElementTriP2(), intorder=4)
        self.pressures = self.speeds.with_element(ElementTriP1())
        self.vertices = self.speeds.nodal_dofs[0]
        self.step = options.time_step
        weight = mass.assemble(self.speeds)
        viscous = options.viscosity * laplace.assemble(self.speeds)

        @BilinearForm
        def slope_x(pressure, test, _):  # noqa: ANN001, ANN202
            return grad(pressure)[0] * test

        @BilinearForm
        def slope_y(pressure, test, _):  # noqa: ANN001, ANN202
            return grad(pressure)[1] * test

        self.slopes = [form.assemble(self.pressures, self.speeds) for form in (slope_x, slope_y)]
        x, y = self.speeds.doflocs
        far, wide = CHANNEL
        outer = self.speeds.get_dofs().all()
        out = x[outer] > far - 1e-9
        self.fixed = outer[~out | (np.minimum(y[outer], wide - y[outer]) < 1e-9)]
        self.free = np.setdiff1d(np.arange(len(x)), self.fixed)
        self.inflow = np.zeros((2, len(x)))
        entering = self.fixed[x[self.fixed] < 1e-9]
        self.inflow[0, entering] = 6 * y[entering] * (wide - y[entering])
        self.matrix = (weight / self.step + viscous).tocsr()
        self.weight = weight.tocsr()
        inner = np.ix_(self.free, self.free)
        self.solve = splu(self.matrix[inner].tocsc()).solve
        self.project = splu(self.weight[inner].tocsc()).solve
        open_end = np.flatnonzero(self.pressures.doflocs[0] > far - 1e-9)
        self.pressed = np.setdiff1d(np.arange(self.pressures.N), open_end)
        poisson = laplace.assemble(self.pressures).tocsr()
        self.relax = splu(poisson[np.ix_(self.pressed, self.pressed)].tocsc()).solve
        self.velocity = self.inflow.copy()
        self.velocity[:, self.free] = 0.0
        self.velocity[0, self.free] = 6 * y[self.free] * (wide - y[self.free])
        self.velocity[1, self.free] += 0.1 * np.sin(2 * np.pi * x[self.free])
        self.pressure = np.zeros(self.pressures.N)
        self.before: Array | None = None
        self._dot = dot

    def advance(self) -> None:
        """One step."""
        now = self._advection()
        advection = now if self.before is None else 1.5 * now - 0.5 * self.before
        self.before = now
        tentative = self.inflow.copy()
        for axis, slope in enumerate(self.slopes):
            right = self.weight @ self.velocity[axis] / self.step - advection[axis]
            right -= slope @ self.pressure
            right -= self.matrix @ self.inflow[axis]
            tentative[axis, self.free] = self.solve(right[self.free])
        divergence = sum(slope.T @ tentative[axis] for axis, slope in enumerate(self.slopes))
        # ∫ ∇φ·∇q = 1/Δt ∫ u·∇q, less what flows through the inlet.
        right = (divergence - self._through()) / self.step
        change = np.zeros(self.pressures.N)
        change[self.pressed] = self.relax(right[self.pressed])
        for axis, slope in enumerate(self.slopes):
            drop = self.step * (slope @ change)
            tentative[axis, self.free] -= self.project(drop[self.free])
        self.velocity = tentative
        self.pressure = self.pressure + change

    def _advection(self) -> Array:
        """∫ (u·∇)u v of both components."""
        fields = [self.speeds.interpolate(component) for component in self.velocity]
        speed = np.stack([np.asarray(field) for field in fields])
        terms = [(speed * np.asarray(field.grad)).sum(axis=0) for field in fields]
        found = np.zeros((2, self.speeds.N))
        for number, (value, *_) in enumerate(self.speeds.basis):
            shape = np.asarray(value)
            for axis, term in enumerate(terms):
                weights = (term * shape * self.speeds.dx).sum(axis=1)
                places = self.speeds.element_dofs[number]
                found[axis] += np.bincount(places, weights, minlength=self.speeds.N)
        return found

    def _through(self) -> Array:
        """∫ u·n q over the inlet, the only side through which something given flows."""
        if not hasattr(self, "_inlet"):
            from skfem import FacetBasis, LinearForm

            mesh = self.speeds.mesh
            facets = mesh.facets_satisfying(lambda x: x[0] < 1e-9)
            side = FacetBasis(mesh, self.pressures.elem, facets=facets, intorder=4)
            wide = CHANNEL[1]

            @LinearForm
            def entering(test, w):  # noqa: ANN001, ANN202
                return -6 * w.x[1] * (wide - w.x[1]) * test

            self._inlet = entering.assemble(side)
        return self._inlet
