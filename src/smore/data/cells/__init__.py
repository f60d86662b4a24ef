"""Cells of unstructured meshes: what they measure, and what is inside."""

from smore.data.cells.alpha import MOST_SHAPED, alpha_cells
from smore.data.cells.kinds import KINDS, POLYGON, polygon_kind
from smore.data.cells.locating import Locator
from smore.data.cells.measures import cell_centres, cell_measures, point_weights
from smore.data.cells.simplices import boundary_of, outline_of, simplices_of
from smore.data.cells.tessellation import Tessellation, filling

__all__ = [
    "KINDS",
    "MOST_SHAPED",
    "POLYGON",
    "Locator",
    "Tessellation",
    "alpha_cells",
    "boundary_of",
    "cell_centres",
    "cell_measures",
    "filling",
    "outline_of",
    "point_weights",
    "polygon_kind",
    "simplices_of",
]
