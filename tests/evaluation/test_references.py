"""Persistence and the energy of the truth, against loops over every value."""

import numpy as np
import pytest

from smore.data import Trajectories
from smore.evaluation import persistence_errors, truth_energy


def trajectories(masked, dtype="f8"):
    rng = np.random.default_rng(0)
    sizes = [(4, 6), (2, 3), (3, 6)]
    fields = [rng.normal(10.0, 1.0, size=(t, 2, n)).astype(dtype) for t, n in sizes]
    if masked:
        for values in fields:
            values[rng.uniform(size=values.shape) < 0.4] = np.nan
    coords = [rng.uniform(size=(n, 2)) for _, n in sizes]
    times = [np.arange(float(t)) for t, _ in sizes]
    return Trajectories.from_arrays(fields, coords, times, missing="mask"), fields


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [("f4", 1e-5), ("f8", 1e-12)])
def test_persistence_and_energy(masked, dtype, tolerance):
    data, fields = trajectories(masked, dtype)
    squared, count = persistence_errors(data)
    energy = truth_energy(data)
    row = 0
    for values in fields:
        for snapshot in values:
            for channel in range(2):
                changes = [
                    (float(now) - float(first)) ** 2
                    for now, first in zip(snapshot[channel], values[0, channel], strict=True)
                    if not np.isnan(now) and not np.isnan(first)
                ]
                known = [float(now) ** 2 for now in snapshot[channel] if not np.isnan(now)]
                assert float(squared[row, channel]) == pytest.approx(sum(changes), rel=tolerance)
                assert int(count[row, channel]) == len(changes)
                assert float(energy[row, channel]) == pytest.approx(sum(known), rel=tolerance)
            row += 1


def test_data_are_left_as_they_are():
    data, fields = trajectories(True)
    before = [values.copy() for values in fields]
    persistence_errors(data)
    for values, copy in zip(fields, before, strict=True):
        np.testing.assert_array_equal(values, copy)
