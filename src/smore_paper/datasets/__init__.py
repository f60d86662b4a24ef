"""The paper's three benchmark problems, simulated here and cached with checksums."""

from smore_paper.datasets.catalogue import BENCHMARKS, CATALOGUE, Benchmark, load, resolve
from smore_paper.datasets.ensemble import Progress
from smore_paper.datasets.navier_stokes import NavierStokesOptions
from smore_paper.datasets.options import Options
from smore_paper.datasets.shallow_water import ShallowWaterOptions
from smore_paper.datasets.wave import WaveOptions

__all__ = [
    "BENCHMARKS",
    "CATALOGUE",
    "Benchmark",
    "NavierStokesOptions",
    "Options",
    "Progress",
    "ShallowWaterOptions",
    "WaveOptions",
    "load",
    "resolve",
]
