"""Two problems on unstructured meshes of domains with holes, simulated by finite elements."""

from smore_paper.datasets.unstructured.flow import FlowOptions, simulate_flow
from smore_paper.datasets.unstructured.heat import HeatOptions, simulate_heat
from smore_paper.datasets.unstructured.shapes import SHAPES, Shape
from smore_paper.datasets.unstructured.triangulating import triangulated

__all__ = [
    "SHAPES",
    "FlowOptions",
    "HeatOptions",
    "Shape",
    "simulate_flow",
    "simulate_heat",
    "triangulated",
]
