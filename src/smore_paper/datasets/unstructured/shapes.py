"""Domains by their signed distance, negative inside, and how fine their meshes are where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CHANNEL = (3.0, 1.0)
RADIUS = 0.1
CYLINDERS = ((0.6, 0.42), (1.1, 0.58))
# A slit reaches from the left side into the lower arm of an L of side 2.
SLIT = ((-0.1, 0.48), (1.2, 0.52))


@dataclass(frozen=True, eq=False)
class Shape:
    """A domain.

    Attributes:
        box: its corners.
        distance: (points,) signed, of points (points, 2).
        spacing: (points,) distance of neighbours in units of the finest.
        finest: that distance.
        corners: (n, 2) points that every mesh has.
    """

    box: tuple[tuple[float, float], tuple[float, float]]
    distance: Callable[[Array], Array]
    spacing: Callable[[Array], Array]
    finest: float
    corners: Array


def _box(places: Array, low: tuple[float, float], high: tuple[float, float]) -> Array:
    return np.maximum(np.array(low) - places, places - np.array(high)).max(axis=1)


def _circles(places: Array) -> Array:
    """To the nearest cylinder, negative in it."""
    each = [np.linalg.norm(places - centre, axis=1) - RADIUS for centre in CYLINDERS]
    return np.minimum.reduce(each)


def _channel(places: Array) -> Array:
    return np.maximum(_box(places, (0.0, 0.0), CHANNEL), -_circles(places))


def _l_with_slit(places: Array) -> Array:
    square = _box(places, (0.0, 0.0), (2.0, 2.0))
    gone = np.minimum(_box(places, (1.0, 1.0), (3.0, 3.0)), _box(places, *SLIT))
    return np.maximum(square, -gone)


def channel_sides(
    points: Array,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which points are on the inlet, on the outlet, and on walls or cylinders."""
    x, y = points.T
    walls = (y < 1e-9) | (y > CHANNEL[1] - 1e-9) | (_circles(points) < 1e-4)
    return (x < 1e-9) & ~walls, (x > CHANNEL[0] - 1e-9) & ~walls, walls


def _wake(places: Array) -> Array:
    """Spacing in the channel: fine around the cylinders and behind them."""
    x, y = places.T
    behind = np.hypot(np.maximum(0.5 - x, 0), np.maximum(np.abs(y - 0.5) - 0.25, 0))
    fine = 1.5 + 0.2 * np.maximum(x - 0.5, 0) + 5 * behind
    return np.clip(np.minimum(1 + 5 * np.maximum(_circles(places), 0), fine), 1, 3)


SHAPES = {
    "cylinders": Shape(
        ((0.0, 0.0), CHANNEL),
        _channel,
        _wake,
        0.015,
        np.array([(0.0, 0.0), (3.0, 0.0), (3.0, 1.0), (0.0, 1.0)]),
    ),
    "slit": Shape(
        ((0.0, 0.0), (2.0, 2.0)),
        _l_with_slit,
        lambda places: np.clip(1 + 3 * np.maximum(_box(places, *SLIT), 0), 1, 2.5),
        0.015,
        np.array(
            [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2), (0, 0.52), (1.2, 0.52), (1.2, 0.48),
             (0, 0.48)]
        ),
    ),
}  # fmt: skip
