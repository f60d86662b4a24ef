"""Stable, mesh-agnostic surrogates of time-dependent PDEs."""
