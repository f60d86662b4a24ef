"""Stories of forecasts, of analyses, and of forecasts beside the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.assimilation import Analysis
from smore.data import Trajectories
from smore.errors import DataError
from smore.inference import FitMethod
from smore.plotting.ground import Ground
from smore.plotting.story import (
    Array,
    Course,
    Marks,
    Story,
    chosen_channels,
    evenly,
    left_out,
    panel_snapshots,
)
from smore.surrogate import (
    Description,
    Surrogate,
    advance,
    advance_uncertain,
    fields_dataset,
    infer,
)

# Times that are told apart in a picture over time, and frames of a film.
MOST_TIMES, MOST_FRAMES = 400, 100
# Sensors at more than this share of the points would hide the field.
SPARSE = 0.5


def forecast_story(
    fields: xr.Dataset,
    description: Description,
    observations: Trajectories | None = None,
    truth: Trajectories | None = None,
    *,
    sequence: int = 0,
    channels: Sequence[str] | None = None,
    film: bool = False,
) -> Story:
    """What `SMORE.forecast` returned, marked where it was observed, beside the truth if known.

    Args:
        fields: the forecast.
        description: of the model.
        observations: aligned with the model.
        truth: the same, with snapshots at all times of the forecast, at its points.
        sequence: which of them.
        channels: names; by default all.
        film: whether every time is to be seen.
    """
    chosen = chosen_channels(description, channels)
    some, _ = _some_times(fields, description, film)
    marks = {}
    if observations is not None:
        first = observations.sequences[sequence].snapshots(slice(0, 1)).load()
        for number in chosen:
            seen = slice(None) if first.observed is None else first.observed[0, number]
            marks[number] = [first.mesh.coords[seen], *[None] * (some.sizes["time"] - 1)]
    counted = [len(places[0]) for places in marks.values() if places[0] is not None]
    origin = f", from {max(counted):,} points" if counted else ""
    heading = f"forecast of sequence {sequence + 1}{origin}{left_out(description, channels)}"
    return _story(some, description, chosen, sequence, heading, "forecast", marks, truth)


def evaluation_story(
    surrogate: Surrogate,
    trajectories: Trajectories,
    *,
    sequence: int = 0,
    channels: Sequence[str] | None = None,
    method: FitMethod = "posterior",
    film: bool = False,
) -> Story:
    """A forecast of one sequence from its first snapshot, beside the truth.

    Args:
        surrogate: the model.
        trajectories: the truth.
        sequence: number of the sequence.
        channels: names; by default all.
        method: how the first state is inferred.
        film: whether every time is to be seen.
    """
    description = surrogate.description
    chosen = chosen_channels(description, channels)
    names = [channel.name for channel in description.channels]
    one = surrogate.aligned(trajectories.select_channels(names)).select([sequence])
    truth = one.sequences[0]
    shown = _shown(truth.num_snapshots, Ground.of(truth.mesh, description).is_line, film)
    instants = truth.times[shown]
    state = infer(surrogate, one, method)
    if state.covariance is None:
        latents, covariances = advance(surrogate, state, instants[None, 1:]), None
    else:
        latents, covariances = advance_uncertain(surrogate, state, instants[None, 1:])
    fields = fields_dataset(surrogate, latents, covariances, instants, [truth.mesh], state.growth)
    heading = f"sequence {sequence + 1}, forecast from snapshot 1"
    heading += left_out(description, channels)
    numbers = [index + 1 for index in shown]
    return _story(fields, description, chosen, 0, heading, "forecast", {}, one, numbers)


def analysis_story(
    analysis: Analysis,
    fields: xr.Dataset,
    truth: Trajectories | None = None,
    *,
    channels: Sequence[str] | None = None,
    film: bool = False,
) -> Story:
    """What a stream of sensors was found to say, and where sensors were.

    Args:
        analysis: of the stream.
        fields: as `Analysis.fields` returned them.
        truth: with snapshots at all times of `fields`, at its points.
        channels: names; by default all.
        film: whether every time is to be seen.
    """
    description = analysis.surrogate.description
    chosen = chosen_channels(description, channels)
    some, instants = _some_times(fields, description, film)
    marks = {
        number: [_sensors(analysis, time, number) for time in instants.tolist()]
        for number in chosen
    }
    heading = f"analysis of a stream of sensors{left_out(description, channels)}"
    return _story(some, description, chosen, 0, heading, "analysis", marks, truth)


def _sensors(analysis: Analysis, time: float, channel: int) -> Array | None:
    """(points, dim) that were read at a time, or last before; none when all of it is past."""
    if time > analysis.times[-1]:
        return None
    at = int(np.searchsorted(analysis.times, time, side="right")) - 1
    readings = analysis.steps[at].readings
    return np.unique(readings.coords[readings.channels == channel], axis=0)


def _shown(length: int, is_line: bool, film: bool) -> list[int]:
    """Which times a figure needs: some, or on a line nearly all of them."""
    if film:
        return evenly(length, MOST_FRAMES)
    return evenly(length, MOST_TIMES) if is_line else panel_snapshots(length)


def _some_times(
    fields: xr.Dataset, description: Description, film: bool
) -> tuple[xr.Dataset, NDArray[np.float64]]:
    """The times that are drawn, which are the only ones that need be decoded."""
    name = description.channels[0].name
    mesh = (
        Trajectories.from_xarray(fields.isel(time=[0]), channels=[name], missing="mask")
        .sequences[0]
        .mesh
    )
    is_line = Ground.of(mesh, description).is_line
    some = fields.isel(time=_shown(fields.sizes["time"], is_line, film))
    return some, description.clock.to_numbers(some["time"].values)


def _story(
    fields: xr.Dataset,
    description: Description,
    chosen: list[int],
    sequence: int,
    heading: str,
    word: str,
    marks: Mapping[int, Marks],
    truth: Trajectories | None,
    snapshots: Sequence[int] = (),
) -> Story:
    names = [description.channels[number].name for number in chosen]
    spreads = [f"{name}_std" for name in names if f"{name}_std" in fields]
    told = Trajectories.from_xarray(fields, channels=[*names, *spreads], missing="mask")
    found = told.sequences[sequence].load()
    ground, clock = Ground.of(found.mesh, description), description.clock
    times = clock.to_numbers(told.clock.to_values(found.times))
    values = _known(found.fields, found.observed)
    true = None if truth is None else _truth(truth, sequence, times, ground, description)
    courses = [
        Course(
            description.channels[number],
            values[:, at],
            values[:, len(names) + at] if spreads else None,
            None if true is None else true[:, number],
            _sparse(marks.get(number, ()), ground),
        )
        for at, number in enumerate(chosen)
    ]
    return Story(heading, word, ground, times, clock, courses, snapshots)


def _known(fields: Array, observed: NDArray[np.bool_] | None) -> Array:
    return fields if observed is None else np.where(observed, fields, np.nan)


def _sparse(marks: Marks, ground: Ground) -> Marks:
    """The marks, if they leave the field to be seen."""
    most = max((len(places) for places in marks if places is not None), default=0)
    return marks if most < SPARSE * ground.mesh.num_points else ()


def _truth(
    truth: Trajectories,
    sequence: int,
    times: NDArray[np.float64],
    ground: Ground,
    description: Description,
) -> Array:
    """(times, channels, points) of the truth at some times.

    Raises:
        DataError: it has other points, or no snapshots at these times.
    """
    true = truth.sequences[min(sequence, len(truth) - 1)]
    if not true.mesh.same_points(ground.mesh):
        raise DataError(
            "the truth has other points than the forecast: forecast on its mesh, `points=`"
        )
    there = np.abs(true.times[:, None] - times)
    at = there.argmin(axis=0)
    missed = there.min(axis=0) > 1e-6 * description.time_step
    if missed.any():
        when = description.clock.to_values(times[missed][0])
        raise DataError(f"the truth has no snapshot at {when}: forecast at its times")
    loaded = true.load()
    observed = None if loaded.observed is None else loaded.observed[at]
    return _known(loaded.fields[at], observed)
