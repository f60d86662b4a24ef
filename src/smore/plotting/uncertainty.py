"""A forecast beside its standard deviation."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from smore.data import Trajectories
from smore.description import Description
from smore.plotting.panels import Row, panel_snapshots, snapshot_panels, told_time


def uncertainty_figure(
    forecast: xr.Dataset, observations: Trajectories, description: Description
) -> Figure:
    """First sequence, first channel of `forecast`; dots where it was observed."""
    channel = description.channels[0]
    fields = Trajectories.from_xarray(forecast)
    first = fields.sequences[0]
    shown = panel_snapshots(first.num_snapshots)
    seen = observations.sequences[0]
    known = slice(None) if seen.observed is None else seen.observed[0, 0]
    places = seen.mesh.coords[known]
    if description.space.geometry == "sphere":
        places = places[:, ::-1]
    marks = places if places.shape[1] == 2 and len(places) < first.mesh.num_points / 2 else None
    rows = [Row("forecast", first.fields[shown, 0], marks=marks)]
    name = f"{channel.name}_std"
    if name in forecast:
        deviation = Trajectories.from_xarray(forecast, channels=[name]).sequences[0]
        rows.append(Row("standard\ndeviation", deviation.fields[shown, 0], is_error=True))
    return snapshot_panels(
        rows,
        [told_time(first.times[index], fields.clock) for index in np.array(shown)],
        first.mesh,
        description.space,
        f"{channel.name}, sequence 1, forecast from {len(places):,} points",
        channel.units,
    )
