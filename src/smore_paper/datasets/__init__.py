"""The paper's three benchmark problems, simulated here and cached with checksums."""

from smore_paper.datasets.catalogue import BENCHMARKS, CATALOGUE, Benchmark, load, resolve

__all__ = ["BENCHMARKS", "CATALOGUE", "Benchmark", "load", "resolve"]
