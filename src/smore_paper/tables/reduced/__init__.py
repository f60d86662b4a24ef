"""Benchmarks so small that neural operators converge on a CPU core."""
