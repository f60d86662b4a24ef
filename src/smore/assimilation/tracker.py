"""Following a stream as it comes: one update after the other, a forecast at any moment.

Observations may be late, by up to a lag that is said beforehand. What is older than that is
settled: a state and nothing else. What is younger is kept as it came, and run through again when
something arrives in between. So the order in which observations arrive does not matter, and memory
does not grow.
"""

from __future__ import annotations

import copy
import os
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from smore.assimilation._cautions import beyond_training, broken_sensors
from smore.assimilation._filtering import Belief, Step, StreamFilter
from smore.assimilation._latents import latent_state, latents_of
from smore.assimilation._levels import Levels, likeliest_levels
from smore.assimilation._tracker_file import Settled, load_tracker, save_tracker
from smore.assimilation._watching import Watch
from smore.assimilation.assimilating import stream_filter
from smore.assimilation.reading import Observations, read_stream
from smore.assimilation.stream import Stream, told
from smore.data import Mesh
from smore.errors import DataError, SettingsError
from smore.inference import LatentState, cautions
from smore.surrogate import (
    Noise,
    Surrogate,
    fields_dataset,
    instants_of,
    mesh_of,
    noise_of,
)

# A stream whose first update has so many times tells how noisy it is.
ENOUGH_TIMES = 3


