"""The shallow-water benchmark: barotropically unstable jets on the rotating sphere."""

from smore_paper.datasets.shallow_water.benchmark import (
    LiteralShallowWaterOptions,
    ShallowWaterOptions,
    simulate,
)
from smore_paper.datasets.shallow_water.equations import ShallowWaterEquations
from smore_paper.datasets.shallow_water.sphere import Sphere

__all__ = [
    "LiteralShallowWaterOptions",
    "ShallowWaterEquations",
    "ShallowWaterOptions",
    "Sphere",
    "simulate",
]
