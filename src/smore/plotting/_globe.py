"""The globe on a sheet of paper: Robinson's projection, and coastlines.

Both are a few lines here rather than a package for maps (cartopy): such a one brings compiled
libraries of its own, and downloads its coastlines when they are first drawn.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

# Robinson's table, every 5 degrees of latitude from the equator to the pole: how long a parallel
# is, of the equator, and how far it is from the equator, of the pole.
TABLE = [
    [1.0, 0.0],
    [0.9986, 0.062],
    [0.9954, 0.124],
    [0.99, 0.186],
    [0.9822, 0.248],
    [0.973, 0.31],
    [0.96, 0.372],
    [0.9427, 0.434],
    [0.9216, 0.4958],
    [0.8962, 0.5571],
    [0.8679, 0.6176],
    [0.835, 0.6769],
    [0.7986, 0.7346],
    [0.7597, 0.7903],
    [0.7186, 0.8435],
    [0.6732, 0.8936],
    [0.6213, 0.9394],
    [0.5722, 0.9761],
    [0.5322, 1.0],
]
LENGTHS, HEIGHTS = np.array(TABLE).T
LATITUDES = np.arange(0.0, 91.0, 5.0)
# Half of the height over half of the width.
SHAPE = 1.3523 / (0.8487 * np.pi)
HUNDREDTHS = 100.0


def robinson(longitude: ArrayLike, latitude: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Degrees from the middle and from the equator -> places, the width being from -1 to 1."""
    longitude, latitude = np.asarray(longitude, float), np.asarray(latitude, float)
    right = np.interp(np.abs(latitude), LATITUDES, LENGTHS) * longitude / 180.0
    up = SHAPE * np.sign(latitude) * np.interp(np.abs(latitude), LATITUDES, HEIGHTS)
    return right, up


def near(longitude: ArrayLike, middle: float) -> FloatArray:
    """The same longitudes, at most half a turn from `middle`."""
    return middle + (np.asarray(longitude, float) - middle + 180.0) % 360.0 - 180.0


def coastlines(middle: float) -> list[FloatArray]:
    """Lines (points, 2) of longitude and latitude, longitudes at most half a turn from `middle`."""
    lines = []
    for line in _lines():
        moved = np.column_stack([near(line[:, 0], middle), line[:, 1]])
        seams = np.flatnonzero(np.abs(np.diff(moved[:, 0])) > 180.0) + 1
        lines += [piece for piece in np.split(moved, seams) if len(piece) > 1]
    return lines


@cache
def _lines() -> list[FloatArray]:
    """As tools/make_coastlines.py wrote them."""
    with (Path(__file__).parent / "coastlines.npz").open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        points, lengths = stored["points"] / HUNDREDTHS, stored["lengths"]
    return np.split(points, np.cumsum(lengths)[:-1])
