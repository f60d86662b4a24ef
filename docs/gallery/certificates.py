# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # Certificates
#
# Every fit ends with a verdict about the map that forecasts iterate. [What is claimed](../stability.md),
# [how it is proved](../proofs.md). A damped wave first.

# %%
import numpy as np

from smore import SMORE, Trajectories

x = np.linspace(0, 1, 40)[:, None]
t = 0.1 * np.arange(30)


def plucked(count, seed, damping):
    """Strings that swing, with a damping of their modes that may be negative."""
    random = np.random.default_rng(seed)
    fields = np.zeros((count, len(t), 1, len(x)))
    for k in range(1, 5):
        size, phase = random.normal(size=(2, count, 1, 1))
        swing = np.cos(np.pi * k * t[:, None] + phase) * np.exp(-damping * t[:, None])
        fields[:, :, 0] += size / k * swing * np.sin(np.pi * k * x[:, 0])
    return Trajectories.from_arrays(fields, x, t, channels=["u"])


damped = SMORE(dynamics="koopman").fit(plucked(16, 0, 0.1), progress=False)
damped.certify()

# %% [markdown]
# The bound beside rollouts of ten thousand steps from training states: none may pass it.

# %%
damped.plot.certificate()

# %% [markdown]
# Strings that really grow are not certified, and the verdict says what was found. `stabilise="always"`
# makes a stable model all the same; the price is told.

# %%
growing = SMORE(dynamics="koopman").fit(plucked(16, 0, -0.3), progress=False)
print(growing.certify().text())

# %%
tamed = SMORE(dynamics="koopman", stabilise="always").fit(plucked(16, 0, -0.3), progress=False)
print(tamed.certify().text().splitlines()[0])
print(tamed.surrogate_.description.training.findings.get("cost_of_stability"))

# %% [markdown]
# Scripts go by the exit code: 0 if it is proved, 4 over finite times, 3 if neither.

# %%
damped.save("damped.smore")
growing.save("growing.smore")

# %% language="bash"
# smore certify damped.smore | head -3; echo "exit code ${PIPESTATUS[0]}"
# smore certify growing.smore | head -3; echo "exit code ${PIPESTATUS[0]}"
