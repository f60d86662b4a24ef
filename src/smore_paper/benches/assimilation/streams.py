"""Streams cut out of a benchmark's test set, and how far an analysis is from the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smore.assimilation import Analysis, Stream
from smore.data import Sequence, Trajectories
from smore.model import SMORE
from smore.surrogate import Surrogate

Array = NDArray[np.float64]


def aligned_test(model: SMORE, test: Trajectories) -> Trajectories:
    """The test set as the model has it."""
    names = [channel.name for channel in model.surrogate_.description.channels]
    return model.surrogate_.aligned(test.select_channels(names))


def cut(
    surrogate: Surrogate,
    sequence: Sequence,
    points: NDArray[np.intp],
    values: Array,
    known: NDArray[np.bool_] | None = None,
) -> Stream:
    """A stream of named sensors.

    Args:
        surrogate: the model.
        sequence: the truth.
        points: (times, sensors) at which point of the mesh each sensor is.
        values: (times, sensors, channels) what they read.
        known: (times, sensors) when they do.
    """
    times, sensors = points.shape
    seen = values if known is None else np.where(known[..., None], values, np.nan)
    return Stream.of(
        np.repeat(sequence.times[:times], sensors),
        sequence.mesh.coords[points.ravel()],
        seen.reshape(times * sensors, -1),
        [f"sensor {number}" for number in range(sensors)] * times,
        surrogate,
    )


def read_off(sequence: Sequence, points: NDArray[np.intp]) -> Array:
    """(times, sensors, channels) true values where sensors are."""
    fields = sequence.fields[: len(points)].astype(np.float64)
    return np.stack([field[:, at].T for field, at in zip(fields, points, strict=True)])


def errors(analysis: Analysis, sequence: Sequence, steps: slice) -> tuple[Array, Array]:
    """Errors and stated deviations (times, channels, points) at some steps, the data's units."""
    found = analysis.fields(
        analysis.surrogate.description.clock.to_values(sequence.times[steps]), sequence.mesh
    )
    names = [channel.name for channel in analysis.surrogate.description.channels]
    count = len(sequence.times[steps])

    def table(suffix: str) -> Array:
        each = [found[name + suffix].values.reshape(count, -1) for name in names]
        return np.stack(each, axis=1).astype(np.float64)

    return table("") - sequence.fields[steps], table("_std")
