"""Where the points of a dataset are: the variables that locate them, and the geometry.

Latitude and longitude that are told together win, wherever they are: they are where the points are
on
Earth, and beside them x and y are only those of a projection or an index. Otherwise x, y and z are
taken,
each once: a variable over several dimensions, or along a dimension of another name, comes before
the index
of a dimension. What is neither locates points only where nothing else does, and does not look like
a
counter.
"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import xarray as xr

from smore.data.reading._channels import describe
from smore.data.reading._dimensions import Dimensions
from smore.data.reading._place_candidates import by_role, declared_coordinates, place_candidates
from smore.data.reading._place_questions import (
    PLAIN,
    counts,
    first_entry,
    not_located,
    too_many_levels,
)
from smore.data.reading._roles import Verdict, is_rotated, role_of
from smore.data.reading.record import listed, shown
from smore.data.reading.request import ReadAs
from smore.data.space import GEOMETRIES, Geometry
from smore.data.validation import require_distinct
from smore.errors import DataError

ANGLE_NAMES = {"latitude": ("lat", "latitude"), "longitude": ("lon", "longitude")}
# Coordinates of lines, discs and balls, as people call them.
_OTHER_PLACES = ("r", "radius", "theta", "phi", "s", "rho", "xi", "eta")


@dataclass(frozen=True)
class Places:
    """What locates the points.

    Attributes:
        names: of the variables, in the order of the coordinates.
        geometry: what they are.
        why: by variable, what says so.
        squeezed: dimensions of space with a single entry, which need no coordinate.
        left_out: coordinates that are not used, and why.
        notes: what was done.
    """

    names: tuple[str, ...]
    geometry: Geometry
    why: dict[str, str]
    squeezed: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_places(
    aside: xr.Dataset,
    dataset: xr.Dataset,
    channels: abc.Sequence[str],
    space: tuple[str, ...],
    along: tuple[str, ...],
    parts: Dimensions,
    how: ReadAs,
) -> Places:
    """The variables that locate the points of the channels.

    Args:
        aside: all variables but the channels and weights.
        dataset: all of it.
        channels: what is to be located.
        space: their dimensions of space; every one must be located.
        along: all dimensions that places may have: `space`, and the sequence if there is one.
        parts: what the dimensions are.
        how: what the user says.
    """
    names = named_coordinates(aside, how)
    if names is not None:
        return _told_places(aside, names, space, along, how)
    known = place_candidates(aside, space, along)
    chosen = by_role(aside, known, declared_coordinates(dataset, channels))
    pair = [chosen[role] for role in ("latitude", "longitude") if role in chosen]
    geometry = how.geometry or _recorded_geometry(aside)
    if geometry == "sphere" or (geometry is None and len(pair) == 2):
        return _on_sphere(aside, chosen, known, space, parts)
    return _in_box(aside, chosen, known, space, along, parts)


def _told_places(
    aside: xr.Dataset,
    names: list[str],
    space: tuple[str, ...],
    along: tuple[str, ...],
    how: ReadAs,
) -> Places:
    """Coordinates as the user, an earlier run of smore or a model names them."""
    _check_names(aside, names, set(along))
    _require_located(aside, names, space)
    geometry = how.geometry or _recorded_geometry(aside) or _told_geometry(aside, names)
    if geometry == "sphere":
        names = _latitude_first(aside, names)
    told = how.coordinates is not None
    why = (
        "asked for"
        if told
        else "recorded in the file"
        if recorded_names(aside)
        else "as in the model"
    )
    return Places(tuple(names), geometry, dict.fromkeys(names, why))


def _on_sphere(
    aside: xr.Dataset,
    chosen: dict[str, str],
    known: dict[str, Verdict],
    space: tuple[str, ...],
    parts: Dimensions,
) -> Places:
    if not {"latitude", "longitude"} <= set(chosen):
        raise DataError(
            "expected a latitude and a longitude for geometry='sphere', cannot tell them among "
            f"{listed(chosen.values()) or 'no coordinates'}; say which with --coords "
            "LATITUDE,LONGITUDE "
            "(in Python: coordinate_names=[latitude, longitude])"
        )
    pair = (chosen["latitude"], chosen["longitude"])
    for angle, name in zip(("latitude", "longitude"), pair, strict=True):
        if known[name].role != angle:
            raise DataError(f"'{name}' is no {angle}; say which with --coords LATITUDE,LONGITUDE")
    covered = {dim for name in pair for dim in aside[name].dims}
    rest = [dim for dim in space if dim not in covered]
    squeezed = tuple(dim for dim in rest if parts.sizes[dim] == 1 and dim not in parts.told)
    for dim in rest:
        if dim not in squeezed:
            raise too_many_levels(aside, dim, parts.sizes[dim])
    heights = [
        name
        for name, verdict in known.items()
        if verdict.role == "z"
        and name in aside.coords
        and len(covered & set(space)) == 1
        and set(aside[name].dims) <= covered
        and len(np.unique(aside[name].values)) > 1
    ]
    if heights:
        raise DataError(
            "expected latitude and longitude alone, got coordinates "
            f"{listed([*pair, *heights])}; select a "
            f"single level, leave it out with --coords {','.join(pair)}, or pass {PLAIN} to take "
            "all as "
            "Cartesian coordinates"
        )
    beside = {
        name: f"{', '.join(pair)} say where points are on Earth"
        for name in known
        if name not in pair and not set(aside[name].dims) & set(squeezed)
    }
    notes = [
        f"'{dim}' has a single entry ({first_entry(aside, dim)}) and is left out"
        for dim in squeezed
    ]
    why = {name: known[name].why for name in pair}
    return Places(pair, "sphere", why, squeezed, beside, tuple(notes))


def _in_box(
    aside: xr.Dataset,
    chosen: dict[str, str],
    known: dict[str, Verdict],
    space: tuple[str, ...],
    along: tuple[str, ...],
    parts: Dimensions,
) -> Places:
    chosen, flat = _without_constant_height(aside, _without_surfaces(aside, chosen, space))
    names, why = sorted(chosen.values()), {}
    for name in names:
        if is_rotated(aside[name], name) and parts.told == ():
            raise DataError(
                f"'{name}' is a coordinate of a rotated pole, and nothing says where that pole "
                "is; say "
                f"--coords {','.join(names)} to take {listed(names)} as plain coordinates, or "
                "add latitude "
                "and longitude to the file"
            )
        why[name] = known[name].why
    uncovered = [dim for dim in space if not any(dim in aside[name].dims for name in names)]
    squeezed = tuple(
        dim for dim in uncovered
        if parts.sizes[dim] == 1 and dim not in parts.told and len(uncovered) < len(space)
    )  # fmt: skip
    for dim in uncovered:
        if dim not in squeezed:
            plain = _plain_coordinate(aside, dim, along, parts, alone=not names)
            why[plain] = "asked for" if dim in parts.told else "nothing else says where points are"
    every = sorted({*names, *why})
    beside = {name: f"{listed(every)} say where points are" for name in known if name not in every}
    notes = flat + [
        f"'{dim}' has a single entry ({first_entry(aside, dim)}) and is left out"
        for dim in squeezed
    ]
    return Places(tuple(every), "box", {n: why[n] for n in every}, squeezed, beside, tuple(notes))


def _without_surfaces(
    aside: xr.Dataset, chosen: dict[str, str], space: tuple[str, ...]
) -> dict[str, str]:
    """Without a z over the dimensions of x and y alone, which is a height of the ground."""
    if not {"x", "y", "z"} <= set(chosen) or chosen["z"] in aside.dims:
        return chosen
    flat = {dim for role in ("x", "y") for dim in aside[chosen[role]].dims}
    over = set(aside[chosen["z"]].dims)
    if over <= flat and len(flat & set(space)) > 1:
        return {role: name for role, name in chosen.items() if role != "z"}
    return chosen


def _without_constant_height(
    aside: xr.Dataset, chosen: dict[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Without a z that is the same at all points, as plane meshes have it."""
    if not {"x", "y", "z"} <= set(chosen):
        return chosen, []
    values = aside[chosen["z"]].values
    if values.size < 2 and chosen["z"] not in aside.dims:
        return chosen, []
    if np.isnan(values).any() or np.ptp(values):
        return chosen, []
    note = f"'{chosen['z']}' is {values.flat[0]:g} at every point and is left out"
    return {role: name for role, name in chosen.items() if role != "z"}, [note]


