"""Which variables may say where points are, and which of them does for each coordinate."""

from __future__ import annotations

from collections import abc

import numpy as np
import xarray as xr

from smore.data.reading._dimensions import contradictory
from smore.data.reading._roles import Verdict, role_of
from smore.data.reading.record import listed
from smore.errors import DataError

PLACES = ("latitude", "longitude", "x", "y", "z")


def place_candidates(
    aside: xr.Dataset, space: tuple[str, ...], along: tuple[str, ...]
) -> dict[str, Verdict]:
    """Variables that may locate points by what they are."""
    known = {}
    for key, variable in aside.variables.items():
        name, verdict = str(key), role_of(key, variable)
        inside = set(variable.dims) & set(space) and set(variable.dims) <= set(along)
        numeric = variable.dtype.kind in "fiu" and not {"flag_values", "flag_meanings"} & set(
            variable.attrs
        )
        if not inside or verdict.role not in PLACES or not numeric:
            continue
        of_coordinates = name in aside.coords or verdict.role in ("latitude", "longitude")
        if of_coordinates or (not verdict.contradiction and _may_be_place(name, variable)):
            known[name] = verdict
    return known


def _may_be_place(name: str, variable: xr.Variable) -> bool:
    """Whether a data variable, x(point) of a file without attributes, may be a coordinate."""
    return variable.ndim == 1 or name.casefold()[0] in "xy"


def declared_coordinates(dataset: xr.Dataset, channels: abc.Sequence[str]) -> list[str]:
    """The coordinates that the channels name in their attributes."""
    told = []
    for name in channels:
        variable = dataset[name]
        text = variable.encoding.get("coordinates", variable.attrs.get("coordinates", ""))
        told.append(str(text).split())
    angles = [
        frozenset(n for n in names if n in dataset and role_of(n, dataset[n]).role in PLACES[:2])
        for names in told
    ]
    differ = {each for each in angles if each}
    if len(differ) > 1:
        raise DataError(
            "channels lie on different points: "
            f"{listed(' '.join(sorted(each)) for each in differ)}; keep "
            f"those that belong together with --channels, such as --channels {channels[0]}"
        )
    return [name for names in told for name in names]


def by_role(aside: xr.Dataset, known: dict[str, Verdict], declared: list[str]) -> dict[str, str]:
    """For each role the variable that plays it."""
    chosen = {}
    for role in PLACES:
        here = [name for name, verdict in known.items() if verdict.role == role]
        if not here:
            continue
        best = min(_rank(aside, name, declared) for name in here)
        first, *others = [name for name in here if _rank(aside, name, declared) == best]
        if not known[first].firm:  # attributes come before names
            others += [name for name in here if known[name].firm]
        rivals = [name for name in others if not _same(aside, first, name)]
        if rivals:
            raise DataError(
                f"{listed([first, *rivals])} all say they are the {role} of the points, and "
                "differ; say "
                "which coordinates to take with --coords, all of them, separated by commas"
            )
        chosen[role] = first
    for name in chosen.values():
        if known[name].contradiction:
            every = ",".join(chosen.values())
            raise contradictory(name, known[name], f"--coords {every}")
    return chosen


def _rank(aside: xr.Dataset, name: str, declared: list[str]) -> int:
    if name in declared and name not in aside.dims:
        return 0
    return 2 if name in aside.dims else 1


def _same(aside: xr.Dataset, one: str, other: str) -> bool:
    first, second = aside.variables[one], aside.variables[other]
    if first.dims != second.dims:
        return False
    return bool(np.array_equal(first.values, second.values, equal_nan=first.dtype.kind == "f"))
