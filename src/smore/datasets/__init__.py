"""The paper's three benchmark problems, simulated here and cached with checksums."""

from smore.datasets.catalogue import (
    BENCHMARKS,
    CATALOGUE,
    Benchmark,
    generate,
    load,
    make_options,
    resolve,
)
from smore.datasets.ensemble import Progress
from smore.datasets.navier_stokes import NavierStokesOptions
from smore.datasets.options import Options
from smore.datasets.shallow_water import ShallowWaterOptions
from smore.datasets.wave import WaveOptions

__all__ = [
    "BENCHMARKS",
    "CATALOGUE",
    "Benchmark",
    "NavierStokesOptions",
    "Options",
    "Progress",
    "ShallowWaterOptions",
    "WaveOptions",
    "generate",
    "load",
    "make_options",
    "resolve",
]
