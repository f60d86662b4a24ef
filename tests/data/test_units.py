"""Units as files write them."""

import pytest

from smore.data.units import conversion, is_length, is_pressure, parse_unit

SAME = [
    ("m/s", "m s-1"),
    ("m s**-1", "m.s-1"),
    ("m s^-1", "meters/second"),
    ("kg m-2 s-1", "kg/m2/s"),
    ("m**2 s**-2", "m2/s2"),
    ("hPa", "mb"),
    ("millibars", "hPa"),
    ("1e-3", "psu"),
    ("0.001", "g/kg"),
    ("Kelvin", "K"),
    ("degree_Celsius", "degC"),
    ("s-1", "1/s"),
    ("W m**-2", "W/m^2"),
    ("N m-2", "Pa"),
    ("degrees_north", "degree_N"),
    ("", "1"),
    ("unitless", "1"),
    ("micron", "um"),
    ("hr", "hours"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_unit_in_other_words(one, other):
    for pair in ((one, other), (other, one)):
        factor, offset = conversion(*pair)
        assert factor == pytest.approx(1, rel=1e-9)
        assert offset == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("given", "wanted", "value", "expected"),
    [
        ("degC", "K", 20.0, 293.15),
        ("K", "degC", 293.15, 20.0),
        ("degF", "degC", 212.0, 100.0),
        ("hPa", "Pa", 1013.25, 101325.0),
        ("km", "m", 1.5, 1500.0),
        ("mm/day", "m s-1", 86.4, 1e-6),
        ("knots", "m/s", 10.0, 5.14444444),
        ("%", "1", 50.0, 0.5),
        ("g/cm3", "kg m-3", 1.025, 1025.0),
        ("hours", "s", 2.0, 7200.0),
    ],
)
def test_values_are_converted(given, wanted, value, expected):
    factor, offset = conversion(given, wanted)
    assert factor * value + offset == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("one", "other"),
    [("K", "m"), ("m", "m s-1"), ("J/kg K", "J/kg/K"), ("foo", "m"), ("(m s)-1", "m"), ("m s", "")],
)
def test_what_is_another_quantity_or_not_known_has_no_conversion(one, other):
    assert conversion(one, other) is None


def test_a_text_nobody_knows_is_equal_to_itself():
    assert conversion("beaufort", "beaufort") == (1.0, 0.0)
    assert parse_unit("beaufort") is None


def test_kinds():
    assert is_length("km")
    assert not is_length("m s-1")
    assert is_pressure("hPa")
    assert not is_pressure("m")
