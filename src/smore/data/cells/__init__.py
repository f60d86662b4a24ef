"""Cells of unstructured meshes: what they measure, and what is inside."""

from smore.data.cells.kinds import KINDS, POLYGON, polygon_kind
from smore.data.cells.measures import cell_centres, cell_measures, point_weights
from smore.data.cells.tessellation import Tessellation, filling

__all__ = [
    "KINDS",
    "POLYGON",
    "Tessellation",
    "cell_centres",
    "cell_measures",
    "filling",
    "point_weights",
    "polygon_kind",
]
