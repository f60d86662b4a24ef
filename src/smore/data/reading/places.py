"""Where the points of a dataset are: the variables that locate them, and the geometry.

What locates the points along a dimension of space is chosen by rank:

1. variables with the name or CF attributes of a place (x, y, z, latitude, longitude) that are not
   the index of a dimension: `x(point)`, `lat(y, x)`;
2. the index of the dimension, when it has such a name: `x(x)`;
3. any other numeric coordinate along the dimension: `radius(point)`;
4. any other index: `level(level)`.

Files written without CF attributes hold x(point) as a data variable; rank 1 finds it there too.
"""

from __future__ import annotations

from collections import abc
from typing import cast

import numpy as np
import xarray as xr

from smore.data.space import GEOMETRIES, Geometry
from smore.data.validation import require_distinct
from smore.errors import DataError, how_to_set

ANGLE_NAMES = {"latitude": ("lat", "latitude"), "longitude": ("lon", "longitude")}
_UNITS = {
    "latitude": ("degrees_north", "degree_north", "degrees_N", "degree_N"),
    "longitude": ("degrees_east", "degree_east", "degrees_E", "degree_E"),
}
_PLAIN = how_to_set("geometry", "box")


def find_places(
    dataset: xr.Dataset,
    space: tuple[str, ...],
    along: tuple[str, ...],
    geometry: Geometry | None,
    names: abc.Sequence[str] | None,
) -> tuple[tuple[str, ...], Geometry]:
    """The variables that locate the points, in the order of the coordinates, and the geometry.

    Args:
        dataset: all variables but the channels.
        space: the dimensions to be located; every one must be.
        along: all dimensions that places may have: `space`, and `sequence` if there is one.
        geometry: what the user says it is, if anything.
        names: what the user says the variables are, if anything.
    """
    names = names or _recorded_names(dataset)
    if names is None:
        chosen = _chosen_by_rank(dataset, space, along)
    else:
        chosen = list(names)
        _check_names(dataset, chosen, set(along))
    for dim in space:
        if not any(dim in dataset[name].dims for name in chosen):
            raise DataError(
                f"nothing says where the points along dimension '{dim}' are; add coordinates, as "
                f"in dataset.assign_coords({dim}=...), or, if '{dim}' counts separate runs, rename "
                "it to 'sequence'"
            )
    geometry = geometry or _recorded_geometry(dataset) or _detected_geometry(dataset, chosen)
    if geometry == "sphere":
        chosen = _latitude_first(dataset, chosen, ordered=names is not None)
    return tuple(chosen), geometry


def is_place(name: abc.Hashable, variable: xr.Variable | xr.DataArray) -> bool:
    """Whether a variable says by name or CF attributes that it is a coordinate of space."""
    standard_name = str(variable.attrs.get("standard_name", ""))
    return (
        str(name).lower() in ("x", "y", "z")
        or variable.attrs.get("axis") in ("X", "Y", "Z")
        or standard_name in ("projection_x_coordinate", "projection_y_coordinate")
        or angle_of(name, variable) is not None
    )


def describe(dataset: xr.Dataset, names: abc.Iterable[abc.Hashable]) -> str:
    """Variables with their dimensions, as in u(time, x)."""
    return ", ".join(f"{name}({', '.join(map(str, dataset[name].dims))})" for name in names)


def _chosen_by_rank(
    dataset: xr.Dataset, space: tuple[str, ...], along: tuple[str, ...]
) -> list[str]:
    ranks = {
        str(name): _rank(dataset, str(name))
        for name, variable in dataset.variables.items()
        if set(variable.dims) & set(space)
        and set(variable.dims) <= set(along)
        and variable.dtype.kind in "fiu"
        and (name in dataset.coords or is_place(name, variable))
    }
    chosen: set[str] = set()
    for dim in space:
        located = [name for name in ranks if dim in dataset[name].dims]
        best = min((ranks[name] for name in located), default=None)
        chosen.update(name for name in located if ranks[name] == best)
    return sorted(chosen)


def _rank(dataset: xr.Dataset, name: str) -> int:
    is_index = name in dataset.dims
    return (1 if is_place(name, dataset[name]) else 3) + is_index


def _check_names(dataset: xr.Dataset, names: list[str], dims: set[str]) -> None:
    require_distinct(names, "coordinate")
    for name in names:
        if name not in dataset.variables:
            there = describe(dataset, dataset.coords)
            raise DataError(f"there is no coordinate '{name}'; the dataset has {there}")
        if not set(dataset[name].dims) <= dims or dataset[name].dtype.kind not in "fiu":
            raise DataError(
                f"coordinate '{name}' must be real numbers along {', '.join(sorted(dims))}, is "
                f"{describe(dataset, [name])} of type {dataset[name].dtype}"
            )


def _recorded_names(dataset: xr.Dataset) -> list[str] | None:
    """The coordinates as `Trajectories.to_xarray` wrote them down, if they are still there."""
    names = np.atleast_1d(dataset.attrs.get("coordinate_names", [])).tolist()
    return names if names and all(name in dataset.variables for name in names) else None


def _recorded_geometry(dataset: xr.Dataset) -> Geometry | None:
    geometry = dataset.attrs.get("geometry")
    return cast(Geometry, geometry) if geometry in GEOMETRIES else None


def _detected_geometry(dataset: xr.Dataset, names: list[str]) -> Geometry:
    angles = {angle_of(name, dataset[name]) for name in names}
    if not {"latitude", "longitude"} <= angles:
        return "box"
    if len(names) > 2:
        raise DataError(
            f"expected latitude and longitude alone, got coordinates {', '.join(names)}; select a "
            f"single level (dataset.isel), make levels channels, or pass {_PLAIN} to take all as "
            "Cartesian coordinates"
        )
    for name in names:
        if str(dataset[name].attrs.get("units", "")).startswith("rad"):
            raise DataError(
                f"'{name}' must be in degrees, is in {dataset[name].attrs['units']}; convert it "
                f"with numpy.rad2deg, or pass {_PLAIN} for plain coordinates"
            )
    return "sphere"


def _latitude_first(dataset: xr.Dataset, names: list[str], ordered: bool) -> list[str]:
    by_angle = {angle_of(name, dataset[name]): name for name in names}
    if len(names) == 2 and {"latitude", "longitude"} <= set(by_angle):
        return [by_angle["latitude"], by_angle["longitude"]]
    if ordered:
        return names
    raise DataError(
        f"expected a latitude and a longitude for geometry='sphere', cannot tell them among "
        f"{', '.join(names)}; rename them (latitude, longitude), or in Python pass "
        "coordinate_names=[latitude, longitude]"
    )


def angle_of(name: abc.Hashable, variable: xr.Variable | xr.DataArray) -> str | None:
    """ "latitude" or "longitude", if a variable is one of them by name, units or standard name."""
    for angle in ANGLE_NAMES:
        if (
            str(name).lower() in ANGLE_NAMES[angle]
            or variable.attrs.get("standard_name") == angle
            or variable.attrs.get("units") in _UNITS[angle]
        ):
            return angle
    return None
