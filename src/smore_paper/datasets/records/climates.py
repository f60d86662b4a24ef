"""Records of measured kinds: seasons, slow warming, noise with memory, winds, wandering."""

from __future__ import annotations

import numpy as np
import xarray as xr

from smore_paper.datasets.records.periodic_lines import Array


def _patterns(random: np.random.Generator, count: int, lat: Array, lon: Array) -> Array:
    """(count, lat, lon) smooth patterns of variance about 1, the later the finer."""
    found = []
    for number in range(count):
        turns = random.integers(0, 2 + number // 2, 2)
        phase = random.uniform(0, 2 * np.pi, 2)
        found.append(
            np.outer(
                np.cos(np.radians(lat) * (1 + turns[0]) + phase[0]),
                np.cos(np.radians(lon) * (1 + turns[1]) + phase[1]),
            )
        )
    return 2 * np.array(found)


def _memory(random: np.random.Generator, shares: Array, length: int) -> Array:
    """(length, series) autoregressive noise of variance 1, of given correlations over a step."""
    found = np.zeros((length, len(shares)))
    state = random.normal(size=len(shares))
    for row in found:
        row[:] = state
        state = shares * state + np.sqrt(1 - shares**2) * random.normal(size=len(shares))
    return found


def monthly(seed: int, years: int, *, trend: float = 0.0, memory: float = 0.8) -> xr.Dataset:
    """A monthly field: seasons, anomalies that are forgotten, perhaps a slow warming."""
    random = np.random.default_rng(seed)
    lat, lon = np.linspace(-40, 40, 17), np.linspace(0, 90, 19)
    time = np.arange("1990-01", f"{1990 + years}-01", dtype="datetime64[M]")
    months = np.arange(len(time))
    shapes = _patterns(random, 12, lat, lon)
    season = np.stack([np.cos(2 * np.pi * months / 12), np.sin(2 * np.pi * months / 12)], 1)
    sizes = 0.6 / np.sqrt(np.arange(1, 11))
    shares = memory ** np.linspace(1, 3, 10)
    anomalies = _memory(random, shares, len(time)) * sizes
    fields = np.tensordot(season, shapes[:2], 1) + np.tensordot(anomalies, shapes[2:], 1)
    fields += trend * months[:, None, None] / 12 + 0.1 * random.normal(size=fields.shape)
    return xr.Dataset(
        {"sst": (("time", "lat", "lon"), fields + 290, {"units": "K"})},
        {
            "time": time.astype("datetime64[ns]"),
            "lat": ("lat", lat, {"units": "degrees_north"}),
            "lon": ("lon", lon, {"units": "degrees_east"}),
        },
    )


def profiles(seed: int, days: int) -> xr.Dataset:
    """Hourly winds over height: a daily turn, gusts with memory, sheared."""
    random, height = np.random.default_rng(seed), np.linspace(20, 400, 20)
    time = np.arange(24 * days)
    daily = np.cos(2 * np.pi * (time[:, None] / 24 - height / 2000))
    gusts = _memory(random, np.array([0.97, 0.9, 0.7, 0.5]), len(time)) * [1.5, 1.0, 0.7, 0.5]
    shapes = np.cos(np.outer(np.arange(4), np.pi * height / 400))
    wind = 6 + np.log(height / 20) + 0.7 * daily + gusts @ shapes
    stamps = np.datetime64("2020-05-01T00", "h") + time
    return xr.Dataset(
        {"wind": (("time", "height"), wind + 0.2 * random.normal(size=wind.shape))},
        {"time": stamps.astype("datetime64[ns]"), "height": height},
    )


def oscillation(seed: int, length: int, *, noise: float) -> xr.Dataset:
    """Two slow oscillations that descend, with phases that wander and noise on top."""
    random, level = np.random.default_rng(seed), np.linspace(0, 1, 30)
    wander = np.cumsum(0.03 * random.normal(size=(length, 2)), axis=0)
    phase = 2 * np.pi * np.arange(length)[:, None] / np.array([28.0, 11.0]) + wander
    first = np.cos(phase[:, :1] - 5 * level) * np.exp(-(((level - 0.4) / 0.4) ** 2))
    second = 0.4 * np.cos(phase[:, 1:] + 3 * level)
    fields = first + second + noise * random.normal(size=first.shape)
    return xr.Dataset(
        {"u": (("time", "level"), fields)}, {"time": np.arange(float(length)), "level": level}
    )


def wandering(seed: int, length: int) -> xr.Dataset:
    """Random walks of a few patterns: nothing beats standing still."""
    random, x = np.random.default_rng(seed), np.linspace(0, 1, 60)
    shapes = np.cos(np.outer(np.arange(5), np.pi * x)) / np.arange(1, 6)[:, None]
    walks = np.cumsum(random.normal(size=(length, 5)), axis=0)
    return xr.Dataset(
        {"h": (("time", "x"), walks @ shapes)}, {"time": np.arange(float(length)), "x": x}
    )
