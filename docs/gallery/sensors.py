# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # Sensors and error bars
#
# Learn from whole fields once; afterwards forecast whole fields from a few sensors.

# %%
import numpy as np
import pandas as pd

from smore import SMORE, Trajectories

grid = np.linspace(0, 1, 24)
coords = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
t = 0.1 * np.arange(20)


def waves(count, seed):
    """Five travelling waves of random size and phase, at all points."""
    random = np.random.default_rng(seed)
    fields = np.zeros((count, len(t), 1, len(coords)))
    for k, m in [(1, 0), (0, 1), (1, 1), (1, -1), (2, 1)]:
        length = np.hypot(k, m)
        angle = 4 * (k * coords[:, 0] + m * coords[:, 1]) - 3 * length * t[:, None]
        a, b = random.normal(size=(2, count, 1, 1)) / length**2
        fields[:, :, 0] += a * np.cos(angle) + b * np.sin(angle)
    return Trajectories.from_arrays(fields, coords, t, channels=["height"])


model = SMORE().fit(waves(60, 0), progress=False)
model

# %% [markdown]
# A wave that travels shows in one snapshot where it goes. (Of a wave that stands one snapshot does not
# tell the speed: there a model needs a [stream of sensors](assimilation.md), or a channel for the speed.)
#
# Where should eight sensors stand? The plan says how well the field is known from there, beside
# random places.

# %%
plan = model.place_sensors(8, noise=0.02)
model.plot.sensors(plan)

# %% [markdown]
# Somebody measures there. A table with a column for every coordinate and channel is all it takes.

# %%
truth = waves(1, 9)
values = truth.sequences[0].fields[0, 0]
places = np.array([np.square(coords - place).sum(1).argmin() for place in plan.coords])
noise = 0.02 * np.random.default_rng(1).normal(size=len(places))
table = pd.DataFrame(coords[places], columns=["x", "y"]).assign(height=values[places] + noise)
table.to_csv("sensors.csv", index=False)
table.head()

# %%
forecast = model.forecast("sensors.csv", times=t[1:], noise=0.02)
later = truth.sequences[0].fields[1:, 0]
error = forecast["height"].values.squeeze() - later
bars = forecast["height_std"].values.squeeze()
print(f"root mean square error {np.sqrt(np.mean(error**2)):.3f}, of the field {later.std():.3f}")
print(f"inside 90% intervals: {np.mean(abs(error) < 1.645 * bars):.0%}")

# %%
model.plot.forecast(forecast.isel(time=[0, 8, 18]), "sensors.csv")

# %% [markdown]
# Five waves have ten unknowns, a size and a phase each, and eight sensors cannot tell ten. The model says
# what it saw and what it did not: the state counts the directions that are determined, and `unseen`
# returns the fields that could be added to the forecast with hardly a sensor noticing. `left` is how much
# of what was usual in training is still open there; of all other directions the sensors saw nearly
# everything.

# %%
state = model.infer("sensors.csv", noise=0.02)
unseen = model.unseen(state)
print(state)
unseen

# %% [markdown]
# The one that leaves most open, beside the sensors: it is near zero where they stand.

# %%
strongest = unseen["height"].isel(direction=0).values
print(f"root mean square {np.sqrt(np.mean(strongest**2)):.2f} on the whole field")
print(f"root mean square {np.sqrt(np.mean(strongest[places] ** 2)):.2f} at the sensors")
