"""A plane in space is a plane, and a longitude is an angle, wherever its circle is cut."""

import numpy as np
import pytest
import xarray as xr

from smore import SMORE, Trajectories

TIMES, POINTS = 12, 60


def scattered(z):
    random = np.random.default_rng(0)
    x, y = random.uniform(size=(2, POINTS))
    waves = np.sin(3 * x + 0.5 * np.arange(TIMES)[:, None]) * np.cos(2 * y)
    return xr.Dataset(
        {"u": (("time", "point"), waves)},
        coords={
            "time": np.arange(float(TIMES)),
            "x": ("point", x),
            "y": ("point", y),
            "z": ("point", z),
        },
    )


def test_a_height_that_is_zero_everywhere_is_left_out_and_said(tmp_path):
    path = tmp_path / "plane.nc"
    scattered(np.zeros(POINTS)).to_netcdf(path)
    found = Trajectories.open(path)
    assert found.space.names == ("x", "y")
    assert any("'z'" in note for note in found.reading.notes)
    model = SMORE(decoder_steps=5).fit(path, progress=False)
    forecast = model.forecast(path, [float(TIMES)])
    assert np.isfinite(forecast["u"].values).all()


def test_a_height_that_varies_is_a_coordinate(tmp_path):
    path = tmp_path / "space.nc"
    scattered(np.linspace(0, 1, POINTS)).to_netcdf(path)
    assert Trajectories.open(path).space.names == ("x", "y", "z")


def globe(longitudes):
    latitude = np.linspace(-60, 60, 13)
    phase = np.deg2rad(longitudes) + 0.3 * np.arange(TIMES)[:, None, None]
    fields = np.cos(phase) * np.cos(np.deg2rad(latitude))[:, None]
    return xr.Dataset(
        {"h": (("time", "latitude", "longitude"), fields)},
        coords={
            "time": np.arange(float(TIMES)),
            "latitude": ("latitude", latitude, {"units": "degrees_north"}),
            "longitude": ("longitude", longitudes, {"units": "degrees_east"}),
        },
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_observations_on_the_other_half_circle_are_at_the_same_places():
    eastwards = np.arange(0.0, 360.0, 15.0)
    model = SMORE().fit(globe(eastwards), progress=False)
    one = globe(eastwards).isel(time=[5])
    around = (eastwards + 180) % 360 - 180
    other = one.assign_coords(longitude=("longitude", around, one.longitude.attrs)).sortby(
        "longitude"
    )
    expected, found = (model.forecast(each, [7.0])["h"].values for each in (one, other))
    np.testing.assert_allclose(found, expected, atol=1e-5)
