"""Small models and reports about them: on a grid with land and hostile names, a line, a globe."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from smore import SMORE, Trajectories
from smore.data import Channel
from smore.report import report_page
from waves import STEP, codes, planted, solution

HOSTILE = "<script>window.hacked=1</script>"
HOSTILE_UNITS = '"><img src=x onerror=window.hacked=2>'
HOSTILE_FILE = "</title></script><script>window.hacked=3</script>.smore"
LAND = slice(3, 6), slice(10, 14)


@dataclass(frozen=True, eq=False)
class Reported:
    """A model, what it is tested on, and the page about both."""

    model: SMORE
    truth: Trajectories
    sequence: int = 0
    name: str = "waves.smore"

    @cached_property
    def page(self) -> str:
        return report_page(
            self.model, self.truth, name=self.name, test_name="test.nc", sequence=self.sequence
        )

    @cached_property
    def forecast(self) -> xr.Dataset:
        """Of the sequence that is shown, from its first snapshot, at all its times."""
        chosen = self.truth.select([self.sequence])
        times = self.truth.clock.to_values(chosen.sequences[0].times)
        return self.model.forecast(chosen.leading(1), times, points=chosen.sequences[0].mesh)


def _waves(num_sequences: int, num_times: int, seed: int) -> xr.Dataset:
    """Travelling waves on a grid of 18 x 22 points with land in it."""
    y, x = np.linspace(-1, 1, 18), np.linspace(-1, 1, 22)
    coords = np.stack([each.ravel() for each in np.meshgrid(x, y)], axis=1)
    times = STEP * np.arange(num_times)
    fields = solution(codes(num_sequences, seed), coords, times)
    fields = fields.reshape(num_sequences, num_times, 2, len(y), len(x)).copy()
    fields[:, :, :, LAND[0], LAND[1]] = np.nan
    dims = ("sequence", "time", "y", "x")
    return xr.Dataset(
        {
            HOSTILE: (dims, fields[:, :, 0], {"units": HOSTILE_UNITS}),
            "speed $\\frac$": (dims, 5 + fields[:, :, 1], {"units": "m/s"}),
        },
        coords={
            "time": ("time", times, {"units": "s"}),
            "y": ("y", y),
            "x": ("x", x, {"units": "<i>"}),
        },
    )


def grid() -> Reported:
    """A model fitted to waves, and others that it forecasts."""
    training = Trajectories.from_xarray(_waves(8, 8, 0), missing="mask")
    truth = Trajectories.from_xarray(_waves(3, 9, 1), missing="mask")
    model = SMORE(latent_dim=16, hidden_dim=32, decoder="network", decoder_steps=20).fit(
        training, progress=False
    )
    return Reported(model, truth, sequence=1, name=HOSTILE_FILE)


def line() -> Reported:
    """A wave on a line, one record."""
    x = np.sort(np.random.default_rng(0).uniform(0, 2 * np.pi, 60))
    times = 0.1 * np.arange(80)
    fields = np.sin(x - times[:, None]) + 0.5 * np.cos(2 * x - 3 * times[:, None])
    whole = Trajectories.from_arrays([fields[:, None]], x[:, None], times)
    training, truth = whole.cut_at([50])
    return Reported(SMORE().fit(training, progress=False), truth)


def globe() -> Reported:
    """A wave around the earth on a grid whose latitudes are not evenly spaced, with dates."""
    latitude = np.array([-80.0, -50, -30, -15, -5, 5, 15, 30, 50, 80])
    longitude = np.arange(0, 360, 20.0)
    days = np.arange("2001-01-01", "2001-03-12", dtype="datetime64[D]").astype("datetime64[ns]")
    turn = 0.3 * np.arange(len(days))[:, None, None]
    angle = np.deg2rad(longitude)
    fields = 280 + 10 * np.cos(np.deg2rad(latitude))[:, None] * np.cos(2 * angle - turn)
    data = xr.Dataset(
        {"temperature": (("time", "latitude", "longitude"), fields, {"units": "K"})},
        coords={
            "time": days,
            "latitude": ("latitude", latitude, {"units": "degrees_north"}),
            "longitude": ("longitude", longitude, {"units": "degrees_east"}),
        },
    )
    training, truth = (data.isel(time=part) for part in (slice(0, 50), slice(50, None)))
    model = SMORE().fit(Trajectories.from_xarray(training), progress=False)
    return Reported(model, Trajectories.from_xarray(truth))


def planted_report() -> Reported:
    """Few scattered points and the exact model of them, which keeps no references of its own."""
    coords = np.random.default_rng(1).uniform(-1, 1, size=(40, 2))
    coords[0], coords[1] = -1.0, 1.0
    times = STEP * np.arange(6)
    channels = (Channel(name="u", units="2.5 m"), Channel(name="u_std", units="m/s"))
    sets = [
        Trajectories.from_arrays(
            solution(codes(count, seed), coords, times), coords, times, channels=channels
        )
        for count, seed in ((6, 0), (2, 1))
    ]
    return Reported(planted(sets[0]), sets[1])
