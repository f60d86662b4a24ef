"""One sequence for the player: truth, forecast and error bars, of some times at the points shown.

The numbers of a frame (its rms error and those beside it) are means over all points of the mesh,
whether they are shown or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data import Mesh, Sequence, Trajectories
from smore.inference import LatentState
from smore.model import SMORE
from smore.report._picture import Picture, picture_of

FloatArray = NDArray[np.float64]

# Values of each kind that go into a page: 16 bits each, four kinds, are 3.6 MB as text.
MOST_NUMBERS = 340_000
MOST_CHANNELS = 6
# So many times are shown if the points let them, and points make room for so many.
MOST_FRAMES, ENOUGH_FRAMES = 120, 16
# Values that are decoded at once.
AT_ONCE = 2**23
# Half the width of a 90% interval, in standard deviations.
NINETY = 1.6448536269514722


@dataclass(frozen=True, eq=False)
class Frames:
    """What the player shows, (frames, channels, points of the picture), NaN where not known.

    Args:
        picture: where the values belong.
        numbers: (frames,) of the snapshots, counted from 0; the first is what the forecast knows.
        times: (frames,) of these.
        truth: what happened.
        forecast: from the first snapshot.
        deviation: standard deviation of the forecast; None where the model has none.
        error: (frames, channels) root mean square, all points.
        kept: the same of persistence, the first snapshot for ever.
        expected: (frames, channels) rms of `deviation`.
        inside: (frames, channels) share of the true values in 90% intervals.
        num_sequences: how many there are to choose from.
        length: snapshots of the sequence.
        sequence: number of the one that was chosen, from 0.
    """

    picture: Picture
    numbers: NDArray[np.intp]
    times: FloatArray
    truth: FloatArray
    forecast: FloatArray
    deviation: FloatArray | None
    error: FloatArray
    kept: FloatArray
    expected: FloatArray | None
    inside: FloatArray | None
    num_sequences: int
    length: int
    sequence: int


def played(model: SMORE, truth: Trajectories, sequence: int) -> Frames:
    """The forecast of a sequence from its first snapshot, beside what happened.

    Args:
        model: the model.
        truth: aligned with it.
        sequence: which one, from 0.
    """
    chosen = truth.sequences[sequence]
    shown_channels = min(truth.num_channels, MOST_CHANNELS)
    least = min(chosen.num_snapshots, ENOUGH_FRAMES)
    mesh = chosen.mesh
    picture = picture_of(mesh, truth.space, MOST_NUMBERS // (shown_channels * least))
    most = max(MOST_NUMBERS // (shown_channels * len(picture.shown)), 2)
    numbers = evenly(chosen.num_snapshots, min(most, MOST_FRAMES))
    times = chosen.times[numbers]
    state = model.infer(truth.select([sequence]).leading(1))
    forecast, error, kept, actual = [], [], [], []
    first = observed(chosen, 0)
    for number, predicted in zip(numbers, forecasts(model, state, times, mesh), strict=True):
        happened = observed(chosen, int(number))
        error.append(_rms(predicted - happened))
        kept.append(_rms(first - happened))
        forecast.append(predicted[:, picture.shown])
        actual.append(happened[:, picture.shown])
    channels = slice(shown_channels)
    happened, predicted = np.stack(actual)[:, channels], np.stack(forecast)[:, channels]
    deviation = _deviations(model, state, times, mesh, picture)
    expected = inside = None
    if deviation is not None:
        deviation = deviation[:, channels]
        expected = _rms(deviation)
        inside = _share(np.abs(predicted - happened) <= NINETY * deviation, predicted - happened)
    return Frames(
        picture=picture,
        numbers=numbers,
        times=times,
        truth=happened,
        forecast=predicted,
        deviation=deviation,
        error=np.stack(error)[:, channels],
        kept=np.stack(kept)[:, channels],
        expected=expected,
        inside=inside,
        num_sequences=len(truth),
        length=chosen.num_snapshots,
        sequence=sequence,
    )


def evenly(length: int, most: int) -> NDArray[np.intp]:
    """At most so many of 0 .. length - 1, the first and the last among them."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(np.intp))


def observed(sequence: Sequence, number: int) -> FloatArray:
    """One snapshot (channels, points), NaN where nothing was observed."""
    piece = sequence.snapshots(slice(number, number + 1)).load()
    fields = piece.fields[0].astype(np.float64)
    return fields if piece.observed is None else np.where(piece.observed[0], fields, np.nan)


def forecasts(
    model: SMORE, state: LatentState, times: FloatArray, mesh: Mesh
) -> Iterator[FloatArray]:
    """(channels, points) of one time after the other."""
    clock = model.surrogate_.description.clock
    size = max(AT_ONCE // (mesh.num_points * model.surrogate_.num_channels), 1)
    for start in range(0, len(times), size):
        when = clock.to_values(times[start : start + size])
        found = model.forecast(state, when, points=mesh, uncertainty=False)
        yield from _fields(found, _names(model), mesh.num_points)


def _deviations(
    model: SMORE, state: LatentState, times: FloatArray, mesh: Mesh, picture: Picture
) -> FloatArray | None:
    """(times, channels, shown points); None where names leave no room for error bars."""
    names = [f"{name}_std" for name in _names(model)]
    if set(names) & set(_names(model)):
        return None
    when = model.surrogate_.description.clock.to_values(times)
    where = mesh if len(picture.shown) == mesh.num_points else mesh.subset(picture.shown)
    found = model.forecast(state, when, points=where)
    deviations = _fields(found, names, where.num_points)
    return deviations[..., picture.shown] if where is mesh else deviations


def _names(model: SMORE) -> list[str]:
    return [channel.name for channel in model.surrogate_.description.channels]


def _fields(dataset: xr.Dataset, names: list[str], num_points: int) -> FloatArray:
    """(times, channels, points) of a forecast of one sequence."""
    each = [dataset[name].values.reshape(-1, num_points) for name in names]
    return np.stack(each, axis=1).astype(np.float64)


def _rms(values: FloatArray) -> FloatArray:
    """Over the last axis, of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    squares = np.where(known, values, 0.0) ** 2
    return np.sqrt(_mean(squares.sum(axis=-1), known.sum(axis=-1)))


def _share(holds: NDArray[np.bool_], errors: FloatArray) -> FloatArray:
    known = np.isfinite(errors)
    return _mean((holds & known).sum(axis=-1), known.sum(axis=-1))


def _mean(total: NDArray, count: NDArray) -> FloatArray:
    return np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)
