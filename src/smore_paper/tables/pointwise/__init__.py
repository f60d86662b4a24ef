"""Pointwise minibatches: memory, time and error."""
