"""Where a page looks: the picture, its points, and one of them that is marked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smore.data import Mesh
from smore.explore._canvas import canvas_of, coarser, domain
from smore.explore._places import Places
from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]

# Products of pixels and squared states that an error bar may take at a new time.
MOST_WORK = 2**30


class View:
    """The picture of a model's domain.

    Args:
        surrogate: the model.

    Attributes:
        canvas, places: of fields.
        coarse, coarse_places: of error bars, which cost more.
        marked: (dim,) a point where numbers are read.
        marked_places: it alone.
    """

    def __init__(self, surrogate: Surrogate) -> None:
        self.surrogate = surrogate
        self.domain = domain(surrogate)
        self._draw(None)
        self.mark(self.canvas.corner + self.canvas.size / 2)

    def _draw(self, height: float | None) -> None:
        self.canvas = canvas_of(self.surrogate, height)
        most = max(1, MOST_WORK // self.surrogate.dynamics.dim**2)
        self.coarse = coarser(self.surrogate, self.canvas, most)
        self.places = Places(self.surrogate, self.canvas.mesh, self.canvas.unknown)
        self.coarse_places = self.places
        if self.coarse is not self.canvas:
            self.coarse_places = Places(self.surrogate, self.coarse.mesh, self.coarse.unknown)

    def cut_at(self, height: float) -> None:
        """Cut a domain in space elsewhere; nothing happens in fewer dimensions."""
        if self.canvas.cut is None or not math.isfinite(height):
            return
        low, high = (float(end[self.canvas.cut[0]]) for end in self.domain)
        self._draw(min(max(height, low), high))
        self.mark(self.marked[list(self.canvas.columns)])

    def mark(self, drawn: FloatArray) -> None:
        """Read numbers at a point of the picture."""
        if len(drawn) != len(self.canvas.columns) or not np.isfinite(drawn).all():
            return
        low, high = self.canvas.corner, self.canvas.corner + self.canvas.size
        self.marked = self.canvas.place(np.clip(drawn, low, high))
        self.marked_places = Places(self.surrogate, alone(self.marked))

    def standing(self, place: FloatArray, channels: Sequence[int]) -> FloatArray:
        """Where a sensor of some channels can stand: there, or at the nearest point that is known.

        On land nothing has taught the model what a value would mean.
        """
        place = np.clip(place, *self.domain)
        known = self.surrogate.seen_on(alone(place))
        if known is None or known[channels].all():
            return place
        coords = self.canvas.mesh.coords[self.places.known[channels].all(axis=0)]
        map_ = self.surrogate.description.coordinate_map
        far = np.linalg.norm(map_(coords) - map_(place[None]), axis=1)
        return coords[far.argmin()] if len(coords) else place


def alone(place: FloatArray) -> Mesh:
    """A mesh of one point (dim,)."""
    return Mesh.scattered(place[None], np.ones(1))
