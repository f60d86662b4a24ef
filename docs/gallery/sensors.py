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
    """Standing waves of random size and phase, at all points."""
    random = np.random.default_rng(seed)
    fields = np.zeros((count, len(t), 1, len(coords)))
    for k in range(1, 4):
        for m in range(1, 4):
            shape = np.sin(np.pi * k * coords[:, 0]) * np.sin(np.pi * m * coords[:, 1])
            size, phase = random.normal(size=(count, 1)) / (k * m), 6.3 * random.random((count, 1))
            moving = size * np.cos(np.pi * np.hypot(k, m) * t + phase)
            fields[:, :, 0] += moving[..., None] * shape
    return Trajectories.from_arrays(fields, coords, t, channels=["height"])


model = SMORE().fit(waves(24, 0), progress=False)
model

# %% [markdown]
# Where should twelve sensors stand? The plan says how well the field is known from there, beside
# random places.

# %%
plan = model.place_sensors(12, noise=0.02)
model.plot.sensors(plan)

# %% [markdown]
# Somebody measures there. A table with a column for every coordinate and channel is all it takes.

# %%
truth = waves(1, 7)
values = truth.sequences[0].fields[0, 0]
places = np.array([np.square(coords - place).sum(1).argmin() for place in plan.coords])
noise = 0.02 * np.random.default_rng(1).normal(size=len(places))
table = pd.DataFrame(coords[places], columns=["x", "y"]).assign(height=values[places] + noise)
table.to_csv("sensors.csv", index=False)
table.head()

# %%
forecast = model.forecast("sensors.csv", times=t[1:], noise=0.02)
error = forecast["height"].values.squeeze() - truth.sequences[0].fields[1:, 0]
bars = forecast["height_std"].values.squeeze()
print(f"root mean square error {np.sqrt(np.mean(error**2)):.3f}, of the field {values.std():.3f}")
print(f"inside 90% intervals: {np.mean(abs(error) < 1.645 * bars):.0%}")

# %%
model.plot.forecast(forecast.isel(time=[0, 8, 18]), "sensors.csv")

# %% [markdown]
# What twelve sensors say nothing about is known, too: the fields that could be added to the forecast
# without any sensor noticing.

# %%
state = model.infer("sensors.csv", noise=0.02)
model.unseen(state, count=2)
