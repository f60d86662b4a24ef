"""A stream from a dataset: CF points, time series, trajectories, or fields with gaps.

Whatever the layout, every value of a channel has a time, a place and a sensor, found by
broadcasting the variables that hold these to its dimensions. Ragged arrays (CF chapter 9) are
spread out first.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from smore.data.alignment import way_of_units
from smore.data.reading.places import ANGLE_NAMES
from smore.data.reading.stream_tables import SENSOR_NAMES, StreamTable
from smore.data.reading.tables import TIME_NAMES
from smore.data.space import SPHERE_NAMES, Channel, Clock, Space
from smore.errors import DataError

_ROLES = ("timeseries_id", "trajectory_id", "profile_id")


def read_stream_dataset(
    dataset: xr.Dataset, space: Space, channels: tuple[Channel, ...], clock: Clock
) -> StreamTable:
    """A stream from a dataset with channels over any dimensions.

    Sensors are told apart by the variable with a `cf_role`, or called sensor or station; else by
    where they stand.

    Raises:
        DataError: no channel, time or place of the model's in it, or other units.
    """
    dataset = _spread(dataset).reset_coords()
    names = [channel.name for channel in channels]
    present = [channel for channel in channels if channel.name in dataset]
    if not present:
        raise DataError(
            f"expected at least one of the channels {', '.join(names)} in the stream, got "
            f"{', '.join(map(str, dataset.data_vars)) or 'none'}; rename the variables"
        )
    time = dataset[_found(dataset, TIME_NAMES, "time", "time")]
    places = [_place(dataset, space, axis) for axis in range(space.dim)]
    sensor = _sensor(dataset)
    parts = []
    for channel in present:
        field = _converted(dataset[channel.name], f"channel '{channel.name}'", channel.units)
        wanted = [field, time, *places, *([] if sensor is None else [sensor])]
        try:
            same = [each.values.ravel() for each in xr.broadcast(*wanted)]
        except ValueError as error:
            raise DataError(
                f"'{channel.name}' and the variables that tell when and where do not fit: {error}"
            ) from None
        known = ~np.isnan(same[0].astype(float))
        parts.append((names.index(channel.name), [each[known] for each in same]))
    return _table(parts, len(names), space.dim, clock, sensor is not None)


def _table(
    parts: list[tuple[int, list[np.ndarray]]],
    num_channels: int,
    dim: int,
    clock: Clock,
    named: bool,
) -> StreamTable:
    """Rows with one value each."""
    counts = [len(part[0]) for _, part in parts]
    values = np.full((sum(counts), num_channels), np.nan)
    start = 0
    for (number, part), count in zip(parts, counts, strict=True):
        values[start : start + count, number] = part[0]
        start += count
    column = [np.concatenate([part[at] for _, part in parts]) for at in range(1, 2 + dim + named)]
    sensors = [_text(each) for each in column[-1].tolist()] if named else None
    coords = np.column_stack([each.astype(float) for each in column[1 : 1 + dim]])
    return StreamTable(clock.to_numbers(column[0]), coords, values, sensors)


def _found(dataset: xr.Dataset, names: tuple[str, ...], standard: str, what: str) -> str:
    """The variable of one of these names, or of this standard name."""
    for name in map(str, dataset.variables):
        if name.casefold() in names or dataset[name].attrs.get("standard_name") == standard:
            return name
    raise DataError(
        f"nothing in the stream says the {what} of its values: expected a variable called "
        f"{' or '.join(names)}, got {', '.join(map(str, dataset.variables))}; add or rename it"
    )


def _place(dataset: xr.Dataset, space: Space, axis: int) -> xr.DataArray:
    name = space.names[axis]
    names: tuple[str, ...] = (name.casefold(),)
    standard = name
    if space.geometry == "sphere":
        standard = SPHERE_NAMES[axis]
        names = (name.casefold(), *ANGLE_NAMES[standard])
    found = dataset[_found(dataset, names, standard, f"coordinate '{name}'")]
    if space.geometry == "sphere":
        return found
    return _converted(found, f"coordinate '{name}'", space.units[axis])


def _converted(values: xr.DataArray, what: str, units: str) -> xr.DataArray:
    factor, offset = way_of_units(what, units, values.attrs.get("units", ""))
    return values if (factor, offset) == (1, 0) else factor * values + offset


def _sensor(dataset: xr.Dataset) -> xr.DataArray | None:
    for name in dataset.variables:
        if dataset[name].attrs.get("cf_role") in _ROLES:
            return dataset[name]
    named = [name for name in map(str, dataset.variables) if name.casefold() in SENSOR_NAMES]
    return dataset[named[0]] if named else None


def _spread(dataset: xr.Dataset) -> xr.Dataset:
    """`dataset` with the instance of every observation written out, if it is a ragged array."""
    for name in map(str, dataset.variables):
        variable = dataset[name]
        if "sample_dimension" in variable.attrs:  # contiguous: how many observations in a row
            (instance,) = map(str, variable.dims)
            sample = str(variable.attrs["sample_dimension"])
            counts = np.nan_to_num(variable.values).astype(int)
            if counts.sum() != dataset.sizes.get(sample, -1):
                raise DataError(
                    f"'{name}' counts {counts.sum()} observations, dimension '{sample}' has "
                    f"{dataset.sizes.get(sample, 0)}; the file is not a CF ragged array"
                )
            index = np.repeat(np.arange(len(counts)), counts)
        elif "instance_dimension" in variable.attrs:  # indexed: which instance each belongs to
            (sample,) = map(str, variable.dims)
            instance = str(variable.attrs["instance_dimension"])
            index = variable.values.astype(int)
        else:
            continue
        rest = dataset.drop_vars(name)
        if index.size and not 0 <= index.min() <= index.max() < dataset.sizes.get(instance, 0):
            raise DataError(f"'{name}' points beyond dimension '{instance}' of the file")
        return rest.isel({instance: xr.DataArray(index, dims=sample)})
    return dataset


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
