"""Fields from a table: a CSV file with a row for every point at every time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from smore.data.reading._roles import role_of_name
from smore.data.reading.record import listed, shown
from smore.data.reading.tables import coordinate_in, filled_lines, value_in
from smore.errors import DataError

POINT = "point"


def read_field_table(path: Path, channels: Sequence[str] | None = None) -> xr.Dataset:
    """A dataset over (sequence,) time and points, from columns of times, places and channels.

    Columns are told by their names: time, sequence (or run, member, ..), and x, y, z, latitude,
    longitude;
    all others are channels. Every time needs a row for every point.

    Raises:
        DataError: a cell that is no number, or rows that are missing or twice there.
    """
    header, *rows = filled_lines(path)
    roles = {title: role_of_name(title) for title in header.cells}
    if channels is not None:
        roles |= dict.fromkeys(channels, None)
    by_role = {
        role: [title for title in header.cells if roles[title] == role]
        for role in ("time", "sequence")
    }
    places = [t for t in header.cells if roles[t] in ("x", "y", "z", "latitude", "longitude")]
    names = [t for t in header.cells if roles[t] is None and (channels is None or t in channels)]
    for kind, titles in by_role.items():
        if len(titles) > 1:
            raise DataError(f"{path}: {listed(titles)} all look like a {kind}; keep one of them")
    if not places or not names:
        raise DataError(
            f"{path}: expected columns of places (x, y, z, latitude, longitude) and of channels, "
            "got "
            f"{listed(header.cells)}"
        )
    cells = {
        title: [row.cells[k] for row in rows if len(row.cells) == len(header.cells)]
        for k, title in enumerate(header.cells)
    }
    if any(len(column) != len(rows) for column in cells.values()):
        bad = next(row for row in rows if len(row.cells) != len(header.cells))
        raise DataError(
            f"{path}, line {bad.number}: expected {len(header.cells)} cells as in the header, got "
            f"{len(bad.cells)}"
        )
    keys = [by_role[kind][0] if by_role[kind] else None for kind in ("sequence", "time")]
    return _pivoted(path, cells, keys, places, names)


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
    if len(np.unique(flat)) < len(flat):
        raise DataError(f"{path}: some point has two rows at the same time; keep one of them")
    if len(flat) < np.prod(shape):
        raise DataError(
            f"{path}: expected {np.prod(shape)} rows, one for each of {len(points)} points at "
            "each of "
            f"{shape[0] * shape[1]} times, got {len(flat)}; add rows with blank cells where "
            "nothing is known"
        )
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