def _plain_coordinate(
    aside: xr.Dataset, dim: str, along: tuple[str, ...], parts: Dimensions, alone: bool
) -> str:
    """What locates points along a dimension of which nothing says that it is space."""
    found = [
        str(name)
        for name, variable in aside.variables.items()
        if name in aside.coords
        and dim in variable.dims
        and set(variable.dims) <= set(along)
        and variable.dtype.kind in "fiu"
    ]
    if not found:
        raise not_located(aside, dim, parts)
    told = dim in parts.told
    named = found[0].casefold() in _OTHER_PLACES
    names = [dim] if dim in found else found
    counter = all(counts(aside.variables[name].values) for name in names)
    if len(names) > 1:
        raise DataError(
            f"{listed(names)} all lie along '{dim}', and nothing says which of them are places; "
            "say so with "
            "--coords, all of them, separated by commas"
        )
    if not told and (not alone or (counter and not named) or parts.time is None):
        raise DataError(
            f"nothing says what dimension '{shown(dim)}' ({parts.sizes[dim]}) is; say so with "
            "--dims "
            f"{dim}=time, {dim}=sequence (separate runs) or {dim}=space, or keep one entry of it "
            "with "
            f"--select {dim}={first_entry(aside, dim)}"
        )
    return names[0]


def _require_located(aside: xr.Dataset, names: abc.Sequence[str], space: tuple[str, ...]) -> None:
    for dim in space:
        if not any(dim in aside[name].dims for name in names):
            raise not_located(aside, dim, None)


