"""A stream of observations from a table: a row for every sensor and time.

    time, sensor, x,    y,    u,    v
    0.25, buoy 1, 0.31, 0.64, 1.02,
    0.30, glider, 0.50, 0.12, ,     0.7

Like a table of observations of one time (see `tables`), but with many times; `sensor` is optional.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from smore.data.alignment import way_of_units
from smore.data.reading.tables import (
    TIME,
    Columns,
    FloatArray,
    Line,
    filled_lines,
    meaning_with_units,
    numbers_of,
    require_coordinates,
)
from smore.data.space import Channel, Clock, Space
from smore.errors import DataError

SENSOR_NAMES = ("sensor", "station", "platform", "trajectory", "id", "name")


class StreamTable(NamedTuple):
    """A row for every time and place.

    Attributes:
        times: (rows,) numbers on the model's clock.
        coords: (rows, dim) in the order of the model's coordinates.
        values: (rows, channels of the model), NaN where nothing was observed.
        sensors: (rows,) names, None where nobody named any.
    """

    times: FloatArray
    coords: FloatArray
    values: FloatArray
    sensors: list[str] | None


def read_stream_table(
    path: str | PathLike[str], space: Space, channels: tuple[Channel, ...], clock: Clock
) -> StreamTable:
    """A stream from a CSV file; columns, cells and dates as `read_observations` has them.

    Raises:
        DataError: the file cannot be used as it is; the message says on which line and why.
    """
    path = Path(path)
    header, *rows = filled_lines(path)
    names = [channel.name for channel in channels]
    positions, told = _positions(header, path, space, names)
    require_coordinates(positions, header, path, space)
    present = [name for name in names if name in positions]
    where = f"{path}, line {header.number}"
    if TIME not in positions:
        raise DataError(
            f"{where}: expected a column '{TIME}', got {', '.join(header.cells)}; add it"
        )
    if not present:
        raise DataError(
            f"{where}: expected a column for at least one of the channels {', '.join(names)}, "
            f"got {', '.join(header.cells)}; add it, or name the column after it"
        )
    if not rows:
        raise DataError(f"there are no observations in {path}, only a header; add rows below it")
    columns = Columns(
        header.cells,
        coordinates=[positions[name] for name in space.names],
        channels=[positions[name] for name in present],
        time=positions[TIME],
        sequence=None,
        units=told,
    )
    numbers = np.array([numbers_of(row, path, columns, clock) for row in rows])
    units = dict(zip(space.names, space.units, strict=True)) | {
        channel.name: channel.units for channel in channels
    }
    for column, name in enumerate([*space.names, *present], start=1):
        what = f"{'channel' if name in names else 'coordinate'} '{name}'"
        factor, offset = way_of_units(what, units[name], told.get(name, ""))
        numbers[:, column] = factor * numbers[:, column] + offset
    values = np.full((len(rows), len(names)), np.nan)
    values[:, [names.index(name) for name in present]] = numbers[:, 1 + space.dim :]
    sensors = None
    if "" in positions:  # what `_positions` calls the sensor's column
        sensors = [_sensor(row, path, positions[""]) for row in rows]
    return StreamTable(numbers[:, 0], numbers[:, 1 : 1 + space.dim], values, sensors)


def _positions(
    header: Line, path: Path, space: Space, channels: list[str]
) -> tuple[dict[str, int], dict[str, str]]:
    """Where coordinates, channels, time and (called "") the sensor are, and units they tell."""
    positions: dict[str, int] = {}
    units: dict[str, str] = {}
    for position, title in enumerate(header.cells):
        found, told = meaning_with_units(title, space, channels)
        if found is None and title.casefold() in SENSOR_NAMES:
            found = ""
        if found is None or found == "sequence":
            raise DataError(
                f"{path}, line {header.number}: unknown column '{title}' of a stream; expected "
                f"{TIME}, the coordinates {', '.join(space.names)}, any of the channels "
                f"{', '.join(channels)}, and if need be sensor; rename or remove the column, or "
                "assimilate one sequence at a time"
            )
        if found in positions:
            raise DataError(
                f"{path}, line {header.number}: expected one column for '{found or 'sensor'}', got "
                f"'{header.cells[positions[found]]}' and '{title}'; remove one of them"
            )
        positions[found] = position
        units[found] = told
    return positions, units


def _sensor(row: Line, path: Path, position: int) -> str:
    name = row.cells[position]
    if not name:
        raise DataError(
            f"{path}, line {row.number}: expected the name of a sensor, got a blank cell; name it, "
            "or remove the column"
        )
    return name
