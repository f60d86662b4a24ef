"""The Navier-Stokes benchmark: forced two-dimensional turbulence on a torus."""

from smore_paper.datasets.navier_stokes.benchmark import (
    LiteralNavierStokesOptions,
    NavierStokesOptions,
    simulate,
)
from smore_paper.datasets.navier_stokes.vorticity import VorticityEquation

__all__ = ["LiteralNavierStokesOptions", "NavierStokesOptions", "VorticityEquation", "simulate"]
