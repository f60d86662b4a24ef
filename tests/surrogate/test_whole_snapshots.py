"""A whole snapshot is believed: what the modes miss of it counts as the decoder's from then on."""

import numpy as np
import pytest
import xarray as xr

from smore import SMORE

X = np.linspace(0, 1, 80)
STEP = 0.1


def record(first, count, strange=0.0):
    """Two travelling waves; `strange` adds one that training has never seen."""
    times = STEP * np.arange(first, first + count)
    fields = np.sin(6 * X - times[:, None]) + 0.3 * np.cos(11 * X + 2 * times[:, None])
    fields = fields + strange * np.sin(37 * X)
    return xr.Dataset({"u": (("time", "x"), fields)}, {"time": times, "x": X})


@pytest.fixture(scope="module")
def model():
    return SMORE().fit(record(0, 80), progress=False)


@pytest.mark.parametrize("strange", [1e-3, 3e-2])
def test_error_bars_grow_by_what_a_whole_snapshot_is_missed_by(model, strange):
    times = STEP * np.arange(81, 86)
    usual, unusual = (model.forecast(record(80, 1, each), times) for each in (0.0, strange))
    truth = record(81, 5, strange)["u"].values
    deviation = float(np.sqrt((unusual["u_std"] ** 2).mean()))
    missed = float(np.sqrt(((unusual["u"].values[0] - truth) ** 2).mean()))
    assert float(np.sqrt((usual["u_std"] ** 2).mean())) < 0.1 * strange
    assert missed == pytest.approx(strange / 2**0.5, rel=0.1)
    assert deviation == pytest.approx(missed, rel=0.3)


def test_of_sensors_it_may_be_noise_and_does_not_count(model):
    times = STEP * np.arange(81, 86)
    sensors = record(80, 1, 3e-2).isel(x=slice(None, None, 4))
    found = model.forecast(sensors, times)
    assert float(np.sqrt((found["u_std"] ** 2).mean())) < 1.5e-2
