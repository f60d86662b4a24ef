"""What a stream was found to say: states at all times, and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from smore.assimilation._cautions import stream_cautions
from smore.assimilation._filtering import Belief, Step, StreamFilter
from smore.assimilation._latents import latent_state, latents_of
from smore.assimilation._levels import Levels
from smore.assimilation._smoothing import smoothed_once
from smore.assimilation._watching import Watch
from smore.assimilation.kalman import Gaussian
from smore.assimilation.stream import Stream
from smore.data import Mesh
from smore.errors import DataError
from smore.inference import LatentState
from smore.surrogate import Surrogate, fields_dataset, instants_of, mesh_of


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """States behind a stream of observations.

    Args:
        surrogate: the model.
        filter: that was run.
        stream: the observations.
        steps: one for every time of the stream.
        smoothed: states given all of the stream; None where nobody asked.
        levels: sizes of errors that were told or found.
        watch: of the sensors; None where all were believed.
        broken: names of sensors that were taken out.
    """

    surrogate: Surrogate
    filter: StreamFilter
    stream: Stream
    steps: Sequence[Step]
    smoothed: Sequence[Gaussian] | None
    levels: Levels
    watch: Watch | None
    broken: frozenset[str]

    def __repr__(self) -> str:
        kind = "filtered" if self.smoothed is None else "smoothed"
        return f"<Analysis: {kind} states at {len(self.steps)} times from {self.stream!r}>"

    @property
    def times(self) -> NDArray[np.float64]:
        """(times,) of the stream, numbers on the model's clock."""
        return np.array([step.belief.time for step in self.steps])

    @cached_property
    def log_likelihood(self) -> float:
        """Log density of all readings that were taken, normalised units."""
        return sum(step.innovation.log_likelihood for step in self.steps)

    @cached_property
    def state(self) -> LatentState:
        """The last state, for `SMORE.forecast` and `SMORE.unseen`."""
        last = self.steps[-1]
        return latent_state(self.filter, last.belief, self.levels, self.num_values, last)

    @property
    def num_values(self) -> int:
        """Readings that were taken."""
        return sum(int(step.taken.sum()) for step in self.steps)

    def beliefs(self, times: NDArray[np.float64]) -> list[Belief]:
        """What is known at any times, none before the stream begins; later ones are forecasts.

        Raises:
            DataError: times before the stream, or that are no numbers.
        """
        first = self.steps[0].belief.time
        rising = (np.diff(times) > 0).all()
        if not len(times) or not np.isfinite(times).all() or not rising or times[0] < first:
            clock = self.surrogate.description.clock
            raise DataError(
                f"an analysis is of finite, increasing times from {clock.to_values(first)} on, got "
                f"{', '.join(map(str, np.atleast_1d(clock.to_values(times))))}"
            )
        last = self.steps[-1].belief.time
        known = [self._belief(float(time)) for time in times[times <= last]]
        end = self._belief(last)
        return known + self.filter.ahead(end, times[times > last])

    def latents(self, instants: NDArray[np.float64]) -> tuple[Tensor, Tensor]:
        """Latents (1, times, codes, p) and covariances (1, times, codes, p, p) of each code.

        Args:
            instants: numbers on the model's clock; see `beliefs`.
        """
        return latents_of(self.filter, self.beliefs(instants))

    def fields(
        self, times: ArrayLike | None = None, points: Mesh | ArrayLike | None = None
    ) -> xr.Dataset:
        """Fields and standard deviations, as `SMORE.forecast` returns them.

        Args:
            times: when, none before the stream begins; by default the times of the stream. Those
                after its end are forecasts.
            points: where, a mesh or coordinates (points, dim); by default the training mesh.
        """
        clock = self.surrogate.description.clock
        instants = self.times if times is None else instants_of(clock, times)
        mesh = mesh_of(self.surrogate, points)
        latents, covariances = self.latents(instants)
        growth = torch.as_tensor(self.levels.growth)
        return fields_dataset(self.surrogate, latents, covariances, instants, [mesh], growth)

    @cached_property
    def innovations(self) -> xr.Dataset:
        """Every reading: sensor, channel, time, deviation from all others, whether it was taken.

        `deviation` is N(0, 1) where sensor and model are right; 0 where sensors were not watched.
        """
        description = self.surrogate.description
        readings = [step.readings for step in self.steps]
        channel = np.concatenate([each.channels for each in readings])
        sensor = np.concatenate([each.sensors for each in readings])
        times = np.concatenate([each.times for each in readings])
        names = np.array([each.name for each in description.channels], dtype=object)
        deviations = np.concatenate([step.left_out for step in self.steps])
        return xr.Dataset(
            {
                "deviation": ("reading", deviations),
                "taken": ("reading", np.concatenate([step.taken for step in self.steps])),
                "value": ("reading", np.concatenate([each.values for each in readings])),
            },
            coords={
                "time": ("reading", description.clock.to_values(times)),
                "sensor": ("reading", np.array(self.stream.names, dtype=object)[sensor]),
                "channel": ("reading", names[channel]),
            },
        )

    def cautions(self) -> list[str]:
        """What to know before trusting it, in words; empty when nothing is doubtful."""
        return stream_cautions(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and names, for JSON."""
        scale = np.array(self.surrogate.description.normalization.scale)
        names = [channel.name for channel in self.surrogate.description.channels]
        instruments = scale * np.sqrt(self.levels.instruments)
        return {
            "times": len(self.steps),
            "values": len(self.stream),
            "values_taken": self.num_values,
            "sensors": len(self.stream.names),
            "log_likelihood": self.log_likelihood,
            "noise": dict(zip(names, instruments.tolist(), strict=True)),
            "noise_told": self.levels.told,
            "inflation": self.levels.inflation,
            "broken": sorted(self.broken),
            "cautions": self.cautions(),
        } | {f"state_{name}": value for name, value in self.state.to_dict().items()}

    def _belief(self, time: float) -> Belief:
        at = int(np.searchsorted(self.times, time, side="right")) - 1
        found = self.steps[at].belief
        if self.smoothed is not None and found.time == time:
            return replace(found, state=self.smoothed[at])
        if found.time == time:
            return found
        between = self.filter.carried(found, time)
        if self.smoothed is None:
            return between
        transition = self.filter.towards(between, self.steps[at + 1])
        state = smoothed_once(between.state, transition, self.smoothed[at + 1])
        return replace(between, state=state)
