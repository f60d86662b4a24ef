"""Do error bars hold along streams? With sensors that drop out, and sensors that move."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smore.assimilation import assimilate
from smore.data import Mesh, Sequence, Trajectories
from smore.model import SMORE
from smore_paper.benches.assimilation.streams import aligned_test, cut, errors, read_off

# The central interval of a normal distribution that holds 90%.
WIDTH = 1.645
NOISE_SHARES = (0.0, 0.05)
# Steps of the mesh that a moving sensor makes at a time, and share of sensors that move.
WANDERS, MOVING, DROPPING = 2, 1 / 3, 1 / 2


@dataclass(frozen=True)
class StreamCoverage:
    """How many true values lie inside the 90% interval, over all times of streams.

    Attributes:
        sensors: a third of them moving, half of them silent for half of the time.
        noise: that was added and told, as a share of each channel's deviation.
        covered: filtered fields, all times of the stream.
        covered_first, covered_last: at the first and the last time.
        covered_smoothed: smoothed fields, all times.
        rmse, stated: of the filtered fields at the last time, shares of the deviation.
    """

    sensors: int
    noise: float
    sequences: int
    covered: float
    covered_first: float
    covered_last: float
    covered_smoothed: float
    rmse: float
    stated: float


def stream_coverages(
    model: SMORE, test: Trajectories, *, sensors: int, sequences: int
) -> abc.Iterator[StreamCoverage]:
    """Coverage with and without noise; every sequence has sensors of its own."""
    surrogate, test = model.surrogate_, aligned_test(model, test)
    spread = np.sqrt(surrogate.description.training_variance)
    names = [channel.name for channel in surrogate.description.channels]
    for noise in NOISE_SHARES:
        rows = []
        for seed, sequence in enumerate(test.sequences[:sequences]):
            random = np.random.default_rng(seed)
            points, known = wandering(sequence, sensors, random)
            values = read_off(sequence, points)
            values = values + noise * spread * random.normal(size=values.shape)
            stream = cut(surrogate, sequence, points, values, known)
            told = dict(zip(names, (noise * spread).tolist(), strict=True))
            analysis = assimilate(surrogate, stream, noise=told, smooth=True)
            smooth_error, smooth_deviation = errors(analysis, sequence, slice(None))
            error, deviation = errors(replace(analysis, smoothed=None), sequence, slice(None))
            inside = np.abs(error) <= WIDTH * deviation
            shares = inside.mean(axis=(1, 2))
            rows.append(
                [
                    shares.mean(),
                    shares[0],
                    shares[-1],
                    (np.abs(smooth_error) <= WIDTH * smooth_deviation).mean(),
                    np.square(error[-1] / spread[:, None]).mean(),
                    np.square(deviation[-1] / spread[:, None]).mean(),
                ]
            )
        every, first, last, smooth, squared, stated = np.mean(rows, axis=0).tolist()
        yield StreamCoverage(
            sensors=sensors,
            noise=noise,
            sequences=len(rows),
            covered=every,
            covered_first=first,
            covered_last=last,
            covered_smoothed=smooth,
            rmse=squared**0.5,
            stated=stated**0.5,
        )


def wandering(
    sequence: Sequence, sensors: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where sensors are (times, sensors), and when they report."""
    times, mesh = sequence.num_snapshots, sequence.mesh
    points = np.tile(random.permutation(mesh.num_points)[:sensors], (times, 1))
    for number in range(round(MOVING * sensors)):
        points[:, number] = _walk(mesh, int(points[0, number]), times, random)
    known = np.ones((times, sensors), bool)
    for number in random.permutation(sensors)[: round(DROPPING * sensors)]:
        start = int(random.integers(0, times // 2 + 1))
        known[start : start + times // 2, number] = False
    return points, known


def _walk(mesh: Mesh, start: int, times: int, random: np.random.Generator) -> list[int]:
    """Points of a gridded mesh, a few cells apart, in one direction."""
    place = np.array(np.unravel_index(start, mesh.shape))
    direction = random.integers(-WANDERS, WANDERS + 1, size=len(place))
    path = []
    for _ in range(times):
        path.append(int(np.ravel_multi_index(tuple(place), mesh.shape)))
        ahead = place + direction
        bounced = np.where((ahead < 0) | (ahead >= mesh.shape), -direction, direction)
        place, direction = place + bounced, bounced
    return path
