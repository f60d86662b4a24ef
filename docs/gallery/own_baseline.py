# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # Your own baseline beside ours
#
# `smore compare` fits several methods to one file, forecasts another, and scores all forecasts in the
# same way. A method of your own is a class with `fit` and `forecast`; it derives from nothing.

# %%
# %%writefile mine.py
import numpy as np


class NearestNeighbour:
    """The training snapshot that looks most alike goes on as it did then."""

    def fit(self, train):
        self.sequences = [sequence.fields for sequence in train]

    def forecast(self, first, times):
        pairs = [(np.square(f - first.fields).sum((1, 2)), f) for f in self.sequences]
        distance, fields = min(pairs, key=lambda pair: pair[0][: -len(times)].min(initial=np.inf))
        start = distance[: -len(times)].argmin()
        return fields[start + 1 : start + 1 + len(times)]


# %% [markdown]
# Two files: waves that travel, from random starts. (One snapshot of a wave that stands does not tell how
# fast it moves: of such files nobody forecasts anything from one snapshot, and climatology is best.)

# %%
import numpy as np
import xarray as xr

side = np.linspace(0, 1, 24)
t = 0.1 * np.arange(40)


def waves(count, seed):
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(side, side, indexing="ij")
    fields = np.zeros((count, len(t), 24, 24))
    for k, m in [(1, 0), (0, 1), (1, 1), (2, 1)]:
        length = np.hypot(k, m)
        angle = 4 * (k * x + m * y) - 2 * length * t[:, None, None]
        a, b = random.normal(size=(2, count, 1, 1, 1)) / length
        fields += a * np.cos(angle) + b * np.sin(angle)
    fields += 0.02 * random.normal(size=fields.shape)
    return xr.Dataset(
        {"u": (("sequence", "time", "x", "y"), fields)}, {"time": t, "x": side, "y": side}
    )


waves(12, 0).to_netcdf("train.nc")
waves(4, 1).isel(time=slice(0, 20)).to_netcdf("test.nc")

# %% language="bash" magic_args="-e"
# smore compare train.nc test.nc --models smore,pod-dmd,opinf,persistence,climatology,mine:NearestNeighbour 2>/dev/null

# %% [markdown]
# Errors of the best are those of the noise in the data; waves are linear, and a plain DMD is all it takes
# here. The nearest neighbour has too few to choose from.
#
# In Python classes are given as they are. Neural operators (`fno`, `cno`, `transolver`, `sfno`, with
# the extra `[paper]`) get `minutes` of training each; a few seconds, as here, are far too few to
# judge one. Methods that take a `seed` are fitted for every seed.

# %%
from mine import NearestNeighbour

from smore import compare

found = compare(
    "train.nc", "test.nc", ["smore", "pod-dmd", "fno", NearestNeighbour], seeds=2, minutes=0.1
)
found

# %%
found.figure()
