"""One sensor in ten is broken: is it found, are others accused, what does it cost?"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.assimilation import Analysis, assimilate
from smore.data import Sequence, Trajectories
from smore.model import SMORE
from smore_paper.benches.assimilation.streams import aligned_test, cut, errors, read_off

KINDS = ("offset", "spikes", "units", "stuck")
# Faults are at least so many innovation deviations, of which spikes come in this share of readings.
SIZE, SPIKES = 5.0, 0.3
# Feet for metres.
WRONG_UNITS = 3.28
BROKEN, HISTORY = 0.1, 10


@dataclass(frozen=True)
class FaultsFound:
    """Broken sensors of all streams together.

    Attributes:
        sensors: of every stream; one in ten is broken.
        found: share of the broken ones that were named.
        false_alarms: share of the sound ones that were.
        error_ratio: mean squared error over that without the broken sensors, mean of all streams.
        worst_ratio: the largest.
    """

    sensors: int
    sequences: int
    broken: int
    found: float
    false_alarms: float
    error_ratio: float
    worst_ratio: float


def faults_found(
    model: SMORE, test: Trajectories, *, sensors: int, sequences: int
) -> abc.Iterator[FaultsFound]:
    """All kinds of faults at random, on streams of ten snapshots."""
    surrogate, test = model.surrogate_, aligned_test(model, test)
    count = max(1, round(BROKEN * sensors))
    named_right = named_wrong = 0
    ratios = []
    for seed, sequence in enumerate(test.sequences[:sequences]):
        random = np.random.default_rng(seed)
        chosen = random.permutation(sequence.mesh.num_points)[:sensors]
        points = np.tile(chosen, (HISTORY, 1))
        truth = read_off(sequence, points)
        sound = assimilate(
            surrogate,
            cut(surrogate, sequence, points, truth),
            noise=0.0,
            watch=False,
            estimate=False,
        )
        broken = random.permutation(sensors)[:count]
        values = truth.copy()
        for number in broken:
            values[:, number] = _broken(truth[:, number], _deviations(sound, number), random)
        found = assimilate(surrogate, cut(surrogate, sequence, points, values), noise=0.0)
        named = {int(name.split()[1]) for name in _named(found)}
        named_right += len(named & set(broken.tolist()))
        named_wrong += len(named - set(broken.tolist()))
        rest = np.setdiff1d(np.arange(sensors), broken)
        without = cut(surrogate, sequence, points[:, rest], truth[:, rest])
        reference = assimilate(surrogate, without, noise=0.0)
        ratios.append(_error(found, sequence) / _error(reference, sequence))
    yield FaultsFound(
        sensors=sensors,
        sequences=len(ratios),
        broken=count * len(ratios),
        found=named_right / (count * len(ratios)),
        false_alarms=named_wrong / ((sensors - count) * len(ratios)),
        error_ratio=float(np.mean(ratios)),
        worst_ratio=float(np.max(ratios)),
    )


def _named(analysis: Analysis) -> set[str]:
    """Sensors that were taken out, or some of whose readings were."""
    assert analysis.watch is not None
    records = analysis.watch.records.items()
    return set(analysis.broken) | {name for (name, _), record in records if record.rejected}


def _deviations(analysis: Analysis, number: int) -> NDArray[np.float64]:
    """(channels,) largest innovation deviation of a sensor over the stream, the data's units."""
    scale = np.array(analysis.surrogate.description.normalization.scale)
    largest = np.zeros(len(scale))
    for step in analysis.steps:
        deviation = np.linalg.norm(step.innovation.root, axis=1)
        readings = step.readings
        for at in np.flatnonzero(readings.sensors == number):
            channel = readings.channels[at]
            allowed = deviation[at] * analysis.filter.tolerance[channel] * scale[channel]
            largest[channel] = max(largest[channel], allowed)
    return largest


def _broken(
    values: NDArray[np.float64], deviations: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """What a broken sensor reads instead of values (times, channels)."""
    kind = KINDS[int(random.integers(len(KINDS)))]
    if kind == "stuck":
        stuck = np.broadcast_to(values[0], values.shape)
        if (np.abs(stuck - values).max(0) >= SIZE * deviations).any():
            return stuck
        kind = "offset"  # where the field does not move nothing is wrong with it
    if kind == "units":
        wrong = WRONG_UNITS * values
        if (np.abs(wrong - values).max(0) >= SIZE * deviations).any():
            return wrong
        kind = "offset"
    side = random.choice([-1.0, 1.0], size=values.shape[1])
    if kind == "offset":
        return values + SIZE * side * deviations
    when = random.uniform(size=len(values)) < SPIKES
    when[random.integers(len(values))] = True
    size = random.uniform(SIZE, 3 * SIZE, size=values.shape)
    return values + when[:, None] * size * side * deviations


def _error(analysis: Analysis, sequence: Sequence) -> float:
    """Mean square, each channel over its variance, at the end of the stream and after it."""
    error, _ = errors(analysis, sequence, slice(HISTORY - 1, HISTORY + 5))
    variance = np.array(analysis.surrogate.description.training_variance)
    return float((np.square(error) / variance[:, None]).mean())
