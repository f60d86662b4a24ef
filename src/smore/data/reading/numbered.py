"""Fields that are numbered rather than timed: modes, directions, members."""

from __future__ import annotations

from collections import abc

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.mesh import Mesh
from smore.data.sequence import Sequence
from smore.data.space import Channel, Clock, Space
from smore.data.trajectories import Trajectories


def numbered_fields(
    fields: NDArray[np.floating],
    mesh: Mesh,
    channels: abc.Sequence[Channel],
    space: Space,
    dimension: str,
) -> xr.Dataset:
    """Fields (n, channels, points) as forecasts are written, numbered from 1 along `dimension`."""
    numbers = np.arange(1.0, 1 + len(fields))
    return (
        Trajectories(
            sequences=(Sequence(numbers, fields.astype(np.float32), mesh),),
            channels=tuple(channels),
            space=space,
            clock=Clock(),
            groups=(0,),
        )
        .to_xarray()
        .isel(sequence=0)
        .rename(time=dimension)
        .assign_coords({dimension: numbers.astype(int)})
    )
