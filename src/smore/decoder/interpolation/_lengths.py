"""How long the axes of a box are where near points are looked for.

The decoder sees a box whose axes are equally long. In a channel three times as long as wide, where
cells are about as long as wide, neighbours would then be looked for three times as far across as
along it: what is interpolated there had ten times the error.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from smore.decoder.interpolation.interpolation import FloatArray

# Points whose nearest neighbours are looked at.
NUM_JUDGED = 4096
# Mean nearest distances that differ by a smaller share tell nothing, as those of random points.
ALIKE = 0.2
# Axes that differ by more times may be those of different things, as depth and distance from the
# coast: there their own lengths have to be clearly better.
COMPARABLE, CLEARLY = 10.0, 0.5


def axis_lengths(nodes: FloatArray, extent: FloatArray) -> FloatArray:
    """Those that the box has, or equal ones where points are spread more evenly by these.

    Args:
        nodes: (nodes, d) in a box with equally long axes.
        extent: (d,) of the box in the user's coordinates.

    Returns:
        (d,), of which the largest is 1.
    """
    own = extent / extent.max()
    gain = _evenness(nodes * own) - _evenness(nodes) - float(np.log(own).mean())
    least = -ALIKE if own.min() >= 1 / COMPARABLE else CLEARLY
    return own if gain > least else np.ones_like(own)


def _evenness(points: FloatArray) -> float:
    """The mean logarithm of the distance to the nearest other place: most in an even mesh."""
    some = points[:: max(len(points) // NUM_JUDGED, 1)]
    distance = np.asarray(cKDTree(points).query(some, k=[min(2, len(points))])[0])
    apart = distance[distance > 0]
    return float(np.log(apart).mean()) if len(apart) else 0.0
