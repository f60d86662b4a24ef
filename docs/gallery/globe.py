# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # A globe
#
# Latitude and longitude are recognised and make a sphere, dates make a calendar. Twenty years of a
# monthly field: seasons, and anomalies that are forgotten within months.

# %%
import numpy as np
import xarray as xr

random = np.random.default_rng(0)
lat, lon = np.linspace(-85, 85, 18), np.arange(0, 360, 10.0)
months = np.arange(240)
time = np.datetime64("2000-01") + months.astype("timedelta64[M]")
phi, lam = np.radians(lat)[:, None], np.radians(lon)
shapes = [np.sin(phi) + 0 * lam, np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(2 * lam)]
season = np.cos(2 * np.pi * (months - 6) / 12)
anomaly = np.zeros((240, 2))
for n in range(1, 240):
    anomaly[n] = 0.8 * anomaly[n - 1] + 0.6 * random.normal(size=2)
field = 15 - 25 * np.square(np.sin(phi)) + 8 * season[:, None, None] * shapes[0]
field = field + anomaly[:, :1, None] * shapes[1] + anomaly[:, 1:, None] * shapes[2]
field += 0.2 * random.normal(size=field.shape)
xr.Dataset(
    {"t2m": (("time", "lat", "lon"), field, {"units": "degC", "long_name": "temperature"})},
    {"time": time.astype("datetime64[ns]"), "lat": lat, "lon": lon},
).to_netcdf("monthly.nc")

# %% language="bash" magic_args="-e"
# smore data split monthly.nc --at 2015-01
# smore fit monthly-train.nc -o monthly.smore
# smore evaluate monthly.smore monthly-test.nc --horizon 12 --origins 12

# %% [markdown]
# Figures know that this is a globe: coastlines, and areas that count as they are.

# %%
from smore import SMORE

model = SMORE.load("monthly.smore")
model.plot.evaluation("monthly-test.nc")

# %% [markdown]
# What the learned dynamics consist of: the year, and patterns that decay.

# %%
model.plot.modes()
