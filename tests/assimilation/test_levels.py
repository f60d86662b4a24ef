"""Sizes of errors as a stream tells them, tails of the decoder's error included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from smore.assimilation import Stream
from smore.assimilation._levels import INTERVAL, likeliest_levels
from smore.assimilation._levels import Levels as Sizes
from smore.assimilation.assimilating import assimilate

GROWTH = 16.0
# What the erring model's decoder misses of the training data.
DEVIATION = 0.01


@pytest.fixture
def grown(erring):
    """The erring model, whose decoder missed sixteen times more of left-out trajectories."""
    surrogate = erring.surrogate_
    description = surrogate.description.model_copy(update={"noise_growth": (GROWTH, GROWTH)})
    return replace(surrogate, description=description)


def stream_of(surrogate, rows, draw, seed):
    """Twenty times of ten sensors whose places are missed by what `draw` says, again and again."""
    times, coords, values, sensors = rows(20, 10, seed=seed)
    random = np.random.default_rng(seed)
    scale = np.array(surrogate.description.normalization.scale)
    missed = np.zeros((10, 2))
    for index in range(20):
        memory = np.array([0.7, 0.5]) if index else 0.0
        missed = memory * missed + np.sqrt(1 - np.square(memory)) * draw(random)
        values[10 * index : 10 * (index + 1)] += DEVIATION * scale * missed
    return Stream.of(times, coords, values, sensors, surrogate)


def share_inside(surrogate, stream, levels):
    """Of readings, each left out in its turn, in their 90% intervals."""
    analysis = assimilate(surrogate, stream, levels=levels, watch=False)
    deviations = np.concatenate([step.innovation.left_out for step in analysis.steps])
    return float((np.abs(deviations) <= INTERVAL).mean())


def test_a_stream_that_fits_better_than_left_out_data_is_believed(grown, rows):
    """The decoder misses as much as of the training data, and the error bars say so."""
    found = []
    for seed in range(4):
        stream = stream_of(grown, rows, lambda random: random.normal(size=(10, 2)), seed)
        levels = likeliest_levels(grown, stream, Sizes.usual(grown, np.zeros(2)))
        found.append(levels.growth.max())
    assert max(found) < GROWTH
    assert np.median(found) <= GROWTH**0.5


def test_levels_are_lowered_no_further_than_readings_left_out_allow(grown, rows):
    """A tenth of the places is missed by far more than the others, as flows do: most places
    alone would have the error bars far too small.
    """

    def heavy(random):
        wild = random.uniform(size=(10, 2)) < 0.12
        return np.where(wild, 2.4, 0.3) * random.normal(size=(10, 2))

    lower = 0
    for seed in range(6):
        stream = stream_of(grown, rows, heavy, seed)
        usual = Sizes.usual(grown, np.zeros(2))
        levels = likeliest_levels(grown, stream, usual)
        if (levels.growth < usual.growth).any():
            lower += 1
            assert share_inside(grown, stream, levels) >= 0.9
        tightest = replace(usual, growth=np.ones(2))
        assert share_inside(grown, stream, tightest) < 0.9
    assert lower
