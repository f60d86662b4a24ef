"""Observations from a table: a CSV file with a row for every point at which something is known.

    # two stations, one of them without a barometer
    latitude, longitude, pressure, wind
    51.5,     -0.1,      1013.2,   3.1
    48.9,      2.4,      ,         2.7

A blank cell is a value that was not observed. The columns may come in any order, and have their
units in
brackets: pressure [hPa].
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smore.data.mesh import shared_meshes
from smore.data.quadrature import scattered_mesh
from smore.data.reading._layout import SEQUENCE
from smore.data.reading.places import ANGLE_NAMES
from smore.data.sequence import Sequence
from smore.data.space import SPHERE_NAMES, Channel, Clock, Space
from smore.data.trajectories import Trajectories
from smore.data.validation import validated
from smore.errors import DataError

FloatArray = NDArray[np.float64]

TIME_NAMES = ("time", "t")
TIME = TIME_NAMES[0]

_SEPARATORS = ("\t", ";", ",")
_WITH_UNITS = re.compile(r"(.+?)\s*[\[(]([^\[\]()]*)[\])]")
_UNOBSERVED = ("", "na", "nan")


class Line(NamedTuple):
    number: int
    cells: list[str]


@dataclass(frozen=True)
class Columns:
    """Which columns of a table hold what, as positions in a row."""

    titles: list[str]
    coordinates: list[int]
    channels: list[int]
    time: int | None
    sequence: int | None
    units: dict[str, str]


def read_observations(
    path: str | PathLike[str], *, space: Space, channels: tuple[Channel, ...], clock: Clock
) -> Trajectories:
    """One snapshot per sequence, at scattered points, from a CSV file.

    The columns are named in the first line: every coordinate of `space`, one or more of
    `channels`, and if need be `time` (or `t`) and `sequence`. Capitals make no difference except
    in the names of channels; on a sphere lat, latitude, lon and longitude are understood too.
    Cells are separated by commas, semicolons or tabs, numbers have decimal points, and lines that
    begin with # are comments.

    Args:
        path: the file, in UTF-8.
        space: the coordinates of the model.
        channels: the channels of the model; those without a column are left out of the result. A
            blank cell, NaN or NA is a value that was not observed.
        clock: times are ISO dates (UTC unless they say otherwise) on a clock with dates, else
            numbers in its units. Without a time column the observations are of time 0, except
            for dates, which must be given.

    Returns:
        One sequence for each label in the column `sequence`, in order of first appearance, or a
        single one if there is no such column; float64, with the channels in the model's order.

    Raises:
        DataError: the file cannot be used as it is; the message says on which line and why.
    """
    path = Path(path)
    header, *rows = filled_lines(path)
    columns = _find_columns(header, path, space, [channel.name for channel in channels])
    if clock.kind == "datetime" and columns.time is None:
        raise DataError(
            f"{path}, line {header.number}: expected a column '{TIME}', since the model tells "
            f"times as dates; add it, with ISO dates such as {clock.reference}"
        )
    if not rows:
        raise DataError(f"there are no observations in {path}, only a header; add rows below it")
    tables = _numbers_by_sequence(rows, path, columns, clock)
    _require_one_time(tables, path, columns, clock)
    _require_observed(tables, path, columns)

    meshes = shared_meshes(
        scattered_mesh(table[:, 1 : 1 + space.dim], space.geometry) for table in tables.values()
    )
    sequences = tuple(
        Sequence(table[:1, 0], table[:, 1 + space.dim :].T[None], mesh)
        for table, mesh in zip(tables.values(), meshes, strict=True)
    )
    named = [(channel, columns.units.get(channel.name)) for channel in channels]
    present = tuple(
        channel if not units else channel.model_copy(update={"units": units})
        for channel, units in named
        if units is not None
    )
    units = (columns.units.get(n) or u for n, u in zip(space.names, space.units, strict=True))
    space = space.model_copy(update={"units": tuple(units)})
    groups = tuple(range(len(sequences)))
    try:
        return validated(Trajectories(sequences, present, space, clock, groups), missing="mask")
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def read_points(path: str | PathLike[str], space: Space) -> FloatArray:
    """Points (points, dim) from the columns of a CSV file; other columns are ignored.

    Raises:
        DataError: a coordinate without a column, or a cell that is no number.
    """
    path = Path(path)
    header, *rows = filled_lines(path)
    meanings = [meaning(title, space, []) for title in header.cells]
    positions = {name: number for number, name in enumerate(meanings) if name is not None}
    require_coordinates(positions, header, path, space)
    if not rows:
        raise DataError(f"there are no points in {path}, only a header; add rows below it")
    columns = Columns(header.cells, [positions[name] for name in space.names], [], None, None, {})
    clock = Clock()
    return np.array([numbers_of(row, path, columns, clock)[1:] for row in rows])


def filled_lines(path: Path) -> list[Line]:
    """Every line that is neither blank nor a comment; the header is first."""
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            # Comments become blank lines rather than none: the reader counts lines.
            lines = ["" if line.startswith("#") else line for line in file]
        header = next((line for line in lines if line.strip()), "")
        separator = max(_SEPARATORS, key=header.count)
        reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        table = [Line(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"cannot read {path} as a table ({error}); save it as a CSV file in UTF-8"
        ) from error
    filled = [line for line in table if any(line.cells)]
    if not filled:
        raise DataError(
            f"there are no observations in {path}, it is empty; expected a line with the names of "
            "the columns, and a row for every point"
        )
    return filled


def _find_columns(header: Line, path: Path, space: Space, channels: list[str]) -> Columns:
    where, titles = f"{path}, line {header.number}", header.cells
    positions: dict[str, int] = {}
    units: dict[str, str] = {}
    for position, title in enumerate(titles):
        found, told = meaning_with_units(title, space, channels)
        if found is None:
            raise DataError(
                f"{where}: unknown column '{title}'; expected the coordinates "
                f"{', '.join(space.names)}, any of the channels {', '.join(channels)}, and if need "
                f"be {TIME} and {SEQUENCE}; rename or remove the column"
            )
        if found in positions:
            raise DataError(
                f"{where}: expected one column for '{found}', got "
                f"'{titles[positions[found]]}' and '{title}'; remove one of them"
            )
        positions[found] = position
        units[found] = told
    require_coordinates(positions, header, path, space)
    present = [name for name in channels if name in positions]
    if not present:
        raise DataError(
            f"{where}: expected a column for at least one of the channels {', '.join(channels)}, "
            f"got {', '.join(titles)}; add it, or name the column after it"
        )
    return Columns(
        titles,
        coordinates=[positions[name] for name in space.names],
        channels=[positions[name] for name in present],
        time=positions.get(TIME),
        sequence=positions.get(SEQUENCE),
        units=units,
    )


def require_coordinates(positions: dict[str, int], header: Line, path: Path, space: Space) -> None:
    for name in space.names:
        if name not in positions:
            raise DataError(
                f"{path}, line {header.number}: expected a column for coordinate '{name}', got "
                f"{', '.join(header.cells)}; add it, or name the column after it"
            )


def meaning(title: str, space: Space, channels: list[str]) -> str | None:
    """The coordinate or channel in a column, `TIME`, `SEQUENCE`, or None if it is unknown."""
    # A channel may have a name that means something else elsewhere: temperature is often called t.
    if title in space.names or title in channels:
        return title
    title = title.casefold()
    for name in space.names:
        if title == name.casefold():
            return name
    if space.geometry == "sphere":
        for name, angle in zip(space.names, SPHERE_NAMES, strict=True):
            if title in ANGLE_NAMES[angle]:
                return name
    if title in TIME_NAMES:
        return TIME
    return SEQUENCE if title == SEQUENCE else None


def meaning_with_units(title: str, space: Space, channels: list[str]) -> tuple[str | None, str]:
    """`meaning`, and the units that a title tells in brackets behind it."""
    found = meaning(title, space, channels)
    if found is not None:
        return found, ""
    name, units = name_and_units(title)
    return meaning(name, space, channels), units


def name_and_units(title: str) -> tuple[str, str]:
    """What a title says before its brackets, and what they hold; "" where there are none."""
    bracket = _WITH_UNITS.fullmatch(title)
    return (title, "") if bracket is None else (bracket[1], bracket[2].strip())


def _numbers_by_sequence(
    rows: list[Line], path: Path, columns: Columns, clock: Clock
) -> dict[str, FloatArray]:
    """By label: (rows, 1 + dim + channels) time, coordinates and values, NaN if unobserved."""
    collected: dict[str, list[list[float]]] = {}
    for row in rows:
        numbers = numbers_of(row, path, columns, clock)
        label = "" if columns.sequence is None else row.cells[columns.sequence]
        if columns.sequence is not None and not label:
            raise DataError(
                f"{path}, line {row.number}: expected a label in column "
                f"'{columns.titles[columns.sequence]}', got a blank cell; say to which sequence "
                "the row belongs"
            )
        collected.setdefault(label, []).append(numbers)
    return {label: np.array(numbers) for label, numbers in collected.items()}


def numbers_of(row: Line, path: Path, columns: Columns, clock: Clock) -> list[float]:
    """Time, coordinates and values of one row."""
    cells, where = row.cells, f"{path}, line {row.number}"
    if len(cells) != len(columns.titles):
        raise DataError(
            f"{where}: expected {len(columns.titles)} cells as in the header, got {len(cells)}; a "
            "blank cell needs its separator too"
        )

    def read(position: int, number: Callable[[str], float]) -> float:
        try:
            return number(cells[position])
        except DataError as error:
            raise DataError(f"{where}, column '{columns.titles[position]}': {error}") from None

    time = 0.0 if columns.time is None else read(columns.time, partial(_time, clock=clock))
    coordinates = [read(position, coordinate_in) for position in columns.coordinates]
    return [time, *coordinates, *(read(position, value_in) for position in columns.channels)]


def coordinate_in(cell: str) -> float:
    """The number in a cell."""
    return _number(cell, "correct it, or leave out the row")


def value_in(cell: str) -> float:
    """The value in a cell, NaN for a blank one."""
    if cell.casefold() in _UNOBSERVED:
        return math.nan
    return _number(cell, "correct it, or leave the cell blank if nothing was observed")


def _time(cell: str, clock: Clock) -> float:
    """A time as the file tells it -> a number on `clock`."""
    if clock.kind != "datetime":
        return _number(cell, f"the model tells times as numbers in {clock.units or 'its units'}")
    try:
        if clock.calendar is not None:
            return float(clock.to_numbers(clock.read([cell]))[0])
        moment = datetime.fromisoformat(cell)
    except ValueError:
        of_calendar = "" if clock.calendar is None else f" of the calendar '{clock.calendar}'"
        raise DataError(
            f"expected an ISO date such as {clock.reference}, got {_told(cell)}; the model tells "
            f"times as dates{of_calendar}"
        ) from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return float(clock.to_numbers(np.datetime64(moment, "us")))


def _number(cell: str, remedy: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        raise DataError(
            f"expected a number, with a point before its decimals, got {_told(cell)}; {remedy}"
        ) from None
    if not math.isfinite(number):
        raise DataError(f"expected a finite number, got {_told(cell)}; {remedy}")
    return number


def _told(cell: str) -> str:
    return f"'{cell}'" if cell else "a blank cell"


def _require_one_time(
    tables: dict[str, FloatArray], path: Path, columns: Columns, clock: Clock
) -> None:
    for label, table in tables.items():
        times = np.unique(table[:, 0])
        if len(times) == 1:
            continue
        told = clock.to_values(times) if clock.kind == "datetime" else times
        listed = ", ".join(map(str, told[:5])) + (", ..." if len(told) > 5 else "")
        which, remedy = f"sequence '{label}' of {path}", "keep the rows of one"
        if columns.sequence is None:
            which, remedy = str(path), f"{remedy}, tell them apart in a column '{SEQUENCE}'"
        raise DataError(
            f"observations of one time are expected, {which} has {len(times)} times: {listed}; "
            f"{remedy}, or give all of them to `smore assimilate`"
        )


def _require_observed(tables: dict[str, FloatArray], path: Path, columns: Columns) -> None:
    num_channels = len(columns.channels)
    blank = [label for label, table in tables.items() if np.isnan(table[:, -num_channels:]).all()]
    if len(blank) == len(tables):
        raise DataError(
            f"there are no observations in {path}: every cell of its channels is blank; fill in "
            "the values that are known"
        )
    if blank:
        raise DataError(
            f"there are no observations in sequence '{blank[0]}' of {path}: every cell of its "
            "channels is blank; leave out its rows"
        )
