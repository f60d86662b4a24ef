"""The double gyre: two vortices whose dividing line swings, a flow in closed form.

    u = -π I sin(π f) cos(π y),    v = π I cos(π f) sin(π y) ∂f/∂x,
    f = ε sin(ωt) x² + (1 - 2 ε sin(ωt)) x                  on [0, 2] × [0, 1].

As PySHRED's tutorial has it: 100 trajectories with amplitudes ε and frequencies ω of their own,
three sensors of u with noise. Needs nothing but NumPy: both sides import it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

INTENSITY = 0.1
SHAPE = (50, 25)
X, Y = np.linspace(0.0, 2.0, SHAPE[0]), np.linspace(0.0, 1.0, SHAPE[1])
TIMES = 0.05 * np.arange(201)
AMPLITUDES, FREQUENCIES = (0.0, 0.5), (0.5, 2 * np.pi)
NUM_TRAJECTORIES = 100
NUM_SENSORS, NOISE = 3, 0.005


@dataclass(frozen=True, eq=False)
class Flows:
    """Trajectories: eight in ten for training, then as many for validation as for testing.

    Args:
        parameters: (trajectories, 2) amplitude and frequency.
        u: (trajectories, times, points).
        v: (trajectories, times, points).
        sensors: (3,) points at which u is measured.
        measured: (trajectories, times, 3) with noise.
    """

    parameters: Array
    u: Array
    v: Array
    sensors: NDArray[np.intp]
    measured: Array

    @property
    def num_train(self) -> int:
        """Trajectories to learn from: the first ones."""
        return 8 * len(self.u) // 10

    @property
    def num_test(self) -> int:
        """Trajectories to be found from their sensors: the last ones."""
        return len(self.u) // 10


def make_flows(seed: int) -> Flows:
    """The same for everybody who asks with the same seed."""
    random = np.random.default_rng(seed)
    low, high = np.array([AMPLITUDES, FREQUENCIES]).T
    parameters = random.uniform(low, high, size=(NUM_TRAJECTORIES, 2))
    sensors = random.choice(SHAPE[0] * SHAPE[1], NUM_SENSORS, replace=False)
    fields = np.stack([velocity(*pair) for pair in parameters])
    u, v = fields[:, 0], fields[:, 1]
    noise = NOISE * random.normal(size=(*u.shape[:2], NUM_SENSORS))
    return Flows(parameters, u, v, sensors, u[:, :, sensors] + noise)


def velocity(amplitude: float, frequency: float) -> Array:
    """u and v (2, times, points) of one trajectory."""
    swing = amplitude * np.sin(frequency * TIMES)[:, None, None]
    x, y = X[:, None], np.pi * Y
    shape = np.pi * (swing * x**2 + (1 - 2 * swing) * x)
    slope = 2 * swing * x + 1 - 2 * swing
    u = -np.pi * INTENSITY * np.sin(shape) * np.cos(y)
    v = np.pi * INTENSITY * np.cos(shape) * np.sin(y) * slope
    return np.stack([u, v]).reshape(2, len(TIMES), -1)
