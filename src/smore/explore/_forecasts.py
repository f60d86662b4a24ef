"""States and their errors at the times of a page: from sensors, or followed along a stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.assimilation import Analysis
from smore.explore._flow import Flow
from smore.explore._knowledge import Knowledge
from smore.explore._places import Places
from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]

# Times of a stream that a page has, and numbers that it keeps of them.
MOST_TIMES, MOST_NUMBERS = 240, 2**25


class Shown(Protocol):
    """What pictures are made of."""

    instants: FloatArray
    growth: Tensor

    def state(self, step: int) -> Tensor:
        """(r,) the mean."""

    def deviation(self, places: Places, channel: int, step: int) -> NDArray[np.float32]:
        """(points,) standard deviations, in the data's units."""

    def spread(self, places: Places, channel: int, steps: Sequence[int]) -> FloatArray:
        """(steps,) root mean square of the standard deviations over the domain."""


class Forecast:
    """From sensors at the first instant.

    Args:
        knowledge: what they say.
        flow: from there.
        instants: (n + 1,) when.
    """

    def __init__(self, knowledge: Knowledge, flow: Flow, instants: FloatArray) -> None:
        self.knowledge, self.flow, self.instants = knowledge, flow, instants
        self.growth = knowledge.growth
        self.states = flow.states(knowledge.mean)

    def state(self, step: int) -> Tensor:
        return self.states[step]

    def deviation(self, places: Places, channel: int, step: int) -> NDArray[np.float32]:
        return places.deviation(channel, self.knowledge.state, self.flow, step, self.growth)

    def spread(self, places: Places, channel: int, steps: Sequence[int]) -> FloatArray:
        root, part = places.root(channel), places.part(channel)
        known, flow = self.knowledge.state, self.flow
        own = [
            float(known.rooted(root @ (flow.moved[step] @ known.prior.factor)[part]).square().sum())
            for step in steps
        ]
        patterns = [float(((root @ pattern[part, part]) * root).sum()) for pattern in flow.patterns]
        added = [float(flow.sizes[step]) * patterns[min(step, len(patterns) - 1)] for step in steps]
        return _root_mean_square(places, channel, np.add(own, added), self.growth)


class Followed:
    """Along a stream, as it became known, and ahead from its end.

    Args:
        analysis: of the stream.
        surrogate: the model.
        ahead: training steps after the end.
    """

    def __init__(self, analysis: Analysis, surrogate: Surrogate, ahead: int) -> None:
        self.analysis, self.surrogate = analysis, surrogate
        times = analysis.times
        most = max(1, min(MOST_TIMES, MOST_NUMBERS // surrogate.dynamics.dim**2) - ahead)
        every = -(-len(times) // most)
        later = surrogate.description.following(float(times[-1]), ahead)
        self.instants = np.concatenate([times[::-1][::every][::-1], later])
        self.growth = torch.as_tensor(analysis.levels.growth)

    @cached_property
    def _latents(self) -> tuple[Tensor, Tensor]:
        """(times, codes, p) and (times, codes, p, p)."""
        latents, covariances = self.analysis.latents(self.instants)
        return latents[0].to(torch.float64), covariances[0]

    def state(self, step: int) -> Tensor:
        return self._latents[0][step].flatten()

    def deviation(self, places: Places, channel: int, step: int) -> NDArray[np.float32]:
        return places.deviation_of(channel, self._block(channel, step), self.growth)

    def spread(self, places: Places, channel: int, steps: Sequence[int]) -> FloatArray:
        root = places.root(channel)
        own = [float(((root @ self._block(channel, step)) * root).sum()) for step in steps]
        return _root_mean_square(places, channel, np.array(own), self.growth)

    def _block(self, channel: int, step: int) -> Tensor:
        """(p, p) covariance of the code that a channel has."""
        return self._latents[1][step, 0 if self.surrogate.decoder.joint else channel]

    def readings(self, step: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Where (places, dim) something was observed at or last before a time, and was it taken."""
        at = int(np.searchsorted(self.analysis.times, self.instants[step], side="right")) - 1
        found = self.analysis.steps[at]
        places, which = np.unique(found.readings.coords, axis=0, return_inverse=True)
        taken = np.zeros(len(places), dtype=bool)
        np.logical_or.at(taken, which.ravel(), found.taken)
        return places, taken


@lru_cache(2)
def followed(analysis: Analysis, surrogate: Surrogate, ahead: int) -> Followed:
    """One for all pages: the states of many times may take a while."""
    return Followed(analysis, surrogate, ahead)


def _root_mean_square(
    places: Places, channel: int, variances: FloatArray, growth: Tensor
) -> FloatArray:
    """With what the decoder misses, in the data's units; variances are normalised."""
    missed = places.mean(channel, places.missed(channel, growth).numpy())
    scale = places.surrogate.description.normalization.scale[channel]
    return scale * np.sqrt(np.maximum(variances + missed, 0.0))
