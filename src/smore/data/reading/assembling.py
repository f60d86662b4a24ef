"""Datasets from named arrays, by what the user says about their axes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.reading.record import listed, shown
from smore.errors import DataError

CHANNEL = "channel"
_TARGET = re.compile(r"([^()=]+?)\s*(?:\(([^()]*)\))?")


def dataset_of(
    arrays: Mapping[str, NDArray],
    axes: Sequence[str],
    channels: Sequence[str] | None = None,
) -> xr.Dataset:
    """The arrays that have these axes, as data variables; an axis 'channel' is taken apart.

    Args:
        arrays: by name.
        axes: a name for each axis, such as time, y, x.
        channels: which arrays, or names for the entries along 'channel'; default: all.

    Raises:
        DataError: no array has as many axes, or they differ in shape.
    """
    if len(set(axes)) != len(axes) or not all(axes):
        raise DataError(f"expected different names of axes, got {listed(axes)}")
    apart = CHANNEL in axes
    asked = None if apart else channels
    chosen = {name: arrays[name] for name in arrays if asked is None or name in asked}
    for name in asked or ():
        if name not in arrays:
            raise DataError(f"there is no array '{shown(name)}'; the file has {_shapes(arrays)}")
    fields = {name: array for name, array in chosen.items() if array.ndim == len(axes)}
    if not fields:
        raise DataError(
            f"expected an array with {len(axes)} axes ({', '.join(axes)}), got "
            f"{_shapes(arrays)}; name all "
            "axes of the fields with --axes"
        )
    if len({array.shape for array in fields.values()}) > 1:
        raise DataError(
            f"arrays with the axes {', '.join(axes)} differ in shape: {_shapes(fields)}; say "
            "which with "
            "--channels"
        )
    if not apart:
        return xr.Dataset({name: (tuple(axes), array) for name, array in fields.items()})
    return _taken_apart(fields, axes, channels)


def _taken_apart(
    fields: Mapping[str, NDArray], axes: Sequence[str], channels: Sequence[str] | None
) -> xr.Dataset:
    if len(fields) > 1:
        raise DataError(f"an axis '{CHANNEL}' needs one array, got {_shapes(fields)}")
    ((name, array),) = fields.items()
    axis = list(axes).index(CHANNEL)
    names = list(channels or (f"{name}{k}" for k in range(array.shape[axis])))
    if len(names) != array.shape[axis]:
        raise DataError(
            f"expected {array.shape[axis]} names for the axis '{CHANNEL}', got {listed(names)}"
        )
    rest = tuple(each for each in axes if each != CHANNEL)
    pieces = np.moveaxis(array, axis, 0)
    return xr.Dataset({each: (rest, piece) for each, piece in zip(names, pieces, strict=True)})


def with_coordinate(
    dataset: xr.Dataset, target: str, values: NDArray, units: str = ""
) -> xr.Dataset:
    """`dataset` with a coordinate along the axis of its name, or along those that `x(point)` names.

    Raises:
        DataError: no such axis, or another length.
    """
    found = _TARGET.fullmatch(target.strip())
    if found is None:
        raise DataError(f"expected NAME or NAME(AXIS) for a coordinate, got {target!r}")
    name = found[1].strip()
    along = (
        [axis.strip() for axis in found[2].split(",")]
        if found[2]
        else _along(dataset, name, values)
    )
    for axis in along:
        if axis not in dataset.dims:
            raise DataError(
                f"there is no axis '{shown(axis)}' for the coordinate '{shown(name)}'; there are "
                f"{listed(dataset.sizes)}"
            )
    shape = tuple(dataset.sizes[axis] for axis in along)
    if values.shape != shape:
        raise DataError(
            f"coordinate '{shown(name)}' must have the shape {shape} of {', '.join(along)}, has "
            f"{values.shape}"
        )
    return dataset.assign_coords({name: (tuple(along), values, {"units": units} if units else {})})


def _along(dataset: xr.Dataset, name: str, values: NDArray) -> list[str]:
    if name in dataset.dims:
        return [name]
    fitting = [str(axis) for axis, size in dataset.sizes.items() if (size,) == values.shape]
    if len(fitting) != 1:
        raise DataError(
            f"cannot tell along which axis '{shown(name)}' runs; say so, as in --coord "
            f"'{name}(AXIS)=...', "
            f"with AXIS one of {listed(dataset.sizes)}"
        )
    return fitting


def _shapes(arrays: Mapping[str, NDArray]) -> str:
    return listed(f"{shown(name)} {array.shape}" for name, array in arrays.items())
