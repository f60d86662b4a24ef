"""What a stream of sensors was found to say: fields, error bars, and where sensors were."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import NDArray

from smore.data import Trajectories
from smore.plotting.fields import directions
from smore.plotting.panels import Row, panel_snapshots, snapshot_panels, told_time
from smore.surrogate import Description


def analysis_figure(
    fields: xr.Dataset,
    sensors: Sequence[NDArray[np.floating]],
    description: Description,
    truth: NDArray[np.floating] | None = None,
) -> Figure:
    """First channel of `fields`, its standard deviation, and if known the truth and the error.

    Args:
        fields: as `Analysis.fields` returns them.
        sensors: (points, dim) where something was observed, of every time of `fields`.
        description: of the model.
        truth: (times, points) of the first channel.
    """
    channel = description.channels[0]
    told = Trajectories.from_xarray(fields, missing="mask")
    found, clock, mesh = told.sequences[0].load(), told.clock, told.sequences[0].mesh
    name = f"{channel.name}_std"
    spread = Trajectories.from_xarray(fields, channels=[name], missing="mask").sequences[0].load()
    shown = panel_snapshots(found.num_snapshots)
    analysis, deviation = found.fields[shown, 0], spread.fields[shown, 0]
    axes = directions(description.space, mesh)
    marks = None
    if len(axes) == 2 and len(sensors[shown[0]]) < mesh.num_points / 2:
        marks = sensors[shown[0]][:, axes]
    rows = [Row("analysis", analysis, marks=marks)]
    if truth is not None:
        error = np.abs(analysis - truth[shown])
        rows = [Row("truth", truth[shown]), *rows, Row("|error|", error, is_error=True)]
    rows.append(Row("standard\ndeviation", deviation, is_error=True))
    return snapshot_panels(
        rows,
        [told_time(found.times[index], clock) for index in shown],
        mesh,
        description.space,
        f"{channel.name}, from a stream of sensors",
        channel.units,
    )
