"""From whatever the user has to trajectories."""

from __future__ import annotations

import os

import xarray as xr

from smore.data import Geometry, Missing, Trajectories, fields_bytes
from smore.errors import DataError

# Files are streamed if their fields take more bytes than this, or than this share of a bound that
# was set: the fields come with normalised copies and what is computed from them.
STREAMED_BEYOND = 4 * 2**30
IN_MEMORY_SHARE = 0.25

Data = Trajectories | xr.Dataset | list[xr.Dataset] | str | os.PathLike[str]


def as_trajectories(
    data: Data,
    missing: Missing = "refuse",
    memory: int | None = None,
    geometry: Geometry | None = None,
) -> Trajectories:
    """Trajectories from whatever the user has; lazy ones from a file that is large for `memory`."""
    if isinstance(data, Trajectories):
        return data
    if isinstance(data, xr.Dataset | list):
        return Trajectories.from_xarray(data, missing=missing, geometry=geometry)
    if not isinstance(data, str | os.PathLike):
        raise DataError(
            f"expected Trajectories, an xarray Dataset or a file name, got {type(data).__name__}; "
            "arrays go through Trajectories.from_arrays"
        )
    most = STREAMED_BEYOND if memory is None else IN_MEMORY_SHARE * memory
    lazy = fields_bytes(data) > most
    return Trajectories.open(data, missing=missing, geometry=geometry, lazy=lazy)
