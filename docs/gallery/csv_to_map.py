# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # From a CSV of sensors to a map
#
# Stations write tables: a row per station and time, with blanks where one was silent. Four commands make
# of them a map of the whole area, with an error bar at every place, now and for the next days.
#
# Here is such a table: the temperature at 24 stations every six hours, for five weeks. (It is made up, so
# that the map can be compared with the truth in the end.)

# %%
import numpy as np
import pandas as pd

random = np.random.default_rng(3)
x, y = random.uniform(0, 60, size=(2, 24)).round(1)
hours = np.arange(0, 40 * 24, 6)
start = np.datetime64("2024-03-01T00:00")


def air(x, y, hours):
    """Warm and cold air that passes over a slope, and the time of the day."""
    t = np.reshape(hours, (-1, 1)) / 24
    passing = 3 * np.cos(0.06 * x + 0.03 * y - 1.1 * t) + 2 * np.sin(0.07 * y - 0.04 * x - 0.7 * t)
    return 12 - 0.05 * y + passing + (1.5 + 0.02 * x) * np.sin(2 * np.pi * t)


values = air(x, y, hours) + 0.3 * random.normal(size=(len(hours), len(x)))
values[random.random(values.shape) < 0.01] = np.nan
table = pd.DataFrame(
    {
        "time": np.repeat(np.datetime_as_string(start + hours.astype("m8[h]"), unit="m"), len(x)),
        "sensor": np.tile([f"station {number}" for number in range(len(x))], len(hours)),
        "x [km]": np.tile(x, len(hours)),
        "y [km]": np.tile(y, len(hours)),
        "temperature [degC]": values.ravel().round(2),
    }
)
past = table["time"] < "2024-04-05"
table[past].to_csv("past.csv", index=False)
table[~past].to_csv("last_days.csv", index=False)

# %% language="bash" magic_args="-e"
# head -4 past.csv
# echo "$(wc -l < past.csv) lines, $(grep -c ',$' past.csv) of them with a blank"

# %% [markdown]
# The past becomes a file of trajectories, and a model is learned from it. `--channels` says what is to be
# forecast, since names of stations are no numbers. `--missing mask` says that blanks are meant.

# %% language="bash" magic_args="-e"
# smore data convert past.csv past.nc --channels temperature
# smore fit past.nc --missing mask -o air.smore

# %% [markdown]
# Where is a map wanted? A table of coordinates will do.

# %%
side = np.linspace(0, 60, 31)
places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
pd.DataFrame(places, columns=["x", "y"]).to_csv("grid.csv", index=False)

# %% [markdown]
# The last five days as they came in, and a forecast of the two days that follow. A map reaches to the
# corners of the area, stations do not, and a warning says how far it goes beyond them.

# %% language="bash" magic_args="-e"
# smore assimilate air.smore last_days.csv --forecast +2d:6h --points grid.csv -o map.nc --figure map.png

# %%
from IPython.display import Image

Image("map.png")

# %% [markdown]
# Below the temperature is its standard deviation: small around the stations, which are dots, large in the
# gaps between them and in corners that nobody measures, and larger everywhere once the stations are
# silent. Is it right? Here the truth is known:

# %%
import xarray as xr

found = xr.open_dataset("map.nc")
since = (found["time"].values - start) / np.timedelta64(1, "h")
truth = air(*places.T, since)
error = found["temperature"].values.reshape(truth.shape) - truth
bar = found["temperature_std"].values.reshape(truth.shape)
stations = np.stack([x, y], axis=1)
distance = np.linalg.norm(places[:, None] - stations, axis=-1).min(axis=1)
is_forecast = since > hours[-1]
rows = []
for what, times in (("with readings", ~is_forecast), ("forecast", is_forecast)):
    for nearest, farthest in ((0, 3), (3, 6), (6, 9), (9, 60)):
        here = np.ix_(times, (distance >= nearest) & (distance < farthest))
        rows.append(
            {
                "map": what,
                "km to a station": f"{nearest} to {farthest}",
                "error": np.sqrt(np.mean(error[here] ** 2)),
                "standard deviation": np.sqrt(np.mean(bar[here] ** 2)),
                "inside 90% intervals": np.mean(abs(error[here]) < 1.645 * bar[here]),
            }
        )
print(f"the field itself varies by {truth.std():.1f} degrees")
pd.DataFrame(rows).round(2)

# %% [markdown]
# Between stations error bars grow as errors do. In the corners, which no station is near, the map goes on
# as it does further in, and error bars may promise too much: the warning above meant these. The forecast
# was better than it expected, since this weather is as regular as no real one.
