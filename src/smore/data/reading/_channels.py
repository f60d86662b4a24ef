"""Which variables are the channels, and why each of the others is not."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterator

import numpy as np
import xarray as xr

from smore.data.reading._roles import holds_dates, role_of
from smore.data.reading.record import listed, shown
from smore.data.validation import require_distinct, require_real, require_some
from smore.errors import DataError

WEIGHT_NAMES = ("quadrature_weights", "cell_area", "area", "areacella", "areacello", "areaCell")
# Dimensions that count the corners of a cell, or the ends of an interval.
_BOUND_DIMS = (
    "bnds",
    "bound",
    "bounds",
    "nbnd",
    "nbnds",
    "nb2",
    "nv",
    "nv_a",
    "vertices",
    "vertex",
    "ntb",
    "d2",
    "tbnd",
    "axis_nbounds",
    "nvertex",
    "corners",
    "ncorners",
    "hist_interval",
    "DateStrLen",
    "StrLen",
    "latv",
    "lonv",
)
_BOUND_SUFFIXES = ("_bnds", "_bounds", "_bound", "_vertices", "_bnd")


def candidates(dataset: xr.Dataset) -> dict[str, str]:
    """By data variable, why it cannot be a channel; "" where it can."""
    about = _about_others(dataset)
    return {
        str(name): _why_not(str(name), variable, about)
        for name, variable in dataset.data_vars.items()
    }


def _why_not(name: str, variable: xr.DataArray, about: dict[str, str]) -> str:
    if name in about:
        return about[name]
    if set(map(str, variable.dims)) & set(_BOUND_DIMS) or name.endswith(_BOUND_SUFFIXES):
        return "bounds of cells or intervals"
    if not variable.ndim:
        return "a single value"
    if is_weight(name, variable):
        return "weights"
    role = role_of(name, variable).role
    if role in ("latitude", "longitude"):
        return f"a {role}"
    if variable.ndim == 1 and (holds_dates(variable) or variable.dtype.kind == "m"):
        return "dates or durations"
    if variable.ndim == 1 and variable.dtype.kind in "SU":
        return "texts"
    if "flag_meanings" in variable.attrs or "flag_values" in variable.attrs:
        return "flags, not a quantity"
    return ""


def _about_others(dataset: xr.Dataset) -> dict[str, str]:
    """Variables that the CF conventions say are about other variables, and what they are."""
    words = {
        "bounds": "bounds of '{}'",
        "climatology": "bounds of '{}'",
        "ancillary_variables": "about '{}'",
        "grid_mapping": "the projection of '{}'",
        "formula_terms": "a term of the formula of '{}'",
    }
    about: dict[str, str] = {}
    for owner, variable in dataset.variables.items():
        for key, what in words.items():
            text = variable.attrs.get(key, variable.encoding.get(key, ""))
            for name in str(text).split():
                if name in dataset.data_vars and name != owner:
                    about.setdefault(name, what.format(owner))
    return about


def is_weight(name: abc.Hashable, variable: xr.Variable | xr.DataArray) -> bool:
    """Whether a variable holds the areas of cells."""
    return name in WEIGHT_NAMES or variable.attrs.get("standard_name") == "cell_area"


def group_by_dims(dataset: xr.Dataset, names: abc.Iterable[str]) -> dict[frozenset[str], list[str]]:
    """Variables by their dimensions, those of a single entry left out."""
    groups: dict[frozenset[str], list[str]] = {}
    for name in names:
        dims = frozenset(str(dim) for dim in dataset[name].dims if dataset.sizes[dim] > 1)
        groups.setdefault(dims, []).append(name)
    return groups


def ordered(dataset: xr.Dataset, names: list[str]) -> list[str]:
    """In the order the dataset says, if smore wrote it, or has."""
    order = np.atleast_1d(dataset.attrs.get("channel_names", [])).tolist()
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def require_channels(dataset: xr.Dataset, channels: abc.Sequence[str]) -> None:
    """Refuse channels that are not there, not real numbers, or on different grids."""
    require_some(len(channels), "channel")
    require_distinct(channels, "channel")
    for name in channels:
        if name not in dataset.variables:
            raise DataError(
                f"there is no channel '{shown(name)}'; the dataset has {listed(dataset.data_vars)}"
            )
        require_real(dataset[name].dtype, f"channel '{shown(name)}'")
    if len(group_by_dims(dataset, channels)) > 1:
        raise different_grids(dataset, channels)
    for dim in dataset[channels[0]].dims:
        require_some(dataset.sizes[dim], f"entry along dimension '{dim}'")


def different_grids(dataset: xr.Dataset, names: abc.Iterable[str]) -> DataError:
    """What is said of channels that have different dimensions."""
    groups = group_by_dims(dataset, names)
    told = "; ".join(
        f"{describe(dataset, [group[0]])}{_others(group)}" for group in list(groups.values())[:5]
    )
    largest = max(groups.values(), key=len)
    return DataError(
        f"all channels must have the same dimensions, got {told}; keep those that belong "
        "together, such as "
        f"--channels {','.join(map(shown, largest[:4]))} (in Python: channels=[...])"
    )


def _others(group: list[str]) -> str:
    return "" if len(group) == 1 else f" and {len(group) - 1} like it"


def describe(dataset: xr.Dataset, names: abc.Iterable[abc.Hashable]) -> str:
    """Variables with their dimensions, as in u(time, x)."""
    return listed(f"{name}({', '.join(map(str, dataset[name].dims))})" for name in names)


def left_over(
    dataset: xr.Dataset, channels: abc.Sequence[str], time: str | None, sequence: str | None
) -> Iterator[tuple[str, str]]:
    """Variables that could be channels by themselves but are not, and why."""
    for name, why in candidates(dataset).items():
        dims = set(map(str, dataset[name].dims))
        if name in channels or why:
            continue
        if dims == {time}:
            yield name, "over time alone: an input, or a time series"
        elif dims == {sequence}:
            yield name, "one value for each sequence: a parameter"
        elif time is not None and time not in dims:
            yield name, "the same at all times: a static field"
        else:
            yield name, "not asked for"
