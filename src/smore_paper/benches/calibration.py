"""Do error bars hold? Coverage of forecast intervals over a benchmark's test set."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from smore.data import Sequence, Trajectories
from smore.model import SMORE
from smore.surrogate import advance_uncertain, decode, deviation, infer
from smore_paper.tables.sparse.sweep import nested_masks

LEVEL = 0.9
VISIBLE = (0.1, 0.04, 0.02)
# Noise that is added to observations, as a share of each channel's standard deviation.
NOISE_SHARES = (0.0, 0.05)


@dataclass(frozen=True)
class Coverage:
    """How many true values lie inside the central 90% interval of the forecast.

    Attributes:
        visible: share of the points observed.
        noise: standard deviation of the noise added, as a share of each channel's own; the model
            is told of it.
        covered: share of all true values, over states, masks, snapshots, channels and points.
        covered_first, covered_last: the same for the first and the last snapshot alone.
        mean_deviation: root mean square of the stated standard deviations, in normalised units.
        rmse: of the forecast, likewise.
    """

    visible: float
    noise: float
    masks: int
    covered: float
    covered_first: float
    covered_last: float
    mean_deviation: float
    rmse: float


def coverages(
    model: SMORE,
    test: Trajectories,
    *,
    fractions: abc.Sequence[float] = VISIBLE,
    noises: abc.Sequence[float] = NOISE_SHARES,
    seeds: abc.Sequence[int] = (0, 1, 2),
) -> abc.Iterator[Coverage]:
    """Coverage for every visible fraction and noise, all snapshots, over the masks of `seeds`."""
    test = model.surrogate_.aligned(test)
    mesh = test.sequences[0].mesh
    masks = {seed: nested_masks(mesh.num_points, fractions, seed) for seed in seeds}
    for fraction in fractions:
        for noise in noises:
            counts = [_count(model, test, masks[seed][fraction], noise, seed) for seed in seeds]
            yield _pooled(fraction, noise, counts)


@dataclass(frozen=True)
class _Counts:
    """Per snapshot: share covered, mean square error, mean square deviation."""

    inside: NDArray[np.float64]
    squared: NDArray[np.float64]
    stated: NDArray[np.float64]


def _count(
    model: SMORE, test: Trajectories, points: NDArray[np.intp], noise: float, seed: int
) -> _Counts:
    surrogate = model.surrogate_
    observed, told = test.leading(1).at_points(points), None
    if noise:
        spread = noise * np.sqrt(surrogate.description.training_variance)
        observed = with_noise(observed, spread, np.random.default_rng(seed))
        names = (channel.name for channel in test.channels)
        told = dict(zip(names, spread.tolist(), strict=True))
    state = infer(surrogate, observed, "posterior", told)
    instants = np.stack([sequence.times[1:] for sequence in test])
    latents, covariances = advance_uncertain(surrogate, state, instants)
    mesh = test.sequences[0].mesh
    width = NormalDist().inv_cdf((1 + LEVEL) / 2)
    scale = surrogate.description.normalization.scale_array[:, None]
    sums = np.zeros((3, latents.shape[1]))
    deviations = deviation(surrogate, covariances[0], mesh, state.growth) / scale
    for number, sequence in enumerate(test):
        if len(covariances) > 1 and number:
            deviations = deviation(surrogate, covariances[number], mesh, state.growth) / scale
        error = (decode(surrogate, latents[number], mesh) - sequence.fields) / scale
        sums += [
            (np.abs(error) <= width * deviations).mean(axis=(1, 2)),
            (error**2).mean(axis=(1, 2)),
            (deviations**2).mean(axis=(1, 2)),
        ]
    return _Counts(*(sums / len(test)))


def with_noise(
    observed: Trajectories, deviation: NDArray[np.float64], random: np.random.Generator
) -> Trajectories:
    """`observed` with white noise of a standard deviation (channels,)."""

    def disturbed(sequence: Sequence) -> Sequence:
        noise = deviation[:, None] * random.normal(size=sequence.fields.shape)
        return replace(sequence, source=sequence.fields + noise)

    return replace(observed, sequences=tuple(map(disturbed, observed)))


def _pooled(fraction: float, noise: float, counts: abc.Sequence[_Counts]) -> Coverage:
    inside = np.mean([each.inside for each in counts], axis=0)
    return Coverage(
        visible=fraction,
        noise=noise,
        masks=len(counts),
        covered=float(inside.mean()),
        covered_first=float(inside[0]),
        covered_last=float(inside[-1]),
        mean_deviation=float(np.sqrt(np.mean([each.stated for each in counts]))),
        rmse=float(np.sqrt(np.mean([each.squared for each in counts]))),
    )
