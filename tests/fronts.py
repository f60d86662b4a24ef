"""A transient whose forecasts err the more the further it has gone: a front that widens."""

from __future__ import annotations

import numpy as np

from smore import Trajectories

POINTS, LENGTH = 96, 90
X = np.linspace(-1, 1, POINTS)


def front(length: int = LENGTH, speed: float = 0.006) -> np.ndarray:
    """(length, points) of a plateau that spreads into both directions."""
    edge = 0.15 + speed * np.arange(length)[:, None]
    return 0.5 * (np.tanh((X + edge) / 0.08) - np.tanh((X - edge) / 0.08))


def as_record(fields: np.ndarray, first: int = 0) -> Trajectories:
    times = first + np.arange(float(len(fields)))
    return Trajectories.from_arrays([fields[:, None]], X[:, None], [times])
