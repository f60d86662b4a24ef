"""What files say in ways that xarray leaves as they are, made plain before anything is looked for.

Dates as texts (WRF, MPAS) or as numbers like 20010131.5, months since a date, latitudes in
radians, latitudes
that are repeated for every time, and coordinates of a rotated pole.
"""

from __future__ import annotations

import re

import cftime
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.reading._dimensions import dimension_verdict
from smore.data.reading._roles import holds_dates, in_radians, is_rotated, role_of, role_of_name
from smore.data.reading.record import shown
from smore.errors import DataError

_TEXT_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})[_T ](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?Z?")
_SINCE = re.compile(
    r"(months?|years?)\s+since\s+(\d{1,4})-(\d{1,2})(?:-(\d{1,2}))?.*", re.IGNORECASE
)
_CALENDARS = {"360": "360_day", "365": "noleap", "": "standard", "gregorian": "standard"}
_POLE = ("grid_north_pole_latitude", "grid_north_pole_longitude")
# Positions at which coordinates that are repeated for every time are compared.
NUM_COMPARED = 16


def made_plain(dataset: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    """`dataset` with times and places as everybody else writes them, and what was done.

    Raises:
        DataError: points that move.
    """
    notes: list[str] = []
    for step in (_dates, _steady_places, _degrees, _true_places):
        dataset, told = step(dataset)
        notes += told
    return dataset, notes


def _dates(dataset: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    notes = []
    for key, variable in list(dataset.variables.items()):
        name, units = str(key), str(variable.attrs.get("units", "")).strip()
        values, told = None, ""
        texts = variable.dtype.kind in "SUO" and not holds_dates(variable)
        if texts and variable.ndim == 1 and role_of_name(name) == "time":
            values, told = _text_dates(variable), "texts"
        elif (
            variable.ndim <= 1
            and variable.dtype.kind in "fiu"
            and units.startswith("day as %Y%m%d")
        ):
            values, told = _written_dates(variable.values), f"'{units}'"
        elif variable.dtype.kind in "fiu" and (found := _SINCE.fullmatch(units)):
            calendar = str(variable.attrs.get("calendar", "")).casefold()
            values, told = _months_since(variable.values, found, calendar), f"'{shown(units)}'"
        if values is not None:
            attrs = {k: v for k, v in variable.attrs.items() if k not in ("units", "calendar")}
            if values.dtype == object:
                attrs["calendar"] = values.flat[0].calendar
            dataset = dataset.assign_coords({name: (variable.dims, values, attrs)})
            notes.append(f"dates of '{name}' are written as {told}")
    return dataset, notes


def _text_dates(variable: xr.Variable) -> NDArray | None:
    texts = [
        t.decode("ascii", "replace") if isinstance(t, bytes) else str(t) for t in variable.values
    ]
    parsed = [_TEXT_DATE.fullmatch(text.strip().strip("\x00")) for text in texts]
    if not texts or not all(parsed):
        return None
    dates = ["{}-{}-{}T{}:{}:{}".format(*found.groups()) for found in parsed if found]
    try:
        return np.array(dates, dtype="datetime64[us]")
    except ValueError:
        return None


def _written_dates(values: NDArray) -> NDArray | None:
    whole = np.floor(values).astype(np.int64)
    texts = [f"{n // 10000:04d}-{n // 100 % 100:02d}-{n % 100:02d}" for n in np.atleast_1d(whole)]
    try:
        days = np.array(texts, dtype="datetime64[us]").reshape(np.shape(values))
    except ValueError:
        return None
    seconds = np.round((np.asarray(values, float) - whole) * 86400)
    return days + seconds.astype("timedelta64[s]")


def _months_since(values: NDArray, found: re.Match[str], calendar: str) -> NDArray | None:
    """Months are counted by the calendar, with the share of the month that has passed."""
    unit, year, month, day = found.groups()
    if not np.isfinite(values).all() or int(day or 1) != 1:
        return None
    numbers = np.asarray(values, float) * (12 if unit.casefold().startswith("year") else 1)
    numbers = numbers + 12 * int(year) + int(month) - 1
    whole = np.floor(numbers).astype(np.int64)
    share = numbers - whole
    calendar = _CALENDARS.get(calendar, calendar)
    if calendar in ("standard", "proleptic_gregorian"):
        begin = (whole - 12 * 1970).astype("datetime64[M]")
        end = (begin + 1).astype("datetime64[us]")
        begin = begin.astype("datetime64[us]")
        return begin + (share * (end - begin).astype(np.int64)).astype("timedelta64[us]")
    try:
        dates = [
            _after(cftime.datetime(n // 12, n % 12 + 1, 1, calendar=calendar), part)
            for n, part in zip(whole.ravel().tolist(), share.ravel().tolist(), strict=True)
        ]
    except ValueError:
        return None
    return np.array(dates, dtype=object).reshape(np.shape(values))


def _after(begin: cftime.datetime, share: float) -> cftime.datetime:
    days = np.timedelta64(round(share * begin.daysinmonth * 86400), "s")
    return begin + days.astype("timedelta64[s]").item()


def _steady_places(dataset: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    """Latitudes and longitudes without the time along which they are repeated."""
    notes = []
    for key, variable in list(dataset.variables.items()):
        name = str(key)
        if variable.ndim < 2 or role_of(name, variable).role not in ("latitude", "longitude"):
            continue
        for dim in map(str, variable.dims):
            if dimension_verdict(dataset, dim).role != "time":
                continue
            _require_steady(name, variable, dim)
            variable = variable.isel({dim: 0})
            notes.append(f"'{name}' is the same at all times")
        if variable.dims != dataset.variables[key].dims:
            dataset = dataset.drop_vars(name).assign_coords({name: variable})
    return dataset, notes


def _require_steady(name: str, variable: xr.Variable, dim: str) -> None:
    """Compare some times, first and last among them: coordinates may be as large as fields."""
    length = variable.sizes[dim]
    first = variable.isel({dim: 0}).values
    for position in np.unique(np.linspace(0, length - 1, NUM_COMPARED).astype(int)):
        if not np.array_equal(variable.isel({dim: position}).values, first, equal_nan=True):
            raise DataError(
                f"the points move: '{name}' is another one at time index {position} than at 0; "
                "expected "
                "points that stay where they are; interpolate the fields to fixed points"
            )


def _degrees(dataset: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    notes = []
    for key, variable in list(dataset.variables.items()):
        name = str(key)
        angle = role_of(name, variable).role in ("latitude", "longitude")
        if angle and in_radians(variable) and variable.dtype.kind == "f" and variable.ndim:
            units = (
                "degrees_north" if role_of(name, variable).role == "latitude" else "degrees_east"
            )
            attrs = {**variable.attrs, "units": units}
            degrees = np.rad2deg(variable.values.astype(np.float64))
            dataset = dataset.assign_coords({name: (variable.dims, degrees, attrs)})
            notes.append(f"'{name}' was in radians and is in degrees now")
    return dataset, notes


def _true_places(dataset: xr.Dataset) -> tuple[xr.Dataset, list[str]]:
    """Latitude and longitude from coordinates of a rotated pole, where the file has none."""
    roles = {str(name): role_of(name, variable) for name, variable in dataset.variables.items()}
    if {"latitude", "longitude"} <= {verdict.role for verdict in roles.values()}:
        return dataset, []
    rotated = {
        roles[str(name)].role: str(name)
        for name, variable in dataset.variables.items()
        if is_rotated(variable, name) and variable.ndim == 1
    }
    mapping = next(
        (
            variable.attrs
            for variable in dataset.variables.values()
            if variable.attrs.get("grid_mapping_name") == "rotated_latitude_longitude"
        ),
        None,
    )
    if mapping is None or set(rotated) != {"x", "y"} or not set(_POLE) <= set(mapping):
        return dataset, []
    y, x = dataset[rotated["y"]], dataset[rotated["x"]]
    latitude, longitude = _unrotated(y.values[:, None], x.values[None, :], mapping)
    dims = (y.dims[0], x.dims[0])
    told = {
        "latitude": (dims, latitude, {"standard_name": "latitude", "units": "degrees_north"}),
        "longitude": (dims, longitude, {"standard_name": "longitude", "units": "degrees_east"}),
    }
    note = f"latitude and longitude are computed from '{y.name}' and '{x.name}' of a rotated pole"
    return dataset.assign_coords(told), [note]


def _unrotated(
    latitude: NDArray, longitude: NDArray, mapping: dict
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True latitude and longitude in degrees of points of a rotated grid."""
    try:
        pole = [
            np.deg2rad(float(mapping.get(name, 0.0)))
            for name in (*_POLE, "north_pole_grid_longitude")
        ]
    except (TypeError, ValueError):
        raise DataError("the north pole of the rotated grid must be told in numbers") from None
    phi, lam = np.deg2rad(latitude), np.deg2rad(longitude) - pole[2]
    x, y, z = np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi) * np.ones_like(lam)
    sine, cosine = np.sin(pole[0]), np.cos(pole[0])
    # The true pole is seen on the rotated meridian 0, at the latitude of the rotated pole.
    height = np.clip(cosine * x + sine * z, -1, 1)
    true = np.rad2deg(np.arctan2(-y, cosine * z - sine * x) + pole[1])
    return np.rad2deg(np.arcsin(height)), (true + 180.0) % 360.0 - 180.0
