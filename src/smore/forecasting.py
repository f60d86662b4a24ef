"""A forecast as users get it: fields and their standard deviations in a Dataset."""

from __future__ import annotations

from collections import abc

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from smore.data import Channel, Clock, Mesh, Sequence, Trajectories
from smore.errors import DataError
from smore.inference import LatentState
from smore.surrogate import Surrogate


def forecast_dataset(
    surrogate: Surrogate,
    state: LatentState,
    instants: NDArray[np.float64],
    meshes: list[Mesh],
    *,
    uncertainty: bool,
) -> xr.Dataset:
    """Fields at `instants`, each sequence on its mesh; with standard deviations where known."""
    intervals = _intervals(state.times.numpy(), instants, surrogate.description.clock)
    if not uncertainty or state.covariance is None:
        return _fields(surrogate, instants, surrogate.advance(state, intervals)[:, 1:], meshes)
    latents, covariances = surrogate.advance_uncertain(state, intervals)
    fields = _fields(surrogate, instants, latents[:, 1:], meshes)
    return _with_deviations(fields, surrogate, instants, covariances[:, 1:], meshes, state.growth)


def _fields(
    surrogate: Surrogate, instants: NDArray[np.float64], latents: Tensor, meshes: list[Mesh]
) -> xr.Dataset:
    """Fields of latents (states, times, channels, p)."""
    decoded = [surrogate.decode(each, mesh) for each, mesh in zip(latents, meshes, strict=True)]
    return _dataset(surrogate, instants, decoded, meshes, surrogate.description.channels)


def _with_deviations(
    fields: xr.Dataset,
    surrogate: Surrogate,
    instants: NDArray[np.float64],
    covariances: Tensor,
    meshes: list[Mesh],
    growth: Tensor | None,
) -> xr.Dataset:
    """`fields` with a variable `u_std` for every channel `u`, which names it by CF conventions."""
    if len(covariances) == 1 and all(mesh is meshes[0] for mesh in meshes):
        found = [surrogate.deviation(covariances[0], meshes[0], growth)] * len(meshes)
    else:
        each = covariances.expand(len(meshes), *covariances.shape[1:])
        found = [surrogate.deviation(*pair, growth) for pair in zip(each, meshes, strict=True)]
    channels = surrogate.description.channels
    names = {channel.name: f"{channel.name}_std" for channel in channels}
    for channel, name in names.items():
        if name in fields.variables:
            raise DataError(
                f"'{name}' is what the standard deviation of '{channel}' would be called, and is "
                "there already; forecast with uncertainty=False"
            )
        fields[channel].attrs["ancillary_variables"] = name
    told = [
        Channel(
            name=names[channel.name],
            units=channel.units,
            long_name=f"standard deviation of {channel.name}",
        )
        for channel in channels
    ]
    deviations = _dataset(surrogate, instants, found, meshes, told)
    return fields.assign({name: deviations[name].variable for name in names.values()})


def _dataset(
    surrogate: Surrogate,
    instants: NDArray[np.float64],
    fields: list[NDArray[np.float32]],
    meshes: list[Mesh],
    channels: abc.Sequence[Channel],
) -> xr.Dataset:
    return Trajectories(
        sequences=tuple(
            Sequence(instants, each, mesh) for each, mesh in zip(fields, meshes, strict=True)
        ),
        channels=tuple(channels),
        space=surrogate.description.space,
        clock=surrogate.description.clock,
        groups=tuple(range(len(meshes))),
    ).to_xarray()


def _intervals(
    starts: NDArray[np.float64], instants: NDArray[np.float64], clock: Clock
) -> NDArray[np.float64]:
    """(states, n) times between the states and the instants, none negative."""
    if (
        instants.ndim != 1
        or not len(instants)
        or not np.isfinite(instants).all()
        or not (np.diff(instants) > 0).all()
        or instants[0] < starts.max()
    ):
        latest, given = clock.to_values(starts.max()), clock.to_values(instants)
        raise DataError(
            f"forecast times must be finite, increase and not lie before the observations (at "
            f"{latest}), got {', '.join(map(str, given.ravel())) or 'none'}"
        )
    return np.diff(
        np.column_stack([starts, np.broadcast_to(instants, (len(starts), len(instants)))])
    )
