"""From the user's coordinates to those of the decoder, and how far a point lies outside.

A box is mapped to [0, 0.5]^d, the range for which the decoder's frequencies are scaled; a sphere is
mapped to unit vectors in space, where neither the poles nor the date line are special.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from operator import lt
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from smore.data.quadrature import unwrap_longitudes
from smore.data.space import Space
from smore.data.trajectories import Trajectories
from smore.errors import DataError, OutsideDomainWarning
from smore.runtime import StoredTuple

FloatArray = NDArray[np.float64]

# Closer to the domain than this fraction of its extent is as good as inside: other scattered points
# from the same domain reach a little further now and then.
_ROUND_OFF = 0.01
# A domain that leaves out less than this fraction of all longitudes, or ends this close to a pole,
# is global: the gap is only the spacing of its points.
_NEARLY_GLOBAL = 0.05


class _Map(BaseModel, ABC):
    """What a box and a sphere have in common: a domain, and a warning beyond it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def __call__(self, coords: FloatArray) -> FloatArray:
        """Coordinates (points, dim) -> decoder coordinates (points, decoder_dim) float64."""

    @abstractmethod
    def outside(self, coords: FloatArray) -> FloatArray:
        """(dim,) how far outside the farthest of the points is, as a fraction of the extent.

        0 along an axis on which all points are inside, up to round-off.
        """

    def warn_outside(self, coords: FloatArray, space: Space) -> None:
        """Warn (OutsideDomainWarning) when points lie outside, with how far and along what."""
        outside = self.outside(coords)
        if not outside.any():
            return
        distances = ", ".join(
            f"{fraction:.1%} of its extent along '{name}'"
            for name, fraction in zip(space.names, outside, strict=True)
            if fraction > 0
        )
        warnings.warn(
            f"points lie outside the domain the model was trained on, by up to {distances}; "
            "what it says there is extrapolation",
            OutsideDomainWarning,
            stacklevel=3,
        )


class BoxMap(_Map):
    """Each axis of the box [lower, upper] to [0, 0.5]; points outside land outside."""

    kind: Literal["box"] = "box"
    lower: StoredTuple[float]
    upper: StoredTuple[float]

    @model_validator(mode="after")
    def _extended(self) -> Self:
        if len(self.lower) != len(self.upper) or not all(map(lt, self.lower, self.upper)):
            raise ValueError(f"expected a box, got one from {self.lower} to {self.upper}")
        return self

    @property
    def decoder_dim(self) -> int:
        return len(self.lower)

    def __call__(self, coords: FloatArray) -> FloatArray:
        lower, upper = np.array(self.lower), np.array(self.upper)
        return 0.5 * (coords - lower) / (upper - lower)

    def outside(self, coords: FloatArray) -> FloatArray:
        lower, upper = np.array(self.lower), np.array(self.upper)
        distance = np.maximum(lower - coords, coords - upper).max(axis=0, initial=0.0)
        return _without_round_off(distance / (upper - lower))


class SphereMap(_Map):
    """(latitude, longitude) in degrees to unit vectors (x, y, z).

    The domain south <= latitude <= north, west <= longitude <= east (with east - west <= 360) only
    serves `outside`.
    """

    kind: Literal["sphere"] = "sphere"
    south: float = -90.0
    north: float = 90.0
    west: float = 0.0
    east: float = 360.0

    decoder_dim: ClassVar[int] = 3

    def __call__(self, coords: FloatArray) -> FloatArray:
        latitude, longitude = np.deg2rad(coords).T
        return np.stack(
            [
                np.cos(latitude) * np.cos(longitude),
                np.cos(latitude) * np.sin(longitude),
                np.sin(latitude),
            ],
            axis=1,
        )

    def outside(self, coords: FloatArray) -> FloatArray:
        latitude, longitude = coords.T
        beyond_latitude = np.maximum(self.south - latitude, latitude - self.north)
        east_of_west = (longitude - self.west) % 360.0
        # Beyond the eastern edge, or before the western one: whichever is nearer.
        beyond_longitude = np.minimum(east_of_west - (self.east - self.west), 360.0 - east_of_west)
        extent = np.array([self.north - self.south, self.east - self.west])
        distance = [beyond_latitude.max(initial=0.0), beyond_longitude.max(initial=0.0)]
        return _without_round_off(np.array(distance) / extent)


CoordinateMap = Annotated[BoxMap | SphereMap, Field(discriminator="kind")]


def fit_coordinate_map(trajectories: Trajectories) -> BoxMap | SphereMap:
    """The map for the domain that all points of `trajectories` span.

    Raises:
        DataError: a coordinate that is the same at every point.
    """
    coords = np.concatenate([mesh.reach for mesh in trajectories.meshes])
    lower, upper = coords.min(axis=0), coords.max(axis=0)
    for name, low, high in zip(trajectories.space.names, lower, upper, strict=True):
        if low == high:
            raise DataError(
                f"coordinate '{name}' is {low:g} at every point and cannot tell them apart; drop "
                f"it (dataset.squeeze('{name}', drop=True), or a column less in coords)"
            )
    if trajectories.space.geometry == "sphere":
        return _sphere_around(coords)
    return BoxMap(lower=tuple(lower.tolist()), upper=tuple(upper.tolist()))


def _sphere_around(coords: FloatArray) -> SphereMap:
    latitude, longitude = coords[:, 0], unwrap_longitudes(coords[:, 1])
    south, north = float(latitude.min()), float(latitude.max())
    west, east = float(longitude.min()), float(longitude.max())
    margin = 180.0 * _NEARLY_GLOBAL
    return SphereMap(
        south=-90.0 if south <= -90.0 + margin else south,
        north=90.0 if north >= 90.0 - margin else north,
        west=west,
        east=west + 360.0 if east - west >= 360.0 * (1 - _NEARLY_GLOBAL) else east,
    )


def _without_round_off(fractions: FloatArray) -> FloatArray:
    return np.where(fractions > _ROUND_OFF, fractions, 0.0)
