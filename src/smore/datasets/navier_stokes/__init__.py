"""The Navier-Stokes benchmark: forced two-dimensional turbulence on the unit torus."""

from smore.datasets.navier_stokes.benchmark import NavierStokesOptions, simulate
from smore.datasets.navier_stokes.vorticity import VorticityEquation

__all__ = ["NavierStokesOptions", "VorticityEquation", "simulate"]
