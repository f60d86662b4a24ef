"""A record of a year and two waves, with noise, dates and land."""

from __future__ import annotations

import numpy as np
import pandas as pd

from smore import Trajectories

LAND = slice(0, 3)  # of the second channel


def record(num_times: int = 40, freq: str = "MS", seed: int = 0) -> Trajectories:
    """A year and two waves of monthly fields, with land in one of two channels."""
    rng = np.random.default_rng(seed)
    x, t = np.linspace(0, 1, 9), np.arange(num_times)
    turns = [np.cos(2 * np.pi * t / 12), np.cos(0.7 * t) * 0.98**t, np.sin(0.7 * t) * 0.98**t]
    patterns = [np.ones_like(x), np.sin(3 * x), np.cos(5 * x)]
    wave = sum(np.outer(*pair) for pair in zip(turns, patterns, strict=True))
    fields = np.stack([wave + 3 * x, 50 * np.roll(wave, 2, 1) + 280], axis=1)
    fields += rng.normal(size=fields.shape) * np.array([0.01, 0.5])[:, None]
    fields[:, 1, LAND] = np.nan
    times = pd.date_range("2001-01-01", periods=num_times, freq=freq).values
    return Trajectories.from_arrays([fields], x[:, None], times, missing="mask")
