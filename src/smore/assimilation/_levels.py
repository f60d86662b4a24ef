"""How noisy instruments are, and how wrong the model, as the stream itself tells it.

The likelihood of a stream is the product of the densities of its innovations. Three numbers are
looked for, one after the other, on the first times of the stream: the noise of the instruments
(unless told), how much more the decoder misses than of the training data (between that and what it
missed of left-out trajectories), and by how much errors of the dynamics are larger than on left-out
data.

What the decoder misses has heavy tails: most places are better than the mean, and likelihood goes
by most of them. It is trusted to be less than on left-out trajectories only as far as readings,
each left out in its turn, lie within their intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from smore.assimilation._filtering import Belief, StreamFilter
from smore.assimilation.kalman import Array
from smore.assimilation.stream import Stream
from smore.errors import DivergenceError
from smore.surrogate import Surrogate

# Times and values of each that are looked at.
MOST_TIMES, MOST_VALUES = 20, 80
# What is tried: instruments as shares of each channel's deviation, exponents of growth, factors.
SHARES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)
FINER = (0.56, 0.75, 1.33, 1.78)
EXPONENTS = (1.0, 0.75, 0.5, 0.25, 0.0)
INFLATIONS = (1.0, 4.0, 16.0)
# Log likelihood that a change has to gain.
WORTH_IT = 2.0
# The central interval of a normal distribution, in deviations, and the share that it holds.
INTERVAL, HELD = 1.645, 0.9


@dataclass(frozen=True, eq=False)
class Levels:
    """Sizes of errors.

    Args:
        instruments: (channels,) variance of the instruments, normalised units.
        growth: (channels,) see `DecoderError`.
        inflation: of the errors of the dynamics.
        told: whether the user spoke of the instruments.
    """

    instruments: Array
    growth: Array
    inflation: float
    told: bool

    @classmethod
    def usual(cls, surrogate: Surrogate, instruments: Array | None) -> Levels:
        """As left-out data have them, and exact instruments unless told."""
        exact = np.zeros(surrogate.num_channels)
        return cls(
            exact if instruments is None else instruments,
            np.array(surrogate.description.noise_growth),
            1.0,
            instruments is not None,
        )


def likeliest_levels(
    surrogate: Surrogate, stream: Stream, levels: Levels, *, noise_only: bool = False
) -> Levels:
    """Levels under which the first readings are likeliest; a few wild ones do not count.

    Args:
        surrogate: the model.
        stream: the observations.
        levels: to start from.
        noise_only: whether only instruments are looked at.
    """
    window = early_part(stream)
    best, _ = _judged(surrogate, window, levels)
    full = np.array(surrogate.description.noise_growth)
    scale = np.array(surrogate.description.normalization.scale)
    variance = np.array(surrogate.description.training_variance) / np.square(scale)

    def better(tried: Levels, held: float = 0.0) -> bool:
        nonlocal best, levels
        found, inside = _judged(surrogate, window, tried)
        if not found > best + WORTH_IT or inside < held:
            return False
        best, levels = found, tried
        return True

    if not levels.told:
        for share in SHARES[1:]:
            better(replace(levels, instruments=np.square(share) * variance))
        if levels.instruments.any():
            found = levels.instruments
            for factor in FINER:
                better(replace(levels, instruments=np.square(factor) * found))
    if noise_only:
        return levels
    for exponent in EXPONENTS[1:]:
        if not better(replace(levels, growth=full**exponent), HELD):
            break
    for inflation in INFLATIONS[1:]:
        if not better(replace(levels, inflation=inflation)):
            break
    return levels


def _judged(surrogate: Surrogate, stream: Stream, levels: Levels) -> tuple[float, float]:
    """Log likelihood, and the share of readings within what all others and the past expect."""
    filter_ = StreamFilter(
        surrogate, levels.instruments, inflation=levels.inflation, growth=levels.growth
    )
    belief: Belief | None = None
    total, inside = 0.0, []
    try:
        for time, readings in stream.by_time():
            step = filter_.step(belief, time, readings)
            belief = step.belief
            total += step.innovation.calm_log_likelihood
            inside.append(np.abs(step.innovation.left_out) <= INTERVAL)
    except DivergenceError:
        return -np.inf, 0.0
    return total, float(np.concatenate(inside).mean())


def early_part(stream: Stream) -> Stream:
    """The first times of a stream, and some sensors if these are many."""
    times = np.unique(stream.times)[:MOST_TIMES]
    early = stream.select(np.isin(stream.times, times))
    sensors = np.unique(early.sensors)
    most = max(1, MOST_VALUES * len(times) * len(sensors) // max(len(early), 1))
    if len(sensors) <= most:
        return early
    chosen = np.random.default_rng(0).choice(sensors, most, replace=False)
    return early.select(np.isin(early.sensors, chosen))
