"""A model that solves its PDE exactly, and streams of its solution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from smore.dynamics import StepError
from waves import NUM_MODES, STEP, codes, planted, solution, trajectories


@pytest.fixture(scope="session")
def exact():
    """The planted model: exact modes and rates, no errors."""
    return planted(trajectories())


@pytest.fixture(scope="session")
def erring(exact):
    """The same with errors of dynamics and decoder, so that everything is in the state."""
    import copy

    model = copy.copy(exact)
    surrogate = exact.surrogate_
    random = np.random.default_rng(3)
    factor = torch.tensor(0.02 * random.normal(size=(2 * NUM_MODES, 2 * NUM_MODES)))
    error = replace(
        surrogate.error,
        floor=torch.tensor([1e-4, 1e-4], dtype=torch.float64),
        step=StepError(factor, 0.6, surrogate.description.step),
        memory=torch.tensor([0.7, 0.5], dtype=torch.float64),
        reach=torch.tensor([0.05, 0.05], dtype=torch.float64),
        tail=torch.ones(2, dtype=torch.float64),
    )
    model.surrogate_ = replace(surrogate, error=error)
    return model


@pytest.fixture
def rows():
    """Makes rows (times, coords, values, sensors) of a solution, sensors moving if asked."""

    def make(num_times=8, sensors=5, *, step=STEP, moving=False, seed=0, noise=0.0):
        random = np.random.default_rng(seed)
        places = random.uniform(-0.9, 0.9, size=(sensors, 2))
        drift = random.uniform(-0.02, 0.02, size=(sensors, 2)) if moving else 0.0
        initial = codes(1, seed + 5)
        table = []
        for index in range(num_times):
            here = np.clip(places + index * drift, -1, 1)
            fields = solution(initial, here, [index * step])[0, 0].T
            fields = fields + noise * random.normal(size=fields.shape)
            table += [
                (index * step, *place, *value, f"s{number}")
                for number, (place, value) in enumerate(zip(here, fields, strict=True))
            ]
        times = np.array([row[0] for row in table])
        coords = np.array([row[1:3] for row in table])
        values = np.array([row[3:5] for row in table])
        return times, coords, values, [row[5] for row in table]

    return make
