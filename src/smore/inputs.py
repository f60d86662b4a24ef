"""From whatever the user has to trajectories."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import xarray as xr

from smore.data import Geometry, Missing, Trajectories, all_fields_bytes
from smore.errors import DataError

# Files are streamed if their fields take more bytes than this, or than this share of a bound that
# was set: the fields come with normalised copies and what is computed from them.
STREAMED_BEYOND = 4 * 2**30
IN_MEMORY_SHARE = 0.25

AnyPath = str | os.PathLike[str]
Data = Trajectories | xr.Dataset | list[xr.Dataset] | AnyPath | list[AnyPath] | list[Path]


def as_trajectories(
    data: Data,
    missing: Missing = "refuse",
    memory: int | None = None,
    geometry: Geometry | None = None,
    **how: Any,
) -> Trajectories:
    """Trajectories from whatever the user has; lazy ones from files that are large for `memory`.

    Args:
        data: trajectories as they are, datasets, or the names of files.
        missing, geometry: as in `Trajectories.open`.
        memory: bytes that may be used; None for no bound.
        how: the other arguments of `Trajectories.open`.
    """
    if isinstance(data, Trajectories):
        return data
    how |= {"missing": missing, "geometry": geometry}
    several = data if isinstance(data, list) else [data]
    if all(isinstance(each, str | os.PathLike) for each in several) and several:
        paths: list[Any] = list(several)
        most = STREAMED_BEYOND if memory is None else IN_MEMORY_SHARE * memory
        lazy = all_fields_bytes(paths, how.get("group")) > most
        return Trajectories.open(paths, lazy=lazy, **how)
    if isinstance(data, xr.Dataset | list):
        how.pop("join", None), how.pop("group", None)
        given: Any = data
        return Trajectories.from_xarray(given, **how)
    raise DataError(
        f"expected Trajectories, an xarray Dataset or a file name, got {type(data).__name__}; "
        "arrays go through Trajectories.from_arrays"
    )
