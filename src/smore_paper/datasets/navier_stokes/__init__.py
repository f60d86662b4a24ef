"""The Navier-Stokes benchmark: forced two-dimensional turbulence on a torus."""
