"""The forecast of one snapshot that tables keep beside their rows, to be looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smore.data import Sequence, Trajectories
from smore.errors import DivergenceError
from smore.inference import FitMethod
from smore.model import SMORE
from smore.surrogate import advance, decode, infer

SNAPSHOT = 15  # counted from 1


def forecast_snapshot(
    model: SMORE, test: Trajectories, method: FitMethod, sensors: NDArray[np.intp] | None = None
) -> NDArray[np.floating]:
    """(channels, points) the forecast of snapshot SNAPSHOT, or of the last one if there are fewer.

    Args:
        model: a fitted model.
        test: data as the model has them, of which the first sequence is forecast.
        method: how the state behind its first snapshot is inferred.
        sensors: points of that snapshot that are seen; None for all.

    Returns:
        NaN if the forecast overflows.
    """
    surrogate, first = model.surrogate_, test.select([0])
    (truth,), seen = first.sequences, first.leading(1)
    try:
        seen = seen if sensors is None else seen.at_points(sensors)
        latents = advance(surrogate, infer(surrogate, seen, method), truth.times[None, 1:SNAPSHOT])
        return decode(surrogate, latents[0, -1], truth.mesh)
    except DivergenceError:
        return np.full((truth.num_channels, truth.mesh.num_points), np.nan)


def fields_beside_truth(test: Trajectories, forecast: NDArray[np.floating]) -> Trajectories:
    """Snapshot SNAPSHOT of the first test sequence, each channel `u` followed by `u_forecast`.

    Args:
        test: the truth.
        forecast: (channels, points); NaN where it is not finite.
    """
    index = snapshot_index(test)
    truth = test.sequences[0].snapshots(slice(index, index + 1))
    finite = np.where(np.isfinite(forecast), forecast, np.nan)
    both = np.stack([truth.fields[0], finite], axis=1).reshape(1, -1, truth.mesh.num_points)
    channels = [
        channel.model_copy(update={"name": channel.name + ending})
        for channel in test.channels
        for ending in ("", "_forecast")
    ]
    snapshot = Sequence(truth.times, both.astype(np.float32), truth.mesh)
    return Trajectories((snapshot,), tuple(channels), test.space, test.clock, (0,))


def snapshot_index(test: Trajectories) -> int:
    """Of snapshot SNAPSHOT, or the last one if there are fewer."""
    return min(SNAPSHOT, test.sequences[0].num_snapshots) - 1
