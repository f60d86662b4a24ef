"""Which variable of a dataset plays which part, and the record of how that was found.

1. Data variables that can be channels are told from bounds, flags, weights and the like
(`_channels`).
2. Each of their dimensions is time, sequence or space (`_dimensions`), by attributes, then by
names.
3. Every dimension of space is located by coordinates (`places`).

Where two readings are possible, the user is asked for the option that decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from smore.data.reading._channels import (
    WEIGHT_NAMES,
    candidates,
    describe,
    different_grids,
    group_by_dims,
    is_weight,
    left_over,
    ordered,
    require_channels,
)
from smore.data.reading._dimensions import SEQUENCE, Dimensions, find_dimensions
from smore.data.reading._roles import role_of
from smore.data.reading.places import Places, find_places, named_coordinates
from smore.data.reading.record import LeftOut, Reading, Taken
from smore.data.reading.request import ReadAs
from smore.data.reading.ugrid import ToldCells
from smore.data.space import Geometry
from smore.errors import DataError

# What xarray calls the axes of plain HDF5 arrays.
UNNAMED = "phony_dim_"

__all__ = ["SEQUENCE", "WEIGHT_NAMES", "Layout", "find_layout"]


@dataclass(frozen=True)
class Layout:
    """The parts that the names of a dataset play.

    Attributes:
        sequence: the dimension that separates sequences, None for a single one.
        time: the dimension of time, None for a single snapshot.
        instants: the variable that says when, None where nothing does.
        space: all other dimensions of the channels.
        channels: the data variables to take, in order.
        coordinates: the variables that locate the points, in the order of `Space.names`.
        geometry: what the coordinates are.
        weights: the variable with quadrature weights, if there is one.
        squeezed: dimensions with a single entry that play no part.
        reading: why, in words.
        cells: those that were taken out of the dataset before, if it has any.
    """

    sequence: str | None
    time: str | None
    instants: str | None
    space: tuple[str, ...]
    channels: tuple[str, ...]
    coordinates: tuple[str, ...]
    geometry: Geometry
    weights: str | None
    squeezed: tuple[str, ...]
    reading: Reading
    cells: ToldCells | None = None


def find_layout(dataset: xr.Dataset, how: ReadAs) -> Layout:
    """The layout of `dataset`.

    Raises:
        DataError: no channel, channels with different dimensions, nothing that varies in space,
            points whose place is not told, or two readings that are possible.
    """
    channels, parts = _channels(dataset, how)
    dims = [dim for dim in map(str, dataset[channels[0]].dims) if dim not in parts.squeezed]
    steady = tuple(dim for dim in dims if dim != parts.time)
    space = tuple(dim for dim in steady if dim != parts.sequence)
    if not space:
        raise DataError(
            f"the channels vary over {tuple(dims)} only; expected a dimension of space too"
        )
    weights = _weights(dataset, channels, steady)
    aside = dataset.drop_vars([*channels, *([] if weights is None else [weights])])
    places = find_places(aside, dataset, channels, space, steady, parts, how)
    squeezed = (*parts.squeezed, *places.squeezed)
    sequence = parts.sequence if parts.sequence in dims else None
    time = parts.time if parts.time in dims else None
    record = _record(dataset, channels, parts, places, weights)
    return Layout(
        sequence=sequence,
        time=time,
        instants=parts.instants,
        space=tuple(dim for dim in space if dim not in places.squeezed),
        channels=tuple(channels),
        coordinates=places.names,
        geometry=places.geometry,
        weights=weights,
        squeezed=squeezed,
        reading=record,
    )


def _channels(dataset: xr.Dataset, how: ReadAs) -> tuple[list[str], Dimensions]:
    """The channels, in order, and the parts of their dimensions."""
    told = _told_dims(dataset, how)
    # A model's channels are taken if all are there; else one may have another name here.
    known = bool(how.like.channels) and set(how.like.channels) <= set(map(str, dataset.data_vars))
    if how.channels is not None or known:
        names = [str(name) for name in how.channels or how.like.channels]
        require_channels(dataset, names)
        return names, find_dimensions(dataset, _dims(dataset, names), told)
    able = [name for name, why in candidates(dataset).items() if not why]
    if any(str(dim).startswith(UNNAMED) for dim in dataset.dims):
        raise DataError(
            f"the arrays of this file have no named axes: {describe(dataset, able)}; name them "
            "with smore data convert FILE OUT.nc --axes time,y,x"
        )
    used = _dims(dataset, able)
    # Dimensions of variables that turn out to be no channels may be anything.
    parts = find_dimensions(dataset, [dim for dim in used if _matters(dataset, able, dim)], told)
    able = [
        name
        for name in able
        if set(dataset[name].dims) - {parts.sequence, parts.time}
        and (parts.time is None or parts.time in dataset[name].dims)
        and not (parts.time is None and _is_place(name, dataset[name]))
    ]
    if not able:
        over = f"'{parts.time}' and space" if parts.time else "time and space"
        raise DataError(
            f"expected data variables over {over} to take as channels, found none among "
            f"{describe(dataset, dataset.data_vars) or 'no variables'}; name them with "
            "--channels, the "
            "dimension of time with --dims NAME=time, that of separate runs with --dims "
            "NAME=sequence"
        )
    if len(group_by_dims(dataset, able)) > 1:
        raise different_grids(dataset, able)
    able = ordered(dataset, able)
    require_channels(dataset, able)
    return able, find_dimensions(dataset, _dims(dataset, able), told)


def _told_dims(dataset: xr.Dataset, how: ReadAs) -> dict[str, str]:
    """What the user says of dimensions; the index of one that is called a coordinate is space."""
    named = named_coordinates(dataset, how) or []
    return {name: "space" for name in named if name in dataset.dims} | dict(how.dims)


def _dims(dataset: xr.Dataset, names: list[str]) -> list[str]:
    """All dimensions of some variables, in the order of the first."""
    return list(dict.fromkeys(str(dim) for name in names for dim in dataset[name].dims))


def _matters(dataset: xr.Dataset, names: list[str], dim: str) -> bool:
    """Whether a dimension belongs to the variables with the most dimensions that have it."""
    return any(dim in dataset[name].dims and dataset[name].ndim > 1 for name in names) or all(
        dataset[name].ndim == 1 for name in names
    )


def _is_place(name: str, variable: xr.DataArray) -> bool:
    return role_of(name, variable).role in ("x", "y", "z")


def _weights(dataset: xr.Dataset, channels: list[str], dims: tuple[str, ...]) -> str | None:
    measures = str(dataset[channels[0]].attrs.get("cell_measures", ""))
    named = [name for name in measures.replace("area:", " ").split() if name in dataset.variables]
    found = [
        str(name)
        for name in [*named, *dataset.variables]
        if (name in named or is_weight(name, dataset[name]))
        and set(dataset[name].dims) <= set(dims)
    ]
    return next(iter(found), None)


def _record(
    dataset: xr.Dataset,
    channels: list[str],
    parts: Dimensions,
    places: Places,
    weights: str | None,
) -> Reading:
    taken = []
    for dim, part in ((parts.time, "time"), (parts.sequence, "sequence")):
        if dim is not None:
            taken.append(Taken(dim, part, parts.why[dim]))
    if parts.instants not in (None, parts.time):
        taken.append(Taken(str(parts.instants), "times", f"it says when, along '{parts.time}'"))
    taken += [Taken(name, "coordinate", why) for name, why in places.why.items()]
    for name in channels:
        dims = ", ".join(map(str, dataset[name].dims))
        taken.append(Taken(name, "channel", f"over ({dims})"))
    if weights is not None:
        taken.append(Taken(weights, "weights", "areas of the cells"))
    known = {each.name for each in taken} | set(places.names)
    left = [
        LeftOut(name, why) for name, why in candidates(dataset).items() if why and name not in known
    ]
    left += [
        LeftOut(name, why)
        for name, why in left_over(dataset, channels, parts.time, parts.sequence)
        if name not in known
    ]
    left += [LeftOut(name, why) for name, why in places.left_out.items()]
    notes = [f"'{dim}' has a single entry and is left out" for dim in parts.squeezed]
    return Reading(tuple(taken), tuple(left), (*notes, *places.notes))
