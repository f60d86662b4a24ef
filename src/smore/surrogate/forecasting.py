"""A forecast as users get it: fields and their standard deviations in a Dataset."""

from __future__ import annotations

import warnings
from collections import abc

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from smore.data import Channel, Clock, Mesh, Sequence, Trajectories
from smore.dynamics import LeadError
from smore.errors import DataError, UncertainIntervalsWarning
from smore.inference import LatentState
from smore.surrogate._lazy_forecast import Fields, blanked, lazily_decoded, lazy_deviations
from smore.surrogate.advancing import advance, advance_uncertain
from smore.surrogate.decoding import decode, deviation
from smore.surrogate.surrogate import Surrogate

# Mean squares of errors that differ by more from stretch to stretch tell little about the next.
UNLIKE = 10.0
# Stretches of a record that are enough to tell, and turns of a period.
FEW_STRETCHES, FEW_CYCLES = 3, 4
# Forecasts that reach this much further than those that were checked are as good as checked.
LITTLE_FURTHER = 1.2


def forecast_dataset(
    surrogate: Surrogate,
    state: LatentState,
    instants: NDArray[np.float64],
    meshes: list[Mesh],
    *,
    uncertainty: bool,
    lazy: bool = False,
) -> xr.Dataset:
    """Fields at `instants`, each sequence on its mesh; with standard deviations where known.

    NaN at points of the training mesh at which a channel was never observed: whatever the decoder
    says there, nothing has taught it.

    Args:
        surrogate: the model.
        state: the initial states.
        instants: (times,).
        meshes: of each state.
        uncertainty: whether standard deviations are wanted.
        lazy: see `SMORE.forecast`.

    Raises:
        DataError: times that cannot be forecast, or a lazy forecast on several meshes.
    """
    starts = state.times.numpy()
    _require_forecastable(starts, instants, surrogate.description.clock)
    wanted = np.broadcast_to(instants, (len(starts), len(instants)))
    covariances = None
    if uncertainty and state.covariance is not None:
        _warn_unlike(surrogate, starts, instants)
        latents, covariances = advance_uncertain(surrogate, state, wanted)
        covariances = covariances[:, 1:]
    else:
        latents = advance(surrogate, state, wanted)
    return fields_dataset(
        surrogate, latents[:, 1:], covariances, instants, meshes, state.growth, lazy=lazy
    )


def fields_dataset(
    surrogate: Surrogate,
    latents: Tensor,
    covariances: Tensor | None,
    instants: NDArray[np.float64],
    meshes: list[Mesh],
    growth: Tensor | None,
    *,
    lazy: bool = False,
) -> xr.Dataset:
    """Fields of latents (states, times, codes, p) at `instants`, with standard deviations if known.

    Args:
        surrogate: the model.
        latents: what to decode.
        covariances: (states or 1, times, codes, p, p) of each code; None where nobody knows.
        instants: (times,).
        meshes: of each state.
        growth: see `deviation`.
        lazy: see `SMORE.forecast`.
    """
    decode = lazily_decoded if lazy else _decoded
    decoded = decode(surrogate, latents, meshes)
    fields = _dataset(surrogate, instants, decoded, meshes, surrogate.description.channels)
    if covariances is None:
        return fields
    deviate = lazy_deviations if lazy else _deviations
    deviations = deviate(surrogate, covariances, meshes, growth)
    return _with_deviations(fields, surrogate, instants, deviations, meshes)


def _warn_unlike(
    surrogate: Surrogate, starts: NDArray[np.float64], instants: NDArray[np.float64]
) -> None:
    """Warn about error bars that rest on few or contradictory forecasts."""
    description = surrogate.description
    findings, error = description.training.findings, surrogate.error.step
    if not isinstance(error, LeadError):
        return
    times = description.model_times(np.append(starts.min(), instants[-1]))
    periods = description.settings.periods or ()
    cycles = description.training.num_snapshots * description.time_step / max(periods, default=1.0)
    reasons = []
    if error.disagreement is None and findings.get("stretches_unlike", 1.0) > UNLIKE:
        ratio = findings["stretches_unlike"] ** 0.5
        reasons.append(f"errors differed by a factor of {ratio:.2g} from one stretch to the next")
    if findings.get("stretches", 0.0) < FEW_STRETCHES:
        reasons.append("the training record is too short for forecasts inside it")
    if periods and cycles < FEW_CYCLES:
        reasons.append(f"it holds {cycles:.2g} turns of the slowest period only")
    if findings.get("share", 1.0) < 1:
        reasons.append("the record changes its ways, so that only its end was learned from")
    if times[1] - times[0] > LITTLE_FURTHER * float(error.leads[-1]):
        checked = float(error.leads[-1]) / description.step
        reasons.append(f"forecasts were checked up to {checked:.0f} steps ahead")
    if reasons:
        warnings.warn(
            f"error bars may be off, they rest on the training record alone: {'; '.join(reasons)}",
            UncertainIntervalsWarning,
            stacklevel=3,
        )


def _decoded(surrogate: Surrogate, latents: Tensor, meshes: list[Mesh]) -> list[Fields]:
    """Fields of latents (states, times, codes, p)."""
    return [
        blanked(decode(surrogate, each, mesh), surrogate.seen_on(mesh))
        for each, mesh in zip(latents, meshes, strict=True)
    ]


def _deviations(
    surrogate: Surrogate, covariances: Tensor, meshes: list[Mesh], growth: Tensor | None
) -> list[Fields]:
    """Standard deviations of covariances (states or 1, times, codes, p, p)."""

    def deviate(each: Tensor, mesh: Mesh) -> NDArray[np.float32]:
        return blanked(deviation(surrogate, each, mesh, growth), surrogate.seen_on(mesh))

    if len(covariances) == 1 and all(mesh is meshes[0] for mesh in meshes):
        return [deviate(covariances[0], meshes[0])] * len(meshes)
    each = covariances.expand(len(meshes), *covariances.shape[1:])
    return [deviate(*pair) for pair in zip(each, meshes, strict=True)]


def _with_deviations(
    fields: xr.Dataset,
    surrogate: Surrogate,
    instants: NDArray[np.float64],
    found: list[Fields],
    meshes: list[Mesh],
) -> xr.Dataset:
    """`fields` with a variable `u_std` for every channel `u`, which names it by CF conventions."""
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
    fields: list[Fields],
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


def _require_forecastable(
    starts: NDArray[np.float64], instants: NDArray[np.float64], clock: Clock
) -> None:
    """Refuse times that do not increase or lie before a state."""
    given = clock.to_values(instants)
    if instants.ndim != 1 or not len(instants):
        raise DataError(
            f"expected forecast times one after the other, got an array of shape {instants.shape}; "
            "give at least one"
        )
    if not np.isfinite(instants).all():
        place = int(np.argmin(np.isfinite(instants)))
        raise DataError(f"forecast times must be finite, got {given[place]}; leave it out")
    if not (np.diff(instants) > 0).all():
        place = int(np.argmin(np.diff(instants) > 0))
        raise DataError(
            f"forecast times must increase, got {given[place + 1]} after {given[place]}; sort "
            "them, and give each once"
        )
    if instants[0] < starts.max():
        raise DataError(
            f"forecast times must not lie before the observations at "
            f"{clock.to_values(starts.max())}, got {given[0]}; ask for later ones"
        )
