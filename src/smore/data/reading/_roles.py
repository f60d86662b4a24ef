"""What a variable of a file is: a time, a place, a member of an ensemble, or none of these.

Attributes of the CF conventions are asked first (standard_name, units, axis, positive, and whether
values
are dates), then names that programs are known to use. Where both say something and disagree,
nobody is
believed: the variable is contradictory, and the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Literal

import xarray as xr

from smore.data.units import is_length, is_pressure, parse_unit

Role = Literal["time", "other time", "sequence", "latitude", "longitude", "x", "y", "z"]

_STANDARD_NAMES: dict[str, Role] = {
    "time": "time",
    "forecast_reference_time": "other time",
    "forecast_period": "other time",
    "realization": "sequence",
    "latitude": "latitude",
    "longitude": "longitude",
    "projection_x_coordinate": "x",
    "projection_y_coordinate": "y",
    "projection_x_angular_coordinate": "x",
    "projection_y_angular_coordinate": "y",
    "grid_longitude": "x",
    "grid_latitude": "y",
}
_VERTICAL_STANDARD_NAMES = re.compile(
    r"(air_pressure|height|altitude|depth|model_level_number|geopotential_height"
    r"|height_above_.*|depth_below_.*|(atmosphere|ocean)_(sigma|s|hybrid|ln_pressure|sleve|double).*"
    r"|land_ice_sigma_coordinate|sea_water_pressure)"
)
# Words in a standard name that only quantities have would be too many to list: any other is one.
_ANGLE_UNITS = {
    **dict.fromkeys(
        ("degrees_north", "degree_north", "degrees_n", "degree_n", "degreen", "degreesn"),
        "latitude",
    ),
    **dict.fromkeys(
        ("degrees_east", "degree_east", "degrees_e", "degree_e", "degreee", "degreese"), "longitude"
    ),
}
_AXES: dict[str, Role] = {"X": "x", "Y": "y", "Z": "z", "T": "time", "E": "sequence"}
_GRID = r"(_?(rho|u|v|psi|t|c|m|h|q|grid_[tuvwf]|cell|vertex|edge|\d+))?"
_POINT = r"(c|f|h|e|u|v|rho|psi|t|q|caa|faa|aca|afa|cell|cent(er|re)|face|node|coord\w*)"
_PATTERNS: tuple[tuple[Role, str], ...] = (
    (
        "time",
        r"t|times?\d*|valid_time|time_(counter|centered|centred|instant)\w*|ocean_time|mt|xtime"
        r"|dates?|datetime|months?|years?|days?|hours?",
    ),
    (
        "other time",
        r"step|lead(_?time)?|forecast_(reference_time|period)|init(_?time)?|reftime",
    ),
    (
        "sequence",
        r"sequence|member(_id|s)?|ens(emble)?(_?(member|s))?|number|reali[sz]ation|runs?"
        r"|trajectory|sample|batch|case|simulation",
    ),
    ("latitude", rf"(nav_|geo|x|t|u|c|g\d+_)?lat(itude)?s?{_GRID}"),
    ("longitude", rf"(nav_|geo|x|t|u|c|g\d+_)?lon(g|gitude)?s?{_GRID}"),
    ("x", rf"x_?{_POINT}?|rlon|easting|x[tu]_ocean"),
    ("y", rf"y_?{_POINT}?|rlat|northing|y[tu]_ocean"),
    (
        "z",
        r"z_?(c|f|h|e|w|t|l|i|u|aac|aaf|cell|cent(er|re)|face|node|coord\w*)?"
        r"|p?lev(els?)?|level\d*"
        r"|depth[tuvw]?|height(_?\w*)?|altitude|alt|sigma\w*|hybrid|isobaric\w*"
        r"|pressure(_level)?"
        r"|model_?level(_number)?|s_(rho|w)|s[tw]_ocean|bottom_top(_stag)?|olevel|zlev|layers?",
    ),
)
_NAMES = tuple((role, re.compile(pattern)) for role, pattern in _PATTERNS)


@dataclass(frozen=True)
class Verdict:
    """What a variable is.

    Attributes:
        role: None where nothing says that it is a time, a place or a member.
        why: what says so, such as "standard_name 'latitude'".
        firm: whether an attribute or the kind of its values says so, not a name alone.
        contradiction: what else is said of it, where that cannot be; "" where there is nothing.
    """

    role: Role | None
    why: str = ""
    firm: bool = False
    contradiction: str = ""


def role_of(name: Hashable, variable: xr.Variable | xr.DataArray) -> Verdict:
    """The part that a variable plays by its attributes, then by its name."""
    said = list(_said(variable))
    named = role_of_name(name)
    if not said:
        if named is None or _is_quantity(variable):
            return Verdict(None)
        clash = _units_clash(named, variable)
        return Verdict(named, f"its name '{name}'", contradiction=clash)
    best, why = said[0]
    for role, reason in [*said[1:], *([] if named is None else [(named, f"its name '{name}'")])]:
        if not _agree(best, role):
            return Verdict(best, why, True, reason)
        if best in ("x", "y", "z") and role in ("latitude", "longitude"):
            best, why = role, reason  # an axis is the vaguer of the two
    return Verdict(best, why, True, _units_clash(best, variable))


def role_of_name(name: Hashable) -> Role | None:
    """The part that a name stands for in the files of known programs."""
    text = str(name).casefold()
    return next((role for role, pattern in _NAMES if pattern.fullmatch(text)), None)


def is_rotated(variable: xr.Variable | xr.DataArray, name: Hashable = "") -> bool:
    """Whether a coordinate is one of a rotated pole, which is no latitude or longitude."""
    return str(variable.attrs.get("standard_name", "")) in ("grid_latitude", "grid_longitude") or (
        str(name).casefold() in ("rlat", "rlon")
    )


def holds_dates(variable: xr.Variable | xr.DataArray) -> bool:
    """Whether values are dates, of numpy or of another calendar."""
    if variable.dtype.kind != "O" or not variable.size:
        return variable.dtype.kind == "M"
    first = variable[(0,) * variable.ndim].values[()]  # not all of it: texts may be many
    return hasattr(first, "calendar")


def in_radians(variable: xr.Variable | xr.DataArray) -> bool:
    """Whether units are radians."""
    return str(variable.attrs.get("units", "")).strip().casefold().startswith("rad")


def _said(variable: xr.Variable | xr.DataArray) -> Iterator[tuple[Role, str]]:
    """What attributes and the kind of values say, the most telling first."""
    attrs = variable.attrs
    standard = str(attrs.get("standard_name", "")).strip()
    if (role := _STANDARD_NAMES.get(standard)) is not None:
        yield role, f"standard_name '{standard}'"
    elif _VERTICAL_STANDARD_NAMES.fullmatch(standard):
        yield "z", f"standard_name '{standard}'"
    units = str(attrs.get("units", "")).strip()
    if (angle := _ANGLE_UNITS.get(units.casefold())) is not None and not is_rotated(variable):
        yield "latitude" if angle == "latitude" else "longitude", f"units '{units}'"
    if holds_dates(variable) and _STANDARD_NAMES.get(standard) != "other time":
        yield "time", "its values, which are dates"
    elif " since " in units or units.startswith("day as %"):
        yield "time", f"units '{units}'"
    for key in ("axis", "cartesian_axis"):
        axis = str(attrs.get(key, "")).strip().upper()
        if axis in _AXES:
            yield _AXES[axis], f"{key} '{axis}'"
    if str(attrs.get("positive", "")).casefold() in ("up", "down"):
        yield "z", f"positive '{attrs['positive']}'"


def _agree(one: Role, other: Role) -> bool:
    """Whether two things can be said of one variable."""
    pair = {one, other}
    if len(pair) == 1:
        return True
    return pair in (
        {"x", "longitude"},
        {"y", "latitude"},
        {"time", "other time"},
    )


def _is_quantity(variable: xr.Variable | xr.DataArray) -> bool:
    """Whether the standard name is that of a quantity: z, a geopotential."""
    standard = str(variable.attrs.get("standard_name", "")).strip()
    return standard not in ("", "unknown", "none")


def _units_clash(role: Role, variable: xr.Variable | xr.DataArray) -> str:
    """Units that a variable of this role cannot have, in words."""
    units = str(variable.attrs.get("units", "")).strip()
    unit = parse_unit(units)
    if not units or unit is None:
        return ""
    dimensionless = not any(unit.dimension)
    angle = units.casefold().startswith(("deg", "rad", "°"))
    is_time = unit.dimension[2] == 1 and sum(map(abs, unit.dimension)) == 1
    fits = {
        "latitude": angle,
        "longitude": angle,
        "x": dimensionless or is_length(units),
        "y": dimensionless or is_length(units),
        "z": dimensionless or is_length(units) or is_pressure(units) or unit.dimension[3] == 1,
        "time": dimensionless or is_time,
        "other time": dimensionless or is_time,
        "sequence": dimensionless,
    }[role]
    return "" if fits else f"units '{units}'"
