"""Broken sensors that mislead the filter about all the others from the beginning."""

from __future__ import annotations

import numpy as np

from smore.assimilation import Stream
from smore.assimilation.assimilating import assimilate


def test_a_few_that_are_broken_from_the_beginning_are_told_from_all_they_mislead(erring, rows):
    """Four of fourteen: believed once, they make everybody wrong, and of half of such streams none
    was found.
    """
    right = 0
    for seed in range(12):
        times, coords, values, sensors = rows(10, 14, seed=seed)
        random = np.random.default_rng(seed)
        broken = {f"s{number}" for number in random.permutation(14)[:4]}
        for name in sorted(broken):
            values[np.array(sensors) == name] += random.choice([-1, 1], size=2)
        stream = Stream.of(times, coords, values, sensors, erring.surrogate_)
        right += assimilate(erring.surrogate_, stream, noise=0.0).broken == broken
    assert right >= 9


def test_where_the_model_is_wrong_no_sensor_is_accused(erring, rows):
    for seed in range(4):
        times, coords, values, sensors = rows(10, 14, seed=seed)
        stream = Stream.of(times, coords, 2 * values[::-1], sensors, erring.surrogate_)
        assert not assimilate(erring.surrogate_, stream, noise=0.0).broken
