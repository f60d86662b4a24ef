"""Which variable of a dataset plays which part.

The dimensions `sequence` and `time` (or `t`) are known by name; every other dimension of a channel
is space. Channels are the data variables that vary over time and space. Where the points are is a
question of its own: see `places`.
"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass

import numpy as np
import xarray as xr

from smore.data.reading.places import describe, find_places, is_place
from smore.data.space import Geometry
from smore.data.validation import require_distinct, require_real, require_some
from smore.errors import DataError

SEQUENCE = "sequence"
TIME_NAMES = ("time", "t")
# Dimensions that are certainly not space, and are taken for it when they have an index.
_RUN_NAMES = ("trajectory", "sample", "batch", "member", "ensemble", "realization", "run")
WEIGHT_NAMES = ("quadrature_weights", "cell_area", "area")


@dataclass(frozen=True)
class Layout:
    """The parts that the names of a dataset play.

    Attributes:
        sequence: the dimension that separates sequences, None for a single one.
        time: the dimension of time, None for a single snapshot.
        space: all other dimensions of the channels.
        channels: the data variables to take, in order.
        coordinates: the variables that locate the points, in the order of `Space.names`.
        geometry: what the coordinates are.
        weights: the variable with quadrature weights, if there is one.
    """

    sequence: str | None
    time: str | None
    space: tuple[str, ...]
    channels: tuple[str, ...]
    coordinates: tuple[str, ...]
    geometry: Geometry
    weights: str | None


def find_layout(
    dataset: xr.Dataset,
    channels: abc.Sequence[str] | None,
    geometry: Geometry | None,
    coordinate_names: abc.Sequence[str] | None,
) -> Layout:
    """The layout of `dataset`; arguments as in `Trajectories.from_xarray`.

    Raises:
        DataError: no channel, channels with different dimensions, nothing that varies in space,
            or points whose place is not told.
    """
    time = next((name for name in TIME_NAMES if name in dataset.dims), None)
    if channels is None:
        channels = _channels_in(dataset, time)
    dims = _common_dims(dataset, channels)
    steady = tuple(name for name in dims if name != time)
    space = tuple(name for name in steady if name != SEQUENCE)
    if not space:
        raise DataError(f"the channels vary over {dims} only; expected a dimension of space too")
    for name in set(space) & set(_RUN_NAMES):
        raise DataError(
            f"dimension '{name}' is no dimension of space; if it counts separate runs, rename it: "
            f"dataset.rename({name}='sequence')"
        )
    others = dataset.drop_vars(channels)
    weights = _weights_in(others, steady)
    coordinates, geometry = find_places(
        others.drop_vars(weights or []), space, steady, geometry, coordinate_names
    )
    return Layout(
        sequence=SEQUENCE if SEQUENCE in dims else None,
        time=time if time in dims else None,
        space=space,
        channels=tuple(channels),
        coordinates=coordinates,
        geometry=geometry,
        weights=weights,
    )


def _channels_in(dataset: xr.Dataset, time: str | None) -> list[str]:
    """All data variables over time and space, in the order the dataset says or has."""
    # By the CF conventions: cell bounds, and what variables say about others, such as their error.
    about_others = {
        name
        for variable in dataset.variables.values()
        for role in ("bounds", "ancillary_variables")
        for name in str(variable.attrs.get(role, variable.encoding.get(role, ""))).split()
    }
    names = [
        str(name)
        for name, variable in dataset.data_vars.items()
        if set(variable.dims) - {SEQUENCE, time}
        and (time is None or time in variable.dims)
        and not (time is None and (is_place(name, variable) or _is_weight(name, variable)))
        and name not in about_others
    ]
    if not names:
        kind = f"'{time}' and space" if time else "space"
        raise DataError(
            f"expected data variables over {kind} to take as channels, found none among "
            f"{describe(dataset, dataset.data_vars) or 'no variables'}; name the dimension of time "
            "'time', that of separate runs 'sequence'"
        )
    order = np.atleast_1d(dataset.attrs.get("channel_names", [])).tolist()
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def _common_dims(dataset: xr.Dataset, channels: abc.Sequence[str]) -> tuple[str, ...]:
    """The dimensions that all channels have, in the order of the first."""
    require_some(len(channels), "channel")
    require_distinct(channels, "channel")
    for name in channels:
        if name not in dataset:
            there = ", ".join(map(str, dataset.data_vars))
            raise DataError(f"there is no channel '{name}'; the dataset has {there}")
        require_real(dataset[name].dtype, f"channel '{name}'")
    dims = tuple(map(str, dataset[channels[0]].dims))
    if any(set(dataset[name].dims) != set(dims) for name in channels):
        raise DataError(
            f"all channels must have the same dimensions, got {describe(dataset, channels)}; "
            "keep those that belong together: drop the others from the file, or in Python pass "
            "channels=[...]"
        )
    for name in dims:
        require_some(dataset.sizes[name], f"entry along dimension '{name}'")
    return dims


def _weights_in(dataset: xr.Dataset, dims: tuple[str, ...]) -> str | None:
    found = (
        str(name)
        for name, variable in dataset.variables.items()
        if _is_weight(name, variable) and set(variable.dims) <= set(dims)
    )
    return next(found, None)


def _is_weight(name: abc.Hashable, variable: xr.Variable | xr.DataArray) -> bool:
    return name in WEIGHT_NAMES or variable.attrs.get("standard_name") == "cell_area"
