"""What the decoder misses where sensors are, as part of the state.

At a place the decoder misses much the same today as yesterday, and much the same as next to it.
Each spot (a place and a channel) has an entry d of its own in the state: a first-order process in
time, with a Gaussian correlation in space. It belongs to the place, not to the sensor: one that
moves leaves what it saw behind, and what it sees next is known in part from there. Were it
forgotten, readings along a track would count as independent ones, and error bars would fail. Where
values are very many they are not followed one by one; their noise counts for more instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smore.assimilation.kalman import Array
from smore.surrogate import LEAST_NOISE, Surrogate

# Values of one time that are followed one by one.
MOST_SPOTS = 400
# Share of what is missed that no neighbour shares, and that no later time repeats.
ALONE = 0.02
# Spots that are no longer heard from and followed all the same, the latest ones.
MOST_SILENT = 100
# They are forgotten when so little of them is left.
FORGOTTEN = 0.05
# What is missed is never taken to stay for ever.
LONGEST_MEMORY = 0.999


@dataclass(frozen=True, eq=False)
class Spots:
    """Places and channels whose decoder error is followed, each pair once.

    Args:
        channels: (s,).
        places: (s, d) decoder coordinates.
        deviation: (s,) of what the decoder misses there.
        heard: (s,) model time at which there was a reading last.
    """

    channels: NDArray[np.intp]
    places: Array
    deviation: Array
    heard: Array

    @classmethod
    def none(cls, dim: int) -> Spots:
        """Nowhere, in d decoder coordinates."""
        return cls(np.zeros(0, np.intp), np.zeros((0, dim)), np.zeros(0), np.zeros(0))

    def __len__(self) -> int:
        return len(self.channels)

    def find(self, places: Array, channels: NDArray[np.intp]) -> NDArray[np.intp]:
        """(m,) positions of places (m, d) and channels, -1 of those that are not there."""
        known = {key: at for at, key in enumerate(_keys(self.places, self.channels))}
        return np.array([known.get(key, -1) for key in _keys(places, channels)], dtype=np.intp)

    def once(self) -> Spots:
        """Every place and channel once: two sensors may be at one place."""
        keys = _keys(self.places, self.channels)
        first = {key: at for at, key in reversed(list(enumerate(keys)))}
        return self.select(np.array(sorted(first.values()), dtype=np.intp))

    def select(self, which: NDArray | slice) -> Spots:
        """Some of them."""
        return Spots(
            self.channels[which], self.places[which], self.deviation[which], self.heard[which]
        )

    def joined(self, more: Spots) -> Spots:
        """These, then others."""
        return Spots(
            np.concatenate([self.channels, more.channels]),
            np.concatenate([self.places, more.places]),
            np.concatenate([self.deviation, more.deviation]),
            np.concatenate([self.heard, more.heard]),
        )


def _keys(places: Array, channels: NDArray[np.intp]) -> list[tuple[int, bytes]]:
    """What tells spots apart; -0.0 is the place that 0.0 is."""
    return [
        (channel, place.tobytes())
        for channel, place in zip(channels.tolist(), places + 0.0, strict=True)
    ]


class DecoderError:
    """The process that spots follow.

    Args:
        surrogate: the model.
        growth: (channels,) how many times more the decoder misses than of the training data; by
            default as of trajectories that were left out.
    """

    def __init__(self, surrogate: Surrogate, growth: Array | None = None) -> None:
        error, description = surrogate.error, surrogate.description
        channels = surrogate.num_channels
        self.step = description.step
        self.floor, self.share = error.floor.numpy(), error.share.numpy()
        seen = np.array(description.noise_variance) / np.maximum(
            description.residual_variance, LEAST_NOISE
        )
        usual = np.array(description.noise_growth) if growth is None else growth
        self.growth = usual * np.maximum(seen, 1.0)
        self.prior = surrogate.prior.factor.numpy()
        # Models of before this was learned: the worst case in time, none in space.
        memory = np.ones(channels) if error.memory is None else error.memory.numpy()
        self.memory = np.minimum(memory, LONGEST_MEMORY)
        self.reach = np.full(channels, 1e-6) if error.reach is None else error.reach.numpy()

    def deviation(self, rows: Array, channels: NDArray[np.intp]) -> Array:
        """(m,) of what the decoder misses of values with rows H (m, r)."""
        varies = np.square(rows @ self.prior).sum(1)
        missed = self.floor[channels] + self.share[channels] * varies
        return np.sqrt(np.maximum(missed * self.growth[channels], LEAST_NOISE))

    def covariance(self, one: Spots, other: Spots) -> Array:
        """(s, t) between spots at the same time; without what each has alone."""
        distance = np.square(one.places[:, None] - other.places[None]).sum(-1)
        width = self.reach[one.channels][:, None]
        same = one.channels[:, None] == other.channels[None]
        kernel = np.where(same, np.exp(-0.5 * distance / np.square(width)), 0.0)
        return (1 - ALONE) * kernel * np.outer(one.deviation, other.deviation)

    def own(self, spots: Spots) -> Array:
        """(s, s) covariance of all spots."""
        return self.covariance(spots, spots) + ALONE * np.diag(np.square(spots.deviation))

    def carried(
        self, spots: Spots, time: float, later: float, arriving: Spots
    ) -> tuple[Spots, Array, Array]:
        """Spots at a later time, with those of its readings.

        Args:
            spots: of model time `time`.
            later: model time.
            arriving: where readings are then.

        Returns:
            The spots; d' = matrix d + noise w, as matrix (s', s) and root of the noise (s', any).
        """
        at = spots.find(arriving.places, arriving.channels)
        heard = spots.heard.copy()
        heard[at[at >= 0]] = later
        new = arriving.select(at < 0).once()
        kept = self._kept(spots, heard, later, MOST_SPOTS - len(new))
        known = replace(spots, heard=heard).select(kept)
        memory = self.memory[known.channels] ** ((later - time) / self.step)
        matrix = np.zeros((len(known), len(spots)))
        matrix[np.arange(len(known)), kept] = memory
        fresh = _root(self.own(known) * (1 - np.outer(memory, memory)))
        if not len(new):
            return known, matrix, fresh
        return known.joined(new), *self._with_new(known, matrix, fresh, new)

    def _kept(self, spots: Spots, heard: Array, later: float, room: int) -> NDArray[np.intp]:
        """Positions of spots to follow on: those with readings, the latest of the others."""
        left = self.memory[spots.channels] ** ((later - heard) / self.step)
        order = np.argsort(-heard, kind="stable")
        silent = heard[order] < later
        followed = (left[order] > FORGOTTEN) & (np.cumsum(silent) <= MOST_SILENT)
        return np.sort(order[followed][: max(room, 0)])

    def _with_new(
        self, known: Spots, matrix: Array, noise: Array, new: Spots
    ) -> tuple[Array, Array]:
        """Rows of new spots: what known ones say about them, and the rest of their variance."""
        crossed = self.covariance(new, known)
        weights = np.zeros_like(crossed)
        if len(known):
            weights[:] = np.linalg.solve(self.own(known), crossed.T).T
        rest = _root(self.own(new) - weights @ crossed.T)
        matrix = np.concatenate([matrix, weights @ matrix])
        noise = np.block(
            [
                [noise, np.zeros((len(known), rest.shape[1]))],
                [weights @ noise, rest],
            ]
        )
        return matrix, noise

    def uncounted(self, arriving: Spots) -> Array:
        """(m,) deviations that make white noise of many values worth as much as they are.

        Values that neighbours repeat count once together, and so do those that later times repeat.
        """
        total = np.zeros(len(arriving))
        for start in range(0, len(arriving), 512):
            part = arriving.select(slice(start, start + 512))
            shared = self.covariance(part, arriving)
            total[start : start + 512] = (
                shared / np.outer(part.deviation, arriving.deviation)
            ).sum(1)
        memory = self.memory[arriving.channels]
        again = (1 + memory) / (1 - memory)
        return arriving.deviation * np.sqrt(np.maximum(total, 1.0) * again)


def _root(covariance: Array) -> Array:
    """Of a covariance that round-off may have made indefinite."""
    if not len(covariance):
        return np.zeros((0, 0))
    sizes, directions = np.linalg.eigh((covariance + covariance.T) / 2)
    return directions * np.sqrt(sizes.clip(min=0))
