"""What fields are drawn on: a line, a plane, a map, or a cut through space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from smore.data import Mesh, Space
from smore.errors import DataError
from smore.plotting._globe import coastlines, near, robinson
from smore.plotting._slices import across
from smore.surrogate import Description

FloatArray = NDArray[np.float64]

MOST_DIMENSIONS = 3
NOWHERE = "0.8"  # grey: nothing is known there
# Degrees of longitude and latitude from which on a map is one of the whole globe.
WHOLE = (300.0, 100.0)
# Height over width of a panel; what is longer or wider is stretched.
SHAPES = (0.36, 1.6)
# Points whose distance from a straight line is less than this share of its length are a line.
STRAIGHT = 1e-3
# Maps that reach to a pole are squeezed no more than this.
LEAST_SQUEEZE = 0.3
DEGREES = {"degrees_east": "°E", "degrees_north": "°N"}
SMALL = 8.0


def with_units(name: str, units: str) -> str:
    """A quantity and its units in brackets; nothing for those that are unknown, or no units."""
    units = DEGREES.get(units, units)
    return f"{name} ({units})" if units not in ("", "1") else name


def unit_after_number(units: str) -> str:
    """A unit behind a number; some are numbers themselves, as in "2.5 km"."""
    if units in ("", "1"):
        return ""
    return f"× {units}" if units[0].isdigit() else DEGREES.get(units, units)


def require_drawable(space: Space) -> None:
    """Refuse a space that no figure shows."""
    if space.dim > MOST_DIMENSIONS:
        raise DataError(
            f"fields over {space.dim} coordinates ({', '.join(space.names)}) cannot be drawn, only "
            "over 1, 2 or 3; leave out the figure"
        )


@dataclass(frozen=True, eq=False)
class Ground:
    """Points and what their coordinates mean.

    Args:
        mesh: the points.
        space: their coordinates.
        on_earth: whether coastlines belong there.
        whole: whether this is a map of the whole globe, in Robinson's projection.
    """

    mesh: Mesh
    space: Space
    on_earth: bool = False
    whole: bool = False

    @classmethod
    def of(cls, mesh: Mesh, description: Description) -> Ground:
        """Of fields of a model. Those on a sphere that have dates are taken to be of the Earth.

        Raises:
            DataError: a space that no figure shows.
        """
        space = description.space
        require_drawable(space)
        on_sphere = space.geometry == "sphere"
        reach = np.ptp(mesh.reach, axis=0)
        whole = on_sphere and bool(reach[1] >= WHOLE[0] and reach[0] >= WHOLE[1])
        return cls(mesh, space, on_sphere and description.clock.kind == "datetime", whole)

    @cached_property
    def columns(self) -> list[int]:
        """Of the coordinates drawn to the right and, if it is not a line, upwards."""
        if self.mesh.dim > 1 and _is_straight(self.mesh):
            return [int(np.argmax(np.ptp(self.mesh.coords, axis=0)))]
        return directions(self.space, self.mesh)

    @property
    def is_line(self) -> bool:
        return len(self.columns) == 1

    @property
    def labels(self) -> list[str]:
        """What the coordinates to the right and upwards are; nothing on a map of the globe."""
        if self.whole:
            return ["", ""]
        return [with_units(self.space.names[k], self.space.units[k]) for k in self.columns]

    @cached_property
    def along(self) -> FloatArray:
        """(points,) where points are on a line."""
        return self.mesh.coords[:, self.columns[0]]

    @cached_property
    def middle(self) -> float:
        """The longitude in the middle of a map."""
        longitudes = self.mesh.reach[:, 1]
        return float(longitudes.min() + longitudes.max()) / 2

    def places(self, coords: NDArray[np.floating]) -> FloatArray:
        """(..., dim) coordinates -> (..., 2) places in the picture."""
        drawn = np.asarray(coords, float)[..., self.columns]
        if self.space.geometry != "sphere":
            return drawn
        return self.projected(near(drawn[..., 0], self.middle), drawn[..., 1])

    def projected(self, right: FloatArray, up: FloatArray) -> FloatArray:
        """The same of what is drawn to the right and upwards, near the middle of the map."""
        if not self.whole:
            return np.stack([right, up], axis=-1)
        return np.stack(robinson(right - self.middle, up), axis=-1)

    @cached_property
    def _squeeze(self) -> float:
        """How much shorter a unit to the right is than one upwards: a degree of longitude is."""
        if self.space.geometry != "sphere" or self.whole:
            return 1.0
        latitudes = self.mesh.reach[:, 0]
        middle = float(latitudes.min() + latitudes.max()) / 2
        return max(float(np.cos(np.radians(middle))), LEAST_SQUEEZE)

    @cached_property
    def _proportion(self) -> float:
        """Height over width, as it is."""
        if self.whole:
            return float(robinson(0.0, 90.0)[1])
        width, height = np.ptp(self.mesh.reach, axis=0)[self.columns].tolist()
        return height / (width * self._squeeze) if width and height else 1.0

    def shape(self, of_line: float) -> float:
        """Height over width of a panel; `of_line` of a curve."""
        return of_line if self.is_line else float(np.clip(self._proportion, *SHAPES))

    def prepare_line(self, axes: Axes) -> None:
        """Set up axes for curves: all of the line, whatever is known of it."""
        low, high = float(self.along.min()), float(self.along.max())
        margin = 0.03 * (high - low) or 1.0
        axes.set_xlim(low - margin, high + margin)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.tick_params(labelsize=SMALL - 1)

    def prepare(self, axes: Axes) -> None:
        """Set up axes for a field that is not on a line."""
        axes.set_aspect(self.shape(of_line=1.0) / self._proportion / self._squeeze)
        axes.set_xticks([])
        axes.set_yticks([])
        if self.whole:
            _draw_outline(axes)
            return
        axes.set_facecolor(NOWHERE)
        axes.margins(0.02)
        # Of all points, known or not: panels of one mesh show the same part of space.
        axes.update_datalim(self.mesh.reach[:, self.columns])

    def finish(self, axes: Axes, ink: str) -> None:
        """Draw what belongs above a field: coasts."""
        if self.on_earth:
            lines = [self.projected(*line.T) for line in coastlines(self.middle)]
            coasts = LineCollection(lines, colors=ink, linewidths=0.5)
            axes.add_collection(coasts, autolim=False)

    def label_right(self, axes: Axes) -> None:
        """Tell what runs to the right."""
        axes.set_xlabel(self.labels[0], fontsize=SMALL)
        if not self.whole and not self.is_line:
            axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.tick_params(labelsize=SMALL - 1)

    def label_up(self, axes: Axes, what: str = "") -> None:
        """Tell what runs upwards, below `what` the panels show."""
        told = [text for text in (what, self.labels[-1]) if text]
        axes.set_ylabel("\n".join(told), fontsize=SMALL)
        if not self.whole:
            axes.yaxis.set_major_locator(MaxNLocator(3))
        axes.tick_params(labelsize=SMALL - 1)


def directions(space: Space, mesh: Mesh) -> list[int]:
    """Columns of the coordinates drawn to the right and upwards: longitude and latitude.

    In space those of the plane in which `draw_field` cuts the mesh.
    """
    if space.dim == 1:
        return [0]
    if space.dim == 3:
        return [column for column in range(3) if column != across(mesh)]
    return [1, 0] if space.geometry == "sphere" else [0, 1]


def _is_straight(mesh: Mesh) -> bool:
    """Whether points in space lie on one line: a mast, a borehole."""
    if mesh.separable or mesh.tessellation is not None:
        return False
    sizes = np.linalg.svd(mesh.coords - mesh.coords.mean(axis=0), compute_uv=False)
    return bool(sizes[1] < STRAIGHT * sizes[0])


def _draw_outline(axes: Axes) -> None:
    """The edge of the map, grey inside."""
    latitude = np.linspace(-90.0, 90.0, 91)
    edge = [np.column_stack(robinson(side * np.ones(91), latitude)) for side in (-180.0, 180.0)]
    outline = np.concatenate([edge[0], edge[1][::-1]])
    axes.add_patch(Polygon(outline, facecolor=NOWHERE, edgecolor="0.3", lw=0.6, zorder=0))
    axes.set_xlim(-1.02, 1.02)
    axes.set_ylim(*(1.02 * outline[:, 1].max() * np.array([-1.0, 1.0])))
    axes.set_frame_on(False)
