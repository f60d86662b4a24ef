"""From a whole stream to an analysis: the filter forwards, the smoother backwards."""

from __future__ import annotations

import numpy as np

from smore.assimilation._decoder_error import MOST_SILENT, MOST_SPOTS
from smore.assimilation._filtering import Belief, Step, StreamFilter
from smore.assimilation._latent_system import LatentSystem
from smore.assimilation._levels import Levels, early_part, likeliest_levels
from smore.assimilation._smoothing import smoothed_once
from smore.assimilation._watching import Watch
from smore.assimilation.analysis import Analysis
from smore.assimilation.kalman import Gaussian
from smore.assimilation.stream import Stream
from smore.dynamics import LinearDynamics
from smore.errors import DataError, SettingsError
from smore.surrogate import Noise, Surrogate, noise_of

# Bytes of states and transitions that an analysis may keep.
MOST_BYTES = 4 * 2**30
# Rounds in which sensors are found broken; the first ones may have hidden others.
MAX_ROUNDS = 3
# If more sensors than this share contradict the others, it is not sensors that are broken.
MOST_BROKEN = 0.34
# Unless a few of them had misled the filter about all the others: each of so many suspects is left
# out in its turn, and the one without which contradictions fall most, by at least this share.
SUSPECTS, RELIEF = 20, 0.1


def assimilate(
    surrogate: Surrogate,
    stream: Stream,
    *,
    noise: Noise = None,
    smooth: bool = False,
    watch: bool = True,
    estimate: bool = True,
    levels: Levels | None = None,
    members: int = 0,
    seed: int = 0,
) -> Analysis:
    """What a stream says about the states of a model at all of its times.

    Args:
        surrogate: the model.
        stream: the observations.
        noise: standard deviation of the instruments, see `SMORE.infer`; None to estimate it.
        smooth: whether states know what came after them too.
        watch: whether sensors that look broken are taken out.
        estimate: whether sizes of errors are adjusted to the stream, by likelihood.
        levels: sizes of errors that an earlier analysis found; nothing is told or estimated then.
        members: of an ensemble for quadratic dynamics; 0 linearises them.
        seed: of the ensemble.

    Raises:
        DataError: too many times for memory.
        SettingsError: a smoother of an ensemble.
    """
    _require_sensible(surrogate, smooth, members)
    told, estimate = noise_of(surrogate, noise), estimate and levels is None
    if levels is None:
        levels = Levels.usual(surrogate, None if told is None else told.numpy())
    _require_room(surrogate, stream, smooth)
    broken: set[str] = set()
    if watch:  # first of all: broken sensors would be taken for noise, or for a bad model
        rough = levels
        if estimate and not levels.told:
            rough = likeliest_levels(surrogate, stream, levels, noise_only=True)
        broken = _contradicting(surrogate, stream, rough)
    if estimate:
        levels = likeliest_levels(surrogate, stream.without(broken), levels)
    for _ in range(MAX_ROUNDS):
        watching = Watch(out=broken) if watch else None
        filter_ = stream_filter(surrogate, levels, watching, members=members, seed=seed)
        steps = _filtered(filter_, stream, keep_transitions=smooth)
        # Before they were found out they had been believed: start again without them.
        found = set() if watching is None else watching.broken - broken
        if not found or len(broken | found) > MOST_BROKEN * len(stream.names):
            break
        broken |= found
    later = _smoothed(steps) if smooth else None
    return Analysis(surrogate, filter_, stream, steps, later, levels, watching, frozenset(broken))


def stream_filter(
    surrogate: Surrogate,
    levels: Levels,
    watch: Watch | None,
    *,
    members: int = 0,
    seed: int = 0,
    system: LatentSystem | None = None,
) -> StreamFilter:
    """The filter with these sizes of errors."""
    return StreamFilter(
        surrogate,
        levels.instruments,
        inflation=levels.inflation,
        growth=levels.growth,
        watch=watch,
        members=members,
        seed=seed,
        system=system,
    )


def _contradicting(surrogate: Surrogate, stream: Stream, levels: Levels) -> set[str]:
    """Sensors that contradict the others; none where these are most: then the model is wrong."""
    most = MOST_BROKEN * len(np.unique(stream.sensors))
    misleading: set[str] = set()
    while len(misleading) <= most:
        watch = Watch(out=misleading)
        _filtered(stream_filter(surrogate, levels, watch), stream)
        broken = watch.broken | misleading
        if len(broken) <= most:
            return broken
        found = _most_misleading(surrogate, early_part(stream).without(misleading), levels, watch)
        if found is None:
            break
        misleading.add(found)
    return set()


def _most_misleading(
    surrogate: Surrogate, stream: Stream, levels: Levels, watch: Watch
) -> str | None:
    """The sensor without which readings contradict each other least; None if none matters much."""

    def contradiction(part: Stream) -> float:
        steps = _filtered(stream_filter(surrogate, levels, None), part)
        return float(sum(np.square(step.innovation.whitened).sum() for step in steps))

    here = {stream.names[sensor] for sensor in np.unique(stream.sensors)}
    off = dict.fromkeys(here, 0.0)
    for (name, _), record in watch.records.items():
        if name in here:
            off[name] = max(off[name], abs(record.mean))
    suspects = sorted(off, key=lambda name: (-off[name], name))[:SUSPECTS]
    left = {name: contradiction(stream.without({name})) for name in suspects}
    best = min(left, key=lambda name: left[name], default=None)
    enough = best is not None and left[best] <= (1 - RELIEF) * contradiction(stream)
    return best if enough else None


def _filtered(
    filter_: StreamFilter, stream: Stream, *, keep_transitions: bool = False
) -> list[Step]:
    belief: Belief | None = None
    steps = []
    for time, readings in stream.by_time():
        step = filter_.step(belief, time, readings)
        belief = step.belief
        steps.append(step if keep_transitions else step.without_transition())
    return steps


def _smoothed(steps: list[Step]) -> list[Gaussian]:
    """States given the whole stream, in the order of time."""
    later = steps[-1].belief.state
    found = [later]
    for step, following in zip(reversed(steps[:-1]), reversed(steps[1:]), strict=True):
        assert following.transition is not None
        later = smoothed_once(step.belief.state, following.transition, later)
        found.append(later)
    return found[::-1]


def _require_sensible(surrogate: Surrogate, smooth: bool, members: int) -> None:
    if members and smooth:
        raise SettingsError("the smoother is that of the linearised filter; leave out members")
    if members == 1 or members < 0:
        raise SettingsError(f"an ensemble has at least 2 members, got {members}; 0 is without one")
    if members and isinstance(surrogate.dynamics, LinearDynamics):
        raise SettingsError("linear dynamics have an exact filter; leave out members")


def _require_room(surrogate: Surrogate, stream: Stream, smooth: bool) -> None:
    """Refuse streams whose states cannot be kept, before any work."""
    times = len(np.unique(stream.times))
    places = len(np.unique(np.column_stack([stream.coords, stream.channels]), axis=0))
    size = 2 * surrogate.dynamics.dim + min(places, len(stream) // times + MOST_SILENT, MOST_SPOTS)
    needed = 8 * times * size**2 * (4 if smooth else 1)
    if needed > MOST_BYTES:
        raise DataError(
            f"an analysis of {times:,} times would keep {needed / 2**30:.3g} GiB of states, more "
            f"than {MOST_BYTES / 2**30:.0f} GiB; take a part of the stream, or follow it with "
            "track, which keeps the last state only"
        )
