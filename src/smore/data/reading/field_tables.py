"""Fields from a table: a CSV file with a row for every point at every time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.reading._roles import role_of_name
from smore.data.reading.record import listed, shown
from smore.data.reading.tables import (
    Line,
    coordinate_in,
    filled_lines,
    name_and_units,
    value_in,
)
from smore.errors import DataError

POINT = "point"


def read_field_table(path: Path, channels: Sequence[str] | None = None) -> xr.Dataset:
    """A dataset over (sequence,) time and points, from columns of times, places and channels.

    Columns are told by their names: time, sequence (or run, member, ..), and x, y, z, latitude,
    longitude;
    all others are channels. Units may stand behind a name, in brackets. Every time needs a row for
    every point.

    Raises:
        DataError: a cell that is no number, or rows that are missing or twice there.
    """
    header, *rows = filled_lines(path)
    units = _units_by_name(path, header)
    columns = list(units)
    roles = {title: role_of_name(title) for title in columns}
    if channels is not None:
        channels = [name_and_units(channel)[0] for channel in channels]
        roles |= dict.fromkeys(channels, None)
    by_role = {
        role: [title for title in columns if roles[title] == role] for role in ("time", "sequence")
    }
    places = [t for t in columns if roles[t] in ("x", "y", "z", "latitude", "longitude")]
    names = [t for t in columns if roles[t] is None and (channels is None or t in channels)]
    for kind, titles in by_role.items():
        if len(titles) > 1:
            raise DataError(f"{path}: {listed(titles)} all look like a {kind}; keep one of them")
    if not places or not names:
        raise DataError(
            f"{path}: expected columns of places (x, y, z, latitude, longitude) and of channels, "
            f"got {listed(header.cells)}"
        )
    cells = {
        title: [row.cells[k] for row in rows if len(row.cells) == len(columns)]
        for k, title in enumerate(columns)
    }
    if any(len(column) != len(rows) for column in cells.values()):
        bad = next(row for row in rows if len(row.cells) != len(header.cells))
        raise DataError(
            f"{path}, line {bad.number}: expected {len(header.cells)} cells as in the header, got "
            f"{len(bad.cells)}"
        )
    _require_numbers(path, cells, names)
    keys = [by_role[kind][0] if by_role[kind] else None for kind in ("sequence", "time")]
    dataset = _pivoted(path, cells, keys, places, names)
    for name, unit in units.items():
        variable = dataset.variables.get("time" if name == keys[1] else name)
        if unit and variable is not None and variable.dtype.kind == "f":  # dates have none
            variable.attrs["units"] = unit
    return dataset


def _units_by_name(path: Path, header: Line) -> dict[str, str]:
    """Name -> units, in the order of the columns."""
    units: dict[str, str] = {}
    titles: dict[str, str] = {}
    for title in header.cells:
        name, unit = name_and_units(title)
        if name in titles:
            raise DataError(
                f"{path}, line {header.number}: expected one column for '{shown(name)}', got "
                f"'{shown(titles[name])}' and '{shown(title)}'; rename one of them"
            )
        titles[name], units[name] = title, unit
    return units


def _require_numbers(path: Path, cells: dict[str, list[str]], names: list[str]) -> None:
    """Refuse columns that would be channels but hold text alone, such as names of stations."""
    examples = {name: _text_alone(cells[name]) for name in names}
    numbers = [name for name in names if examples[name] is None]
    for name, example in examples.items():
        if example is not None:
            others = f", or name the others by --channels {','.join(numbers)}" if numbers else ""
            raise DataError(
                f"{path}, column '{shown(name)}': expected numbers, got text such as "
                f"'{shown(example)}'; remove the column{others}"
            )


def _text_alone(column: list[str]) -> str | None:
    """The first cell that is text, in a column without any number."""
    texts = []
    for cell in column:
        try:
            if not math.isnan(value_in(cell)):
                return None
        except DataError:
            texts.append(cell)
    return texts[0] if texts else None


def _pivoted(
    path: Path,
    cells: dict[str, list[str]],
    keys: list[str | None],
    places: list[str],
    names: list[str],
) -> xr.Dataset:
    """Rows put where their time and point say."""
    count = len(cells[names[0]])
    entries, where = [], []
    for title in keys:
        texts = [""] * count if title is None else cells[title]
        labels = list(dict.fromkeys(texts))
        order = {label: number for number, label in enumerate(labels)}
        entries.append(labels)
        where.append(np.array([order[text] for text in texts]))
    coords = np.array([_column(path, title, cells[title], coordinate_in) for title in places]).T
    points, number = np.unique(coords, axis=0, return_inverse=True)
    shape = (len(entries[0]), len(entries[1]), len(points))
    flat = np.ravel_multi_index((*where, number.ravel()), shape)

    def told(entry: int) -> str:
        sequence, time, point = np.unravel_index(entry, shape)
        place = [f"{title} = {at:.12g}" for title, at in zip(places, points[point], strict=True)]
        labels = (entries[0][sequence], entries[1][time])
        when = [f"{t} {shown(label)}" for t, label in zip(keys, labels, strict=True) if t]
        return " at ".join([", ".join(place), *when[::-1]])

    _require_every_entry_once(path, flat, shape, told)
    variables = {}
    for name in names:
        values = np.empty(shape)
        values.ravel()[flat] = _column(path, name, cells[name], value_in)
        variables[name] = (("sequence", "time", POINT), values)
    dataset = xr.Dataset(
        variables, {title: (POINT, column) for title, column in zip(places, points.T, strict=True)}
    )
    if keys[0] is None:
        dataset = dataset.isel(sequence=0)
    if keys[1] is None:
        return dataset.isel(time=0)
    return dataset.assign_coords(time=("time", _times(entries[1], path))).sortby("time")


def _require_every_entry_once(
    path: Path, flat: NDArray[np.intp], shape: tuple[int, int, int], told: Callable[[int], str]
) -> None:
    """Refuse rows that are twice there or missing.

    Args:
        flat: the entry of an array of `shape` (sequences, times, points) that each row fills.
        told: an entry in words.
    """
    found, rows = np.unique(flat, return_index=True)
    if len(found) < len(flat):
        again = int(flat[np.setdiff1d(np.arange(len(flat)), rows)[0]])
        raise DataError(f"{path}: there are two rows for {told(again)}; keep one of them")
    if len(found) < np.prod(shape):
        before = found == np.arange(len(found))
        missing = len(found) if before.all() else int(np.argmin(before))
        raise DataError(
            f"{path}: expected {np.prod(shape)} rows, one for each of {shape[2]} points at "
            f"each of {shape[0] * shape[1]} times, got {len(flat)}; the first that is missing is "
            f"for {told(missing)}; add rows with blank cells where nothing is known"
        )


def _column(path: Path, title: str, texts: list[str], read: Callable[[str], float]) -> list[float]:
    try:
        return [read(text) for text in texts]
    except DataError as error:
        raise DataError(f"{path}, column '{shown(title)}': {error}") from None


def _times(texts: list[str], path: Path) -> np.ndarray:
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        pass
    try:
        return np.array([text.replace(" ", "T") for text in texts], dtype="datetime64[us]")
    except ValueError:
        raise DataError(
            f"{path}: expected times as numbers or as ISO dates, got '{shown(texts[0])}'"
        ) from None
