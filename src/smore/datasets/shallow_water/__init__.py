"""The shallow-water benchmark: barotropically unstable jets on the rotating sphere."""

from smore.datasets.shallow_water.benchmark import ShallowWaterOptions, simulate
from smore.datasets.shallow_water.equations import ShallowWaterEquations
from smore.datasets.shallow_water.sphere import Sphere

__all__ = ["ShallowWaterEquations", "ShallowWaterOptions", "Sphere", "simulate"]
