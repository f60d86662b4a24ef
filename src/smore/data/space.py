"""What the numbers of a trajectory mean: its channels, its space and its clock.

The three are stored as JSON in a model file, so that a forecast comes back under the names and in
the units of the data the model was trained on.
"""

from collections.abc import Iterable
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, model_validator

from smore.data.calendars import CALENDARS, calendar_of, dates_after, read_date, seconds_since
from smore.errors import DataError
from smore.runtime import StoredTuple

Geometry = Literal["box", "sphere"]
GEOMETRIES: tuple[str, ...] = get_args(Geometry)
SPHERE_NAMES = ("latitude", "longitude")
SPHERE_UNITS = ("degrees_north", "degrees_east")

_NOTHING, _SECOND = np.timedelta64(0, "us"), np.timedelta64(1_000_000, "us")
_FINER_UNITS = ("ns", "ps", "fs", "as")  # than the microseconds of a clock


class Channel(BaseModel):
    """One component of the field, such as a vorticity in 1/s."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    units: str = ""
    long_name: str = ""


class Space(BaseModel):
    """The coordinates in which points are given.

    Attributes:
        names: one per column of `coords` (points, dim).
        units: one per name, "" where unknown.
        geometry: "box" for Cartesian coordinates; "sphere" for (latitude, longitude) in degrees.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: StoredTuple[str]
    units: StoredTuple[str]
    geometry: Geometry = "box"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.names) != len(self.units):
            raise ValueError(f"{len(self.names)} coordinate names but {len(self.units)} units")
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"coordinate names must differ, got {self.names}")
        if self.geometry == "sphere" and self.dim != 2:
            raise ValueError(f"a sphere has (latitude, longitude), got {self.names}")
        return self

    @property
    def dim(self) -> int:
        return len(self.names)


class Clock(BaseModel):
    """How times are told: the link between the user's time values and float64 numbers.

    Numbers stay as they are, in `units`. Calendar dates become seconds since `reference`, durations
    become seconds: whole seconds exactly, fractions to the microsecond over sixty years. Times
    that do not exist (NaT, NaN: the padding of shorter sequences) map to each other.

    Attributes:
        kind: what values are.
        units: of numbers.
        reference: the date that is 0.
        calendar: of dates that are `cftime` objects, as climate models have; None for datetime64.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["number", "datetime", "timedelta"] = "number"
    units: str = ""
    reference: str | None = None
    calendar: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.kind == "datetime") != (self.reference is not None):
            raise ValueError("a clock has a reference date exactly when its times are dates")
        if self.calendar is not None:
            if self.reference is None or self.calendar not in CALENDARS:
                raise ValueError(f"dates of one of the calendars {CALENDARS} are expected")
            read_date(self.reference, self.calendar)
        return self

    @classmethod
    def from_values(cls, values: ArrayLike, units: str = "") -> tuple[Self, NDArray[np.float64]]:
        """The clock that tells `values` (any shape), and the values as numbers on that clock."""
        values = np.asarray(values)
        calendar = calendar_of(values)
        if calendar is not None:
            first = min(values.flat).isoformat()
            clock = cls(kind="datetime", units="s", reference=first, calendar=calendar)
        elif values.dtype.kind == "M":
            known = values[~np.isnat(values)]
            first = known.min() if known.size else np.datetime64(0, "s")
            clock = cls(kind="datetime", units="s", reference=str(first.astype("datetime64[us]")))
        elif values.dtype.kind == "m":
            clock = cls(kind="timedelta", units="s")
        else:
            clock = cls(units=units)
        return clock, clock.to_numbers(values)

    def to_numbers(self, values: ArrayLike) -> NDArray[np.float64]:
        """Times as the user tells them -> float64 numbers, of the same shape."""
        values = np.asarray(values)
        calendar = calendar_of(values)
        if calendar is None and values.dtype.kind not in "Mmfiu":
            raise DataError(
                "times must be numbers, datetime64, timedelta64 or cftime dates, got "
                f"{values.dtype} values; convert them"
            )
        names = {"M": "datetime", "m": "timedelta", "O": "datetime"}
        kind = names.get(values.dtype.kind, "number")
        if (kind, calendar) != (self.kind, self.calendar):
            raise DataError(
                f"times must be told in one way, expected {_way(self.kind, self.calendar)} as "
                f"before, got {_way(kind, calendar)}; convert one to the other"
            )
        if self.kind == "number":
            return values.astype(np.float64)
        if self.calendar is not None:
            assert self.reference is not None
            return seconds_since(values, self.reference, self.calendar)
        elapsed = moments = _microseconds(values)
        if self.kind == "datetime":
            reference = np.datetime64(self.reference, "us")
            elapsed = moments - reference
            if ((elapsed < _NOTHING) != (moments < reference)).any():  # it overflowed
                raise _too_far(values)
        return elapsed / _SECOND

    def to_values(self, times: ArrayLike) -> NDArray[np.generic]:
        """Numbers on this clock -> times as the user tells them, of the same shape."""
        times = np.asarray(times, dtype=np.float64)
        if self.kind == "number":
            return times
        known = np.isfinite(times)
        if self.calendar is not None:
            assert self.reference is not None
            if not known.all():
                raise DataError(
                    f"sequences of different lengths have no common times in the calendar "
                    f"'{self.calendar}'; take them one by one"
                )
            return dates_after(times, self.reference, self.calendar)
        elapsed = np.full(times.shape, np.timedelta64("NaT", "us"))
        elapsed[known] = np.rint(times[known] * 1e6).astype(np.int64).astype("timedelta64[us]")
        if self.kind == "timedelta":
            return elapsed
        return np.datetime64(self.reference, "us") + elapsed

    def read(self, texts: Iterable[str]) -> NDArray[np.generic]:
        """ISO dates as people write them -> dates of this clock.

        Raises:
            ValueError: something else is written there.
        """
        if self.calendar is None:
            return np.array(list(texts), dtype="datetime64[us]")
        return np.array([read_date(text, self.calendar) for text in texts], dtype=object)


def _way(kind: str, calendar: str | None) -> str:
    return f"{kind} values" + ("" if calendar is None else f" of the calendar '{calendar}'")


def _microseconds(values: NDArray[Any]) -> NDArray[Any]:
    """Dates or durations at the resolution of a clock; numpy itself overflows without a word."""
    rounded = values.astype(f"{values.dtype.kind}8[us]")
    unit, _ = np.datetime_data(values.dtype)
    changed = (rounded.astype(values.dtype) != values) & ~np.isnat(values)
    if unit not in _FINER_UNITS and changed.any():
        raise _too_far(values)
    return rounded


def _too_far(values: NDArray[Any]) -> DataError:
    return DataError(
        "times must be less than 290,000 years from each other and from 1970, got "
        f"{values.min()} to {values.max()}; tell them as numbers"
    )
