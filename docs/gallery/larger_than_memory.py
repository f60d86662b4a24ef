# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # Larger than memory, and several processes
#
# A file whose fields take more than a quarter of `--memory` is streamed: never held, read once, by
# chunks. Here the file has 8 MB and the bound is 30 MB; with terabytes it is the same command.

# %%
import dask.array as da
import numpy as np
import xarray as xr

side = np.linspace(0, 1, 128)
t = 0.05 * np.arange(160)
angle = 2 * np.pi * (side[:, None] + side) - t[:, None, None]
other = 2 * np.pi * (2 * side[:, None] - side) - 1.6 * t[:, None, None]
field = da.from_array((np.cos(angle) + 0.5 * np.sin(other)).astype("f4")).rechunk((20, 32, 128))
data = xr.Dataset({"u": (("time", "x", "y"), field)}, {"time": t, "x": side, "y": side})
data.isel(time=slice(0, 120)).to_zarr("train.zarr", consolidated=False)
data.isel(time=slice(120, None)).to_zarr("test.zarr", consolidated=False)

# %% language="bash" magic_args="-e"
# smore --threads 1 fit train.zarr -o large.smore --memory 30MB --latent-dim 4

# %% [markdown]
# Two processes share one fit: each holds half of the points, and what travels are small sums. On a
# cluster `torchrun` is started by Slurm ([long runs](../long_runs.md)).

# %% language="bash" magic_args="-e"
# torchrun --nproc-per-node 2 -m smore fit train.zarr -o shared.smore --memory 30MB --latent-dim 4 2>/dev/null

# %% [markdown]
# Both forecast the same. Forecasts are streamed to their file as well.

# %% language="bash" magic_args="-e"
# smore forecast large.smore test.zarr --steps 10 -o one.zarr 2>/dev/null
# smore forecast shared.smore test.zarr --steps 10 -o two.zarr 2>/dev/null

# %%
one, two = (xr.open_zarr(name, consolidated=False)["u"].values for name in ("one.zarr", "two.zarr"))
print(f"largest difference {abs(one - two).max():.1e} of fields of size {one.std():.2f}")
