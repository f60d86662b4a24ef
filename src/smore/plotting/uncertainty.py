"""A forecast beside its standard deviation."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import NDArray

from smore.data import Sequence, Trajectories
from smore.plotting.fields import directions
from smore.plotting.panels import Row, panel_snapshots, snapshot_panels, told_time
from smore.surrogate import Description


def uncertainty_figure(
    forecast: xr.Dataset, observations: Trajectories, description: Description
) -> Figure:
    """First sequence, first channel of `forecast`; dots where it was observed."""
    channel = description.channels[0]
    fields = Trajectories.from_xarray(forecast, missing="mask")
    first = fields.sequences[0]
    shown = panel_snapshots(first.num_snapshots)
    seen = observations.sequences[0]
    known = slice(None) if seen.observed is None else seen.observed[0, 0]
    places = seen.mesh.coords[known][:, directions(description.space, first.mesh)]
    marks = places if places.shape[1] == 2 and len(places) < first.mesh.num_points / 2 else None
    rows = [Row("forecast", _first_channel(first)[shown], marks=marks)]
    name = f"{channel.name}_std"
    if name in forecast:
        deviations = Trajectories.from_xarray(forecast, channels=[name], missing="mask")
        deviation = _first_channel(deviations.sequences[0])
        rows.append(Row("standard\ndeviation", deviation[shown], is_error=True))
    return snapshot_panels(
        rows,
        [told_time(first.times[index], fields.clock) for index in np.array(shown)],
        first.mesh,
        description.space,
        f"{channel.name}, sequence 1, forecast from {len(places):,} points",
        channel.units,
    )


def _first_channel(sequence: Sequence) -> NDArray[np.floating]:
    """(times, points), NaN where there is no forecast."""
    first = sequence.load()  # once
    known = True if first.observed is None else first.observed[:, 0]
    return np.where(known, first.fields[:, 0], np.nan)
