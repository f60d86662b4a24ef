"""Every kind of figure, of small models: waves with land, a record on a line, and a globe."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure
from PIL import Image

from seasons import record
from smore import SMORE, Trajectories
from waves import STEP, codes, planted, solution

STORED = Path(__file__).parent / "stored"
DPI = 40
NUM_TIMES = 12


def small(figure: Figure) -> Image.Image:
    """A picture of few pixels and colours."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI)
    return Image.open(file).convert("RGB").quantize(48)


@cache
def waves() -> tuple[SMORE, Trajectories]:
    """Two channels on a grid, with land that is not the same in both."""
    axes = {"y": np.linspace(-1, 1, 15), "x": np.linspace(-1, 1, 24)}
    coords = np.stack(np.meshgrid(*axes.values(), indexing="ij")[::-1], axis=-1).reshape(-1, 2)
    fields = solution(codes(6), coords, STEP * np.arange(NUM_TIMES))
    fields[:, :, 0, (coords > 0.3).all(axis=1)] = np.nan
    fields[:, :, 1, (coords > 0.6).all(axis=1)] = np.nan
    dims, shape = ("sequence", "time", "y", "x"), (6, NUM_TIMES, 15, 24)
    units = {"u": {"units": "m"}, "v": {"units": "m/s"}}
    dataset = xr.Dataset(
        {name: (dims, fields[:, :, k].reshape(shape), units[name]) for k, name in enumerate("uv")},
        {"time": STEP * np.arange(NUM_TIMES), **axes},
    )
    for name in axes:
        dataset[name].attrs["units"] = "km"
    data = Trajectories.from_xarray(dataset, missing="mask")
    return planted(data), data


@cache
def globe() -> tuple[SMORE, Trajectories]:
    """Monthly temperatures, with noise, that run around the globe, none over a continent."""
    latitude, longitude = np.linspace(-82.5, 82.5, 12), np.arange(0.0, 360.0, 15.0)
    y, x = np.meshgrid(np.radians(latitude), np.radians(longitude), indexing="ij")
    turns = 0.4 * np.arange(36)[:, None, None]
    field = 285 + 15 * np.cos(2 * y) + 8 * np.cos(y) ** 2 * np.cos(2 * x - turns)
    field += np.random.default_rng(0).normal(size=field.shape)
    field[:, 5:9, 0:4] = np.nan
    times = pd.date_range("2001-01-01", periods=36, freq="MS")
    dataset = xr.Dataset(
        {"temperature": (("time", "latitude", "longitude"), field, {"units": "K"})},
        {
            "time": times,
            "latitude": ("latitude", latitude, {"units": "degrees_north"}),
            "longitude": ("longitude", longitude, {"units": "degrees_east"}),
        },
    )
    data = Trajectories.from_xarray(dataset, missing="mask")
    return SMORE(latent_dim=2).fit(data, progress=False), data


@cache
def line() -> tuple[SMORE, Trajectories]:
    data = record()
    return SMORE(latent_dim=4).fit(data, progress=False), data


def forecast() -> Figure:
    """From a few sensors."""
    model, data = waves()
    known = ~np.isnan(data.to_xarray()["u"].values[0, 0].ravel())
    sensors = np.flatnonzero(known)[::11]
    sparse = data.select([0]).leading(1).at_points(sensors)
    return model.plot.forecast(model.forecast(sparse, STEP * np.arange(1, 10)), sparse)


def analysis() -> Figure:
    model, data = waves()
    sparse = data.select([0]).at_points(np.arange(0, 100, 9))
    return model.plot.analysis(
        model.assimilate(sparse, noise=0.01, watch=False), truth=data, channel="u"
    )


def on_a_line() -> Figure:
    model, data = line()
    return model.plot.evaluation(data, model.skill(data), reliability=True)


def globe_forecast() -> Figure:
    model, data = globe()
    when = data.clock.to_values(data.sequences[0].times)
    return model.plot.forecast(model.forecast(data, when), truth=data)


FIGURES: dict[str, Callable[[], Figure]] = {
    "forecast": forecast,
    "evaluation": lambda: waves()[0].plot.evaluation(waves()[1], channel="u"),
    "analysis": analysis,
    "modes": lambda: waves()[0].plot.modes(),
    "sensors": lambda: waves()[0].plot.sensors(5),
    "certificate": lambda: waves()[0].plot.certificate(),
    "line": on_a_line,
    "line-modes": lambda: line()[0].plot.modes(),
    "line-sensors": lambda: line()[0].plot.sensors(3),
    "skill": lambda: line()[0].plot.skill(line()[0].skill(line()[1])),
    "globe": globe_forecast,
    "globe-modes": lambda: globe()[0].plot.modes(),
    "globe-sensors": lambda: globe()[0].plot.sensors(6),
}
