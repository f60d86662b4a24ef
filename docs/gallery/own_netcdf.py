# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # Your own NetCDF in five minutes
#
# A file of your own has a time, places and fields. Here is one as a simulation or an instrument
# might write it: a tracer that is carried around and decays, on 400 scattered points, with noise.

# %%
import numpy as np
import xarray as xr

random = np.random.default_rng(0)
x, y = random.random((2, 400))
t = np.arange(0, 12, 0.1)
waves = [(1, 0, 1.0), (1, 1, 1.7), (2, 1, 2.3), (0, 2, 0.9)]
field = sum(
    np.exp(-0.02 * t)[:, None] * np.cos(2 * np.pi * (k * x + m * y) - w * t[:, None]) / (k + m)
    for k, m, w in waves
)
field = field + 0.05 * random.normal(size=field.shape)
xr.Dataset(
    {"tracer": (("time", "point"), 10 + field, {"units": "mg m-3"})},
    {"time": ("time", t, {"units": "h"}), "x": ("point", x), "y": ("point", y)},
).to_netcdf("tracer.nc")

# %% [markdown]
# First look at how the file is read, and put the last quarter aside for a test.

# %% language="bash" magic_args="-e"
# smore data info tracer.nc
# smore data split tracer.nc --at 75%

# %% [markdown]
# Every setting has a default. `smore fit` says what was chosen and by what.

# %% language="bash" magic_args="-e"
# smore fit tracer-train.nc -o tracer.smore

# %% [markdown]
# Is it any good? Errors stand beside those of persistence, climatology and a plain DMD.

# %% language="bash" magic_args="-e"
# smore evaluate tracer.smore tracer-test.nc

# %% [markdown]
# The same in Python, with a picture; forecasts are `xarray` datasets with units and error bars.

# %%
from smore import SMORE

model = SMORE.load("tracer.smore")
model.plot.evaluation("tracer-test.nc")

# %%
first = xr.open_dataset("tracer-test.nc").isel(time=slice(0, 1))
model.forecast(first, times=[9.5, 10.0, 11.0])

# %% [markdown]
# What the file of the model says about itself, and a page to mail:

# %% language="bash" magic_args="-e"
# smore info tracer.smore
# smore report tracer.smore tracer-test.nc -o tracer.html
