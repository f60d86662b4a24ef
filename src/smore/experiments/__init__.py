"""Experiments: one module per table, figure or bench."""
