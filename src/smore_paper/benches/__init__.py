"""Measurements of their own, each in one run: `smore bench`."""
