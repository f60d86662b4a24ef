# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # A stream of sensors
#
# Three sensors say little about a field at one moment. Watched over time they say nearly everything:
# the dynamics carry what nobody sees today past the sensors tomorrow.

# %%
import numpy as np
import pandas as pd

from smore import SMORE, Trajectories

x = np.linspace(0, 1, 64, endpoint=False)[:, None]
t = 0.05 * np.arange(80)


def travelling(count, seed):
    """Waves that travel around a ring at speeds of their own."""
    random = np.random.default_rng(seed)
    fields = np.zeros((count, len(t), 1, len(x)))
    for k in range(1, 6):
        size, phase = random.normal(size=(2, count, 1, 1)) / k
        angle = 2 * np.pi * k * x[:, 0] - (1 + k) * t[:, None]
        fields[:, :, 0] += size * np.cos(angle) + phase * np.sin(angle)
    return Trajectories.from_arrays(fields, x, t, channels=["u"])


model = SMORE().fit(travelling(20, 0), progress=False)

# %% [markdown]
# The stream: three sensors, noisy, one of them silent for a while.

# %%
truth = travelling(1, 5).sequences[0].fields[:, 0]
random = np.random.default_rng(2)
rows = [
    {"time": t[n], "sensor": f"buoy {s}", "x": x[s, 0], "u": truth[n, s] + 0.05 * random.normal()}
    for n in range(60)
    for s in (5, 21, 50)
    if not (s == 21 and 20 < n < 35)
]
pd.DataFrame(rows).to_csv("stream.csv", index=False)

# %%
analysis = model.assimilate("stream.csv", noise=0.05)
fields = analysis.fields()
print(fields["u"].sizes, analysis.cautions())

# %%
errors = np.sqrt(np.square(fields["u"].values.squeeze() - truth[:60]).mean(-1))
bars = np.sqrt(np.square(fields["u_std"].values.squeeze()).mean(-1))
for n in (0, 5, 10, 20, 40, 59):
    print(f"t = {t[n]:4.2f}: error {errors[n]:.3f}, expected {bars[n]:.3f}")

# %%
model.plot.analysis(analysis)

# %% [markdown]
# What comes after the stream is a forecast from its last state; the same by a command:

# %%
model.save("ring.smore")

# %% language="bash" magic_args="-e"
# smore assimilate ring.smore stream.csv --noise 0.05 --forecast 3.0:3.95:0.05 -o analysis.nc
