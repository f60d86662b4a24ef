"""Two problems on unstructured meshes of domains with holes, simulated by finite elements."""

from smore_paper.datasets.unstructured.elements import Elements
from smore_paper.datasets.unstructured.shapes import SHAPES, Shape
from smore_paper.datasets.unstructured.simulating import PROBLEMS, simulated
from smore_paper.datasets.unstructured.triangulating import triangulated

__all__ = ["PROBLEMS", "SHAPES", "Elements", "Shape", "simulated", "triangulated"]
