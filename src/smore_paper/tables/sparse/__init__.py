"""Sparse initialisation: forecasts from ever fewer points."""
