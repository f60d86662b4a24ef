"""From observations of one time to states of a surrogate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smore.data import AnyBlock, Trajectories, stored
from smore.errors import SettingsError
from smore.inference import (
    FitMethod,
    LatentState,
    NormalEquations,
    ValueRows,
    check_observations,
    estimate_noise,
    has_few_values,
    infer_states,
    normal_equations,
    observabilities,
    value_rows,
)
from smore.surrogate.surrogate import Surrogate

Noise = float | Mapping[str, float] | None


def infer(
    surrogate: Surrogate, observations: Trajectories, method: FitMethod, noise: Noise = None
) -> LatentState:
    """The states behind the first snapshot of every sequence.

    Args:
        surrogate: the model.
        observations: aligned with it, see `Surrogate.aligned`.
        method: see `infer_states`.
        noise: standard deviation of the instruments, see `SMORE.infer`.
    """
    state, blocks = inferred(surrogate, observations, method, noise)
    return replace(state, observability=observabilities(surrogate.decoder, blocks))


@dataclass(frozen=True, eq=False)
class Evidence:
    """What observations say, before it is decided which states they mean.

    Args:
        blocks: the observations.
        equations: of each block.
        values: of each block, where they are few.
        times: (states,) of the data's time.
        noise: (channels,) variance of a value about the decoder that is assumed, normalised units.
        noise_known: (channels,) whether it was told or seen.
        growth: see `LatentState`.
    """

    blocks: list[AnyBlock]
    equations: list[NormalEquations]
    values: list[ValueRows | None]
    times: Tensor
    noise: Tensor
    noise_known: Tensor
    growth: Tensor


def evidence(surrogate: Surrogate, observations: Trajectories, noise: Noise) -> Evidence:
    """Of the first snapshot of every sequence; arguments as of `infer`.

    Raises:
        DataError: observations that no state can mean.
        SettingsError: noise that is not a size.
    """
    first = stored(observations.leading(1))
    check_observations(first, surrogate.description.coordinate_map)
    surrogate.warn_outside(sequence.mesh for sequence in first)
    told = noise_of(surrogate, noise)  # refused before any work
    instruments = torch.zeros(len(surrogate.description.channels)) if told is None else told
    blocks = surrogate.blocks(first)
    chunk_size = surrogate.description.settings.chunk_size
    equations = normal_equations(surrogate.decoder, blocks, chunk_size)
    expected = surrogate.expected_noise + instruments
    seen, is_seen = estimate_noise(equations, surrogate.least_noise + instruments, expected)
    # New fields may be less unlike the training data than left-out trajectories were. That they
    # are more unlike cannot be told from noise of instruments, unless they are seen whole, as the
    # training data were, and nobody speaks of noise.
    growth = ((seen - instruments) / surrogate.least_noise).clamp(min=1)
    if told is not None or not _whole(surrogate, equations):
        growth = torch.minimum(growth, surrogate.expected_noise / surrogate.least_noise)
    return Evidence(
        blocks,
        equations,
        [
            value_rows(surrogate.decoder, block)
            if has_few_values(surrogate.decoder, block)
            else None
            for block in blocks
        ],
        torch.tensor([sequence.times[0] for sequence in first], dtype=torch.float64),
        seen if told is None else expected,
        is_seen if told is None else is_seen | _told(surrogate, noise),
        growth,
    )


def inferred(
    surrogate: Surrogate, observations: Trajectories, method: FitMethod, noise: Noise
) -> tuple[LatentState, list[AnyBlock]]:
    """The states without their observability, which costs another pass, and what they fit."""
    settings = surrogate.description.settings
    said = evidence(surrogate, observations, noise)
    state = infer_states(
        said.equations,
        said.times,
        method=method,
        priors=surrogate.priors,
        noise=said.noise,
        values=said.values,
        num_steps=settings.final_fit_steps,
        rate=settings.fit_rate,
        keeps=settings.fit_keeps,
    )
    return replace(state, noise_known=said.noise_known, growth=said.growth), said.blocks


def _whole(surrogate: Surrogate, equations: list[NormalEquations]) -> bool:
    """Whether states were observed at as many points as the training data were."""
    if surrogate.mesh is None:
        return False
    points = surrogate.mesh.num_points if surrogate.seen is None else int(surrogate.seen.sum())
    fewest = min(int(each.count.sum(1).min()) for each in equations)
    return fewest >= points * surrogate.num_channels


def noise_of(surrogate: Surrogate, noise: Noise) -> Tensor | None:
    """(channels,) variance of the instruments, normalised units; None to estimate it."""
    if noise is None:
        return None
    names = [channel.name for channel in surrogate.description.channels]
    given = noise if isinstance(noise, Mapping) else dict.fromkeys(names, noise)
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise SettingsError(
            f"noise was given for {', '.join(unknown)}; the model knows the channels "
            f"{', '.join(names)}"
        )
    for name, value in given.items():
        if not 0 <= value < math.inf:
            raise SettingsError(
                f"the noise of '{name}' is a standard deviation in the data's units, finite "
                f"and not negative, got {value}"
            )
    deviations = torch.tensor([float(given.get(name, 0.0)) for name in names]).double()
    return (deviations / torch.tensor(surrogate.description.normalization.scale)).square()


def _told(surrogate: Surrogate, noise: Noise) -> Tensor:
    """(channels,) whether the user spoke of the noise of a channel."""
    names = [channel.name for channel in surrogate.description.channels]
    return torch.tensor([not isinstance(noise, Mapping) or name in noise for name in names])
