"""Some of the entries along a dimension: a level, a few members, a span of time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from smore.data.reading._roles import holds_dates, role_of
from smore.data.reading.record import listed, shown
from smore.data.reading.request import Choice
from smore.errors import DataError

# Levels are written as 500, 500.0 or 499.99997 in single precision.
NEARLY = 1e-5


def select(dataset: xr.Dataset, choices: Mapping[str, Choice]) -> tuple[xr.Dataset, list[str]]:
    """What is left of `dataset`, and what was done in words.

    Choices are values of the coordinate along a dimension, in its units, and ranges of such values
    with both ends. Without a coordinate they are positions, counted from 0.

    Raises:
        DataError: no such dimension, or nothing there of what was asked for.
    """
    notes = []
    for name, choice in choices.items():
        if name not in dataset.dims:
            raise DataError(
                f"there is no dimension '{shown(name)}' to select from; the file has "
                f"{listed(dataset.sizes)}"
            )
        kept = _kept(dataset, name, choice)
        total = dataset.sizes[name]
        dataset = dataset.isel({name: kept})
        if isinstance(kept, np.ndarray):
            notes.append(f"{len(kept)} of {total} along '{name}' selected: {_told(choice)}")
        else:
            told = name in dataset.variables and role_of(name, dataset[name]).role == "time"
            if not told:  # the time of a single snapshot is worth knowing
                dataset = dataset.drop_vars(name, errors="ignore")
            notes.append(f"'{name}' selected: {_told(choice)}")
    return dataset, notes


def _kept(dataset: xr.Dataset, name: str, choice: Choice) -> int | np.ndarray:
    """Positions along a dimension."""
    variable = dataset.variables.get(name)
    if variable is None or variable.dims != (name,):
        values = np.arange(dataset.sizes[name]).astype(float)
    elif holds_dates(variable):
        return _dates_kept(dataset, name, choice)
    else:
        values = variable.values
    where = _where(values, choice)
    if not where.any():
        raise DataError(
            f"nothing along '{name}' is {_told(choice)}; it has {listed(_entries(values), 12)}"
        )
    positions = np.flatnonzero(where)
    return positions if isinstance(choice, tuple) else int(positions[0])


def _where(values: np.ndarray, choice: Choice) -> np.ndarray:
    if values.dtype.kind not in "fiu":
        if isinstance(choice, tuple):
            raise DataError(f"a range needs numbers or dates, got {_told(choice)} of texts")
        return np.asarray(values).astype(str) == str(choice)
    numbers = values.astype(float)
    if isinstance(choice, tuple):
        low, high = (_number(end) for end in choice)
        inside = np.ones(len(numbers), bool)
        inside &= True if low is None else numbers >= low - NEARLY * abs(low)
        inside &= True if high is None else numbers <= high + NEARLY * abs(high)
        return inside
    wanted = _number(choice)
    assert wanted is not None
    return np.abs(numbers - wanted) <= NEARLY * max(abs(wanted), np.ptp(numbers) * 1e-3, 1e-30)


def _number(text: str | float | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise DataError(f"expected a number to select by, got '{shown(text)}'") from None


def _dates_kept(dataset: xr.Dataset, name: str, choice: Choice) -> int | np.ndarray:
    numbered = xr.DataArray(
        np.arange(dataset.sizes[name]), dims=name, coords={name: dataset.variables[name]}
    )
    try:
        if isinstance(choice, tuple):
            ends = (None if end is None else str(end) for end in choice)
            found = numbered.sel({name: slice(*ends)}).values
        else:
            found = np.atleast_1d(numbered.sel({name: str(choice)}).values)
    except (KeyError, ValueError, TypeError):
        found = np.array([], int)
    if not len(found):
        first, last = dataset.variables[name].values[[0, -1]]
        raise DataError(
            f"nothing along '{name}' is {_told(choice)}; its dates run from {first} to {last}, "
            "and are selected as 1980-01 or 1980-01:1999-12"
        )
    return found if isinstance(choice, tuple) or len(found) > 1 else int(found[0])


def _entries(values: np.ndarray) -> list[str]:
    return [f"{value:g}" if values.dtype.kind in "fiu" else str(value) for value in values]


def _told(choice: Choice) -> str:
    if isinstance(choice, tuple):
        low, high = ("" if end is None else shown(end) for end in choice)
        return f"{low}:{high}"
    return shown(choice)