class Tracker:
    """What is known now about a system that is being observed.

    Made by `SMORE.track`.

    Args:
        surrogate: the model.
        settled: what is known of times that no observation can change any more.
        lag: how late observations may come, in the data's units of time.
        file: where the tracker is kept, written after every update; None to keep it in memory.
    """

    def __init__(
        self, surrogate: Surrogate, settled: Settled, lag: float, file: Path | None
    ) -> None:
        self.surrogate, self.lag, self.file = surrogate, lag, file
        self._settled = settled
        self._filter = stream_filter(surrogate, settled.levels, settled.watch)
        self._last: Step | None = None
        self._now: Belief | None = None
        self._watch = settled.watch
        self._replay()

    @classmethod
    def start(
        cls,
        surrogate: Surrogate,
        *,
        noise: Noise = None,
        lag: float = 0.0,
        file: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Tracker:
        """A tracker that knows nothing yet, or one from its file; see `SMORE.track`."""
        if not 0 <= lag < np.inf:
            raise SettingsError(f"a lag is a time, finite and not negative, got {lag}")
        path = None if file is None else Path(file)
        if path is not None and path.exists():
            if not resume:
                raise SettingsError(
                    f"{path} holds a tracker already; go on with it (resume=True), or remove it"
                )
            settled, kept_lag = load_tracker(path, surrogate)
            return cls(surrogate, settled, kept_lag, path)
        told_noise = noise_of(surrogate, noise)
        levels = Levels.usual(surrogate, None if told_noise is None else told_noise.numpy())
        return cls(surrogate, Settled.nothing(surrogate, levels), lag, path)

    @property
    def time(self) -> float | None:
        """The time of the newest observation, a number on the model's clock; None before any."""
        return None if self._now is None else self._now.time

    @property
    def num_values(self) -> int:
        """Observations so far."""
        return self._settled.num_values + len(self._settled.pending)

    @property
    def state(self) -> LatentState:
        """What is known now, for `SMORE.forecast` and `SMORE.unseen`."""
        return latent_state(
            self._filter, self._known(), self._settled.levels, self.num_values, self._last
        )

    def update(self, observations: Observations) -> Tracker:
        """Take in more observations, and write the file if there is one.

        Args:
            observations: see `SMORE.assimilate`; in any order.

        Raises:
            DataError: some are older than the lag allows, or cannot be used; nothing is taken then.
        """
        more = read_stream(observations, self.surrogate)
        settled = self._settled
        self._require_in_time(more)
        pending = settled.pending.joined(more).once(self.surrogate)
        nothing_yet = settled.belief is None and not len(settled.pending)
        several = len(np.unique(more.times)) >= ENOUGH_TIMES
        if nothing_yet and several and not settled.levels.told:
            settled = settled.with_levels(likeliest_levels(self.surrogate, more, settled.levels))
        self._settled = self._moved_up(settled, pending)
        self._replay()
        if self.file is not None:
            save_tracker(self.file, self._settled, self.lag, self.surrogate)
        return self

    def forecast(self, times: ArrayLike, points: Mesh | ArrayLike | None = None) -> xr.Dataset:
        """Fields and standard deviations from now on, as `SMORE.forecast` returns them.

        Args:
            times: when, none before the newest observation.
            points: where, a mesh or coordinates (points, dim); by default the training mesh.
        """
        now, clock = self._known(), self.surrogate.description.clock
        instants, mesh = instants_of(clock, times), mesh_of(self.surrogate, points)
        rising = len(instants) > 0 and bool((np.diff(instants) > 0).all())
        if not rising or not np.isfinite(instants).all() or instants[0] < now.time:
            raise DataError(
                f"a tracker forecasts finite, increasing times from {clock.to_values(now.time)} "
                f"on, got {', '.join(map(str, np.atleast_1d(clock.to_values(instants)))) or 'none'}"
            )
        beliefs = self._filter.ahead(now, instants)
        latents, covariances = latents_of(self._filter, beliefs)
        growth = torch.as_tensor(self._settled.levels.growth)
        return fields_dataset(self.surrogate, latents, covariances, instants, [mesh], growth)

    def cautions(self) -> list[str]:
        """What to know before trusting it, in words."""
        names = [channel.name for channel in self.surrogate.description.channels]
        mean = self._filter.latent(self._known()).mean
        return [
            *broken_sensors(self._watch, names),
            *beyond_training(self.surrogate, [mean]),
            *cautions(self.state, names),
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tracker to a file, whole or not at all."""
        save_tracker(Path(path), self._settled, self.lag, self.surrogate)

    def _known(self) -> Belief:
        if self._now is None:
            raise DataError("this tracker has seen nothing yet: update it with observations")
        return self._now

    def _require_in_time(self, more: Stream) -> None:
        """Refuse observations that would change what is settled."""
        if self._now is None:
            return
        latest = self._now.time
        late = np.flatnonzero(more.times < latest - self.lag)
        # At the newest time itself others may still come, unless that has been settled.
        settled = self._settled.belief
        if settled is not None:
            late = np.flatnonzero((more.times < latest - self.lag) | (more.times <= settled.time))
        if len(late):
            clock = self.surrogate.description.clock
            raise DataError(
                f"observations may come up to {self.lag:g} after newer ones (the lag of this "
                f"tracker), the newest so far are of {clock.to_values(latest)}; {len(late)} are "
                f"older, first {told(more, int(late[0]), clock)}; leave them out, or track with a "
                "longer lag"
            )

    def _moved_up(self, settled: Settled, pending: Stream) -> Settled:
        """What the observations settle that are older than the lag."""
        newest = float(pending.times[-1])
        old = pending.select(pending.times < newest - self.lag)
        belief, watch = settled.belief, copy.deepcopy(settled.watch)
        running = self._with(settled.levels, watch)
        for time, readings in old.by_time():
            belief = running.step(belief, time, readings).belief
        young = pending.select(pending.times >= newest - self.lag)
        return settled.moved(belief, young, watch, settled.num_values + len(old))

    def _replay(self) -> None:
        """The present: what is settled, and what has come since."""
        belief, last = self._settled.belief, None
        watch = copy.deepcopy(self._settled.watch)
        current = self._with(self._settled.levels, watch)
        for time, readings in self._settled.pending.by_time():
            last = current.step(belief, time, readings)
            belief = last.belief
        self._now, self._last, self._watch, self._filter = belief, last, watch, current

    def _with(self, levels: Levels, watch: Watch) -> StreamFilter:
        """The filter, with the matrices that are known already."""
        known = self._filter.system if levels.inflation == self._filter.inflation else None
        found = stream_filter(self.surrogate, levels, watch, system=known)
        if levels is self._settled.levels:
            found.settling = self._filter.settling
        return found
