"""What is said of dimensions whose points cannot be placed."""

from __future__ import annotations

import numpy as np
import xarray as xr

from smore.data.reading._channels import describe
from smore.data.reading._dimensions import Dimensions
from smore.data.reading._place_candidates import PLACES
from smore.data.reading._roles import role_of
from smore.data.reading.record import listed, shown
from smore.errors import DataError, how_to_set

PLAIN = how_to_set("geometry", "box")


def too_many_levels(aside: xr.Dataset, dim: str, size: int) -> DataError:
    values = aside.variables[dim].values if dim in aside.variables else np.arange(size)
    units = str(aside.variables[dim].attrs.get("units", "")) if dim in aside.variables else ""
    told = listed((f"{v:g}" if values.dtype.kind in "fiu" else v for v in values), 6)
    return DataError(
        f"expected latitude and longitude alone, '{dim}' has {size} entries as well ({told}"
        f"{' ' + shown(units) if units else ''}); keep one with --select "
        f"{dim}={first_entry(aside, dim)}, say "
        f"that they are separate runs with --dims {dim}=sequence, or pass {PLAIN} to take all as "
        "Cartesian coordinates"
    )


def first_entry(aside: xr.Dataset, dim: str) -> str:
    """The first entry along a dimension, as one would select it."""
    if dim not in aside.variables:
        return "0"
    value = aside.variables[dim].values.ravel()[0]
    return f"{value:g}" if aside.variables[dim].dtype.kind in "fiu" else shown(value)


def not_located(aside: xr.Dataset, dim: str, parts: Dimensions | None) -> DataError:
    moving = [
        str(name)
        for name, variable in aside.variables.items()
        if parts is not None
        and {parts.time, dim} <= set(variable.dims)
        and role_of(name, variable).role in PLACES
    ]
    if moving:
        return DataError(
            f"the points along '{dim}' move: {describe(aside, moving)}; expected points that "
            "stay where "
            "they are; interpolate the fields to fixed points"
        )
    return DataError(
        f"nothing says where the points along dimension '{dim}' are; add coordinates, as in "
        f"dataset.assign_coords({dim}=...) or smore data convert FILE OUT.nc --coord {dim}=0:1, "
        "or, if "
        f"'{dim}' counts separate runs or times, say --dims {dim}=sequence or {dim}=time"
    )


def counts(values: np.ndarray) -> bool:
    """Whether values are 0, 1, 2, .. or 1, 2, 3, .., as members and components have them."""
    numbers = values.ravel().astype(float)
    return bool(len(numbers) > 1 and numbers[0] in (0, 1) and (np.diff(numbers) == 1).all())
