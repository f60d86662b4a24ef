"""Channels, space and clock survive storage; a clock gives back the times it was given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pydantic import BaseModel, ValidationError

from smore.data import Channel, Clock, Space
from smore.errors import DataError


@pytest.mark.parametrize(
    "thing",
    [
        Channel(name="u", units="m/s"),
        Space(names=("lat", "lon"), units=("degrees_north", "degrees_east"), geometry="sphere"),
        Clock(units="h"),
        Clock(kind="datetime", units="s", reference="2001-02-03T04:05:06"),
    ],
)
def test_json_gives_back_the_same(thing: BaseModel) -> None:
    assert type(thing).model_validate_json(thing.model_dump_json()) == thing


def test_unknown_entries_are_refused() -> None:
    with pytest.raises(ValidationError):
        Channel.model_validate({"name": "u", "unit": "m"})


@pytest.mark.parametrize(
    "space",
    [
        {"names": ("x", "x"), "units": ("", "")},
        {"names": ("x", "y"), "units": ("",)},
        {"names": ("x", "y", "z"), "units": ("",) * 3, "geometry": "sphere"},
    ],
)
def test_a_space_is_consistent(space: dict) -> None:
    with pytest.raises(ValidationError):
        Space(**space)


@given(hnp.arrays("i8", 5, elements=st.integers(-(2**50), 2**50)))
def test_dates_come_back_to_the_microsecond(microseconds: np.ndarray) -> None:
    dates = np.datetime64("2000-01-01", "us") + microseconds.astype("m8[us]")
    clock, times = Clock.from_values(dates)
    assert times.min() == 0
    np.testing.assert_array_equal(clock.to_values(times), dates)


@pytest.mark.parametrize(
    "values",
    [
        np.array(["2000-01-01", "2000-03-01", "NaT"], "M8[ns]"),
        np.array([0, 3600, 90], "m8[s]"),
        np.array([0.0, 0.1, np.nan]),
    ],
)
def test_times_come_back_in_the_kind_they_came(values: np.ndarray) -> None:
    clock, times = Clock.from_values(values)
    assert times.dtype == np.float64
    back = clock.to_values(times)
    assert back.dtype.kind == values.dtype.kind
    np.testing.assert_array_equal(back, values)


def test_a_clock_reads_later_times_from_the_same_reference() -> None:
    clock, _ = Clock.from_values(np.array(["2000-01-01", "2000-01-02"], "M8[D]"))
    assert clock.to_numbers(np.array(["2000-01-03"], "M8[s]")) == [2 * 86400]


def test_times_of_another_kind_are_refused() -> None:
    clock, _ = Clock.from_values(np.array(["2000-01-01"], "M8[D]"))
    with pytest.raises(DataError, match=r"expected datetime values as before, got number"):
        clock.to_numbers([1.0])
    with pytest.raises(DataError, match=r"or cftime dates, got object"):
        Clock.from_values(np.array([object()]))
