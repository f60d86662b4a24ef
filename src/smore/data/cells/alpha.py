"""Cells between scattered points that come without any: an alpha shape.

Of the Delaunay triangulation those simplices are kept whose circumscribed sphere is not large
beside the distances between neighbours. Holes and bays wider than a few of these stay empty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, Delaunay, QhullError, cKDTree

from smore.data.cells.measures import to_unit_vectors
from smore.data.cells.tessellation import FloatArray, Tessellation
from smore.data.space import Geometry

# A sphere through the corners may be so many times as large as the distance to this neighbour. Of
# random points fewer than one in a million triangles is then lost, by exp(-π r²) for a circle
# without a point in it.
LARGEST = 1.5
NEIGHBOURS = {2: 6, 3: 10}
# Fewer points do not tell a shape; for more a triangulation takes long.
FEWEST, MOST_SHAPED = 12, 2**17
# A domain this much longer than wide is most likely measured in different units.
LONGEST = 20.0


def alpha_cells(places: FloatArray, geometry: Geometry) -> Tessellation | None:
    """The cells of an alpha shape between points (points, dim).

    None where there is no telling: few or very many points, on a line, in one or in more than three
    dimensions, or in the same place.
    """
    count, dim = places.shape
    if not FEWEST <= count <= MOST_SHAPED or dim not in NEIGHBOURS:
        return None
    if not np.isfinite(places).all() or not (np.ptp(places, axis=0) > 0).all():
        return None
    try:
        points, simplices = _triangulated(places, geometry)
    except (QhullError, ValueError):
        return None
    spacing = cKDTree(points).query(points, k=1 + min(NEIGHBOURS[dim], count - 1))[0]
    local = np.asarray(spacing)[:, -1][simplices].max(axis=1)
    kept = simplices[_circumradii(points[simplices]) <= LARGEST * local].astype(np.int64)
    if not len(kept) or len(np.unique(kept)) < count:
        return None  # some points would weigh nothing
    kinds = np.full(len(kept), 5 if kept.shape[1] == 3 else 10)
    offsets = kept.shape[1] * np.arange(len(kept) + 1)
    return Tessellation.checked(places, kinds, offsets, kept.ravel(), on_cells=False)


def _triangulated(places: FloatArray, geometry: Geometry) -> tuple[FloatArray, NDArray]:
    if geometry == "sphere":
        points = to_unit_vectors(places)
        return points, ConvexHull(points).simplices
    extent = np.ptp(places, axis=0)
    scale = extent if extent.max() > LONGEST * extent.min() else np.full(len(extent), extent.max())
    points = (places - places.min(axis=0)) / scale
    return points, Delaunay(points).simplices


def _circumradii(corners: FloatArray) -> FloatArray:
    """(n,) of simplices (n, 3 or 4, dim); infinite for flat ones."""
    sides = corners[:, 1:] - corners[:, :1]
    gram = np.einsum("nid,njd->nij", sides, sides)
    size = np.linalg.det(gram)
    flat = size <= 1e-18 * np.prod(np.einsum("nii->ni", gram), axis=1)
    gram[flat] = np.eye(gram.shape[1])
    half = np.einsum("nii->ni", gram) / 2
    shares = np.linalg.solve(gram, half[..., None])[..., 0]
    centre = np.einsum("ni,nid->nd", shares, sides)
    return np.where(flat, np.inf, np.linalg.norm(centre, axis=1))