def _check_names(dataset: xr.Dataset, names: list[str], dims: set[str]) -> None:
    require_distinct(names, "coordinate")
    for name in names:
        if name not in dataset.variables:
            there = describe(dataset, dataset.coords)
            raise DataError(f"there is no coordinate '{shown(name)}'; the dataset has {there}")
        if not set(dataset[name].dims) <= dims or dataset[name].dtype.kind not in "fiu":
            raise DataError(
                f"coordinate '{name}' must be real numbers along {', '.join(sorted(dims))}, is "
                f"{describe(dataset, [name])} of type {dataset[name].dtype}"
            )


def named_coordinates(dataset: xr.Dataset, how: ReadAs) -> list[str] | None:
    """The coordinates that somebody names: the user, the file itself, or the model."""
    if how.coordinates is not None:
        return list(how.coordinates)
    known = [name for name in how.like.coordinates if name in dataset.variables]
    of_model = known if known and len(known) == len(how.like.coordinates) else None
    return recorded_names(dataset) or of_model


def recorded_names(dataset: xr.Dataset) -> list[str] | None:
    """The coordinates as `Trajectories.to_xarray` wrote them down, if they are still there."""
    names = np.atleast_1d(dataset.attrs.get("coordinate_names", [])).tolist()
    return names if names and all(name in dataset.variables for name in names) else None


def _recorded_geometry(dataset: xr.Dataset) -> Geometry | None:
    geometry = dataset.attrs.get("geometry")
    return cast(Geometry, geometry) if geometry in GEOMETRIES else None


def _told_geometry(dataset: xr.Dataset, names: list[str]) -> Geometry:
    roles = [role_of(name, dataset[name]).role for name in names]
    return "sphere" if sorted(map(str, roles)) == ["latitude", "longitude"] else "box"


def _latitude_first(dataset: xr.Dataset, names: list[str]) -> list[str]:
    """The order of a sphere; as the user has it where the file does not say."""
    verdicts = [role_of(name, dataset[name]) for name in names]
    certain = not any(verdict.contradiction for verdict in verdicts)
    roles = [verdict.role for verdict in verdicts]
    return names[::-1] if certain and roles == ["longitude", "latitude"] else names
