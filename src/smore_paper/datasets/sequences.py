"""From simulated trajectories to the sequences a model is trained and tested on."""

import numpy as np
import xarray as xr


def cut(trajectories: xr.Dataset, snapshots: int) -> xr.Dataset:
    """(trajectory, time, ...) → (sequence, time, ...): consecutive pieces, clocks set to zero.

    Args:
        trajectories: channels over (trajectory, time, ...), coordinates over `trajectory`, `time`
            or the grid.
        snapshots: the length of a sequence; must divide the number of times.

    Returns:
        The same channels. The coordinates `trajectory` and `start_time` say where a sequence was
        cut, so that a validation split can keep the pieces of one trajectory together.
    """
    times = trajectories["time"]
    pieces = times.size // snapshots
    channels = {
        name: (
            ("sequence", *channel.dims[1:]),
            channel.values.reshape(-1, snapshots, *channel.shape[2:]),
            channel.attrs,
        )
        for name, channel in trajectories.data_vars.items()
    }
    origin = {
        name: ("sequence", np.repeat(coordinate.values, pieces), coordinate.attrs)
        for name, coordinate in trajectories.coords.items()
        if coordinate.dims == ("trajectory",)
    }
    grid = {
        name: coordinate
        for name, coordinate in trajectories.coords.items()
        if not {"trajectory", "time"} & set(coordinate.dims)
    }
    clock = times.values[:snapshots] - times.values[0]
    starts = np.tile(times.values[::snapshots], trajectories.sizes["trajectory"])
    return xr.Dataset(
        channels,
        coords={
            "time": ("time", clock, times.attrs | {"long_name": "time in the sequence"}),
            **grid,
            **origin,
            "start_time": ("sequence", starts, times.attrs | {"long_name": "start of sequence"}),
        },
        attrs=trajectories.attrs,
    )
