"""Units as people and programs write them: what they measure, and how to get from one to another.

`m/s`, `m s-1`, `m s**-1` and `m.s^-1` are one unit. The table knows what files of oceans, weather
and
flows have; a text that it does not know is only equal to itself.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import NamedTuple

# Exponents of length, mass, time, temperature, amount, current, in this order.
Dimension = tuple[Fraction, ...]
# Factors that differ from 1 by less are 1, up to rounding.
SAME = 1e-12
_NOTHING: Dimension = (Fraction(0),) * 6


class Unit(NamedTuple):
    """A value in SI units is `scale * value + offset`."""

    scale: float
    dimension: Dimension
    offset: float = 0.0


def _of(scale: float, *exponents: int, offset: float = 0.0) -> Unit:
    padded = (*exponents, *(0,) * (6 - len(exponents)))
    return Unit(scale, tuple(map(Fraction, padded)), offset)


_BASE = {
    "m": _of(1, 1), "meter": _of(1, 1), "metre": _of(1, 1), "micron": _of(1e-6, 1),
    "ft": _of(0.3048, 1), "feet": _of(0.3048, 1), "nmi": _of(1852, 1), "mile": _of(1609.344, 1),
    "g": _of(1e-3, 0, 1), "gram": _of(1e-3, 0, 1), "t": _of(1e3, 0, 1), "tonne": _of(1e3, 0, 1),
    "s": _of(1, 0, 0, 1), "sec": _of(1, 0, 0, 1), "second": _of(1, 0, 0, 1),
    "min": _of(60, 0, 0, 1), "minute": _of(60, 0, 0, 1), "h": _of(3600, 0, 0, 1),
    "hr": _of(3600, 0, 0, 1), "hour": _of(3600, 0, 0, 1), "d": _of(86400, 0, 0, 1),
    "day": _of(86400, 0, 0, 1), "week": _of(604800, 0, 0, 1),
    "K": _of(1, 0, 0, 0, 1), "kelvin": _of(1, 0, 0, 0, 1), "Kelvin": _of(1, 0, 0, 0, 1),
    "degK": _of(1, 0, 0, 0, 1), "deg_K": _of(1, 0, 0, 0, 1),
    **dict.fromkeys(
        ("degC", "deg_C", "degree_C", "degrees_C", "Celsius", "celsius", "degree_Celsius",
         "degrees_Celsius", "degrees_celsius", "degree_celsius", "°C", "C"),
        _of(1, 0, 0, 0, 1, offset=273.15),
    ),
    **dict.fromkeys(
        ("degF", "deg_F", "Fahrenheit", "fahrenheit", "°F"),
        _of(5 / 9, 0, 0, 0, 1, offset=459.67 * 5 / 9),
    ),
    "mol": _of(1, 0, 0, 0, 0, 1), "mole": _of(1, 0, 0, 0, 0, 1), "A": _of(1, 0, 0, 0, 0, 0, 1),
    "Pa": _of(1, -1, 1, -2), "pascal": _of(1, -1, 1, -2), "Pascal": _of(1, -1, 1, -2),
    "bar": _of(1e5, -1, 1, -2), "atm": _of(101325, -1, 1, -2), "dbar": _of(1e4, -1, 1, -2),
    "mb": _of(100, -1, 1, -2), "mbar": _of(100, -1, 1, -2), "millibar": _of(100, -1, 1, -2),
    "N": _of(1, 1, 1, -2), "J": _of(1, 2, 1, -2), "W": _of(1, 2, 1, -3), "Hz": _of(1, 0, 0, -1),
    "V": _of(1, 2, 1, -3, 0, 0, -1), "L": _of(1e-3, 3), "l": _of(1e-3, 3),
    "cal": _of(4.184, 2, 1, -2),
    "kt": _of(1852 / 3600, 1, 0, -1), "knot": _of(1852 / 3600, 1, 0, -1),
    "Sv": _of(1e6, 3, 0, -1), "sverdrup": _of(1e6, 3, 0, -1), "DU": _of(4.4615e-4, -2, 0, 0, 0, 1),
    "1": _of(1), "%": _of(0.01), "percent": _of(0.01), "fraction": _of(1), "dimensionless": _of(1),
    "psu": _of(1e-3), "PSU": _of(1e-3), "ppt": _of(1e-3), "ppm": _of(1e-6), "ppb": _of(1e-9),
    "rad": _of(1), "radian": _of(1), "sr": _of(1), "gpm": _of(1, 1),
    "deg": _of(math.pi / 180), "°": _of(math.pi / 180),
    **{
        f"degree{plural}{where}": _of(math.pi / 180)
        for plural in ("", "s")
        for where in ("", "_north", "_east", "_N", "_E", "N", "E")
    },
}  # fmt: skip
_PREFIXES = {
    "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "h": 1e2, "da": 1e1, "d": 1e-1, "c": 1e-2, "m": 1e-3,
    "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "p": 1e-12, "kilo": 1e3, "hecto": 1e2,
    "centi": 1e-2, "milli": 1e-3, "micro": 1e-6, "mega": 1e6, "deci": 1e-1,
}  # fmt: skip
_PREFIXED = (
    "m", "meter", "metre", "g", "gram", "s", "second", "Pa", "pascal", "Pascal", "bar", "N", "J",
    "W", "Hz", "V", "mol", "mole", "A", "K", "L", "l", "cal",
)  # fmt: skip
_WORDS = ("", "none", "unitless", "1", "-", "nondim", "non-dim", "non-dimensional", "(0 - 1)")
_FACTOR = re.compile(r"([^\W\d]+|%|°\w?|µ\w+)(?:\*\*|\^)?([+-]?\d+(?:/\d+)?)?$")
_BETWEEN = re.compile(r"[\s·]+|\.(?!\d)|(?<!\*)\*(?!\*)")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?:(?:\*\*|\^)([+-]?\d+))?$")


def parse_unit(text: str) -> Unit | None:
    """What a unit is; None where the table does not know it."""
    text = text.strip()
    if text.casefold() in _WORDS:
        return _BASE["1"]
    if text in _BASE:
        return _BASE[text]
    unit = Unit(1.0, _NOTHING)
    above, *below = re.sub(r"\s*(\*\*|\^)\s*", r"\1", text).split("/")
    if any(len(_factors(part)) > 1 for part in below):
        return None  # J/kg K: nobody can tell whether it is divided by K
    signed = [(token, 1) for token in _factors(above)] + [(token.strip(), -1) for token in below]
    for token, sign in signed:
        factor = _factor(token)
        if factor is None:
            return None
        base, exponent = factor
        power = sign * exponent
        dimension = tuple(
            a + power * b for a, b in zip(unit.dimension, base.dimension, strict=True)
        )
        unit = Unit(unit.scale * base.scale ** float(power), dimension)
    return unit


def conversion(given: str, wanted: str) -> tuple[float, float] | None:
    """(factor, offset) such that factor * value + offset is in `wanted`; None if none is known.

    Of two texts that are equal it is (1, 0), whether the table knows them or not.
    """
    if given == wanted:
        return 1.0, 0.0
    ours, theirs = parse_unit(given), parse_unit(wanted)
    if ours is None or theirs is None or ours.dimension != theirs.dimension:
        return None
    factor = ours.scale / theirs.scale
    if abs(factor - 1) < SAME:
        factor = 1.0
    return factor, (ours.offset - theirs.offset) / theirs.scale


def is_known(text: str) -> bool:
    """Whether the table knows a unit."""
    return parse_unit(text) is not None


def is_length(text: str) -> bool:
    """Whether a unit measures lengths."""
    unit = parse_unit(text)
    return unit is not None and unit.dimension == _BASE["m"].dimension


def is_pressure(text: str) -> bool:
    """Whether a unit measures pressures."""
    unit = parse_unit(text)
    return unit is not None and unit.dimension == _BASE["Pa"].dimension


def _factors(product: str) -> list[str]:
    return [token for token in _BETWEEN.split(product.strip()) if token]


def _factor(token: str) -> tuple[Unit, Fraction] | None:
    """One factor of a product and its exponent."""
    if found := _NUMBER.match(token):
        return Unit(float(found[1]), _NOTHING), Fraction(found[2] or 1)
    if (found := _FACTOR.match(token)) is None:
        return None
    base = _named(found[1])
    return None if base is None else (base, Fraction(found[2] or 1))


def _named(name: str) -> Unit | None:
    singular = name[:-1] if name.endswith("s") and len(name) > 2 else name
    for candidate in (name, singular):
        if candidate in _BASE:
            return _BASE[candidate]
        for prefix, size in _PREFIXES.items():
            rest = candidate.removeprefix(prefix)
            if rest != candidate and rest in _PREFIXED:
                return _BASE[rest]._replace(scale=size * _BASE[rest].scale)
    return None
