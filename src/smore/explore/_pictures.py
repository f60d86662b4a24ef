"""Pictures as numbers and colours: the field, and what may be shown beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from smore.analysis import DynamicModes, dynamic_modes, mode_fields, unseen_directions
from smore.explore._canvas import Canvas
from smore.explore._explorer import Explorer

Colours = Literal["diverging", "sequential", "error"]
BESIDE = ("deviation", "data", "error", "unseen", "mode")

# A field that reaches this share as far to one side of zero as to the other has a sign.
SIGNED = 0.2
# Modes and directions that can be chosen.
NUM_MODES, NUM_UNSEEN = 8, 6
# Colours of a field reach so many standard deviations from the mean.
REACH = 2.5
# Error bars below this share of the highest colour get darker colours of their own.
FAINT = 0.1


@dataclass(frozen=True, eq=False)
class Picture:
    """One picture.

    Args:
        canvas: what it is made of.
        values: (points,) in the data's units, NaN where nothing is known or to be said.
        low, high: what the first and the last colour mean.
        colours: which.
    """

    canvas: Canvas
    values: NDArray[np.floating]
    low: float
    high: float
    colours: Colours


class Pictures:
    """Draws what an explorer knows.

    Args:
        explorer: that knows it.
    """

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self._limits = lru_cache(64)(self._limits_of)
        self._modes: DynamicModes | None = None
        self._mode_values: dict[tuple[Canvas, int], NDArray] = {}

    def field(self) -> Picture:
        """The field at the time that is shown."""
        explorer = self.explorer
        values = explorer.view.places.field(explorer.channel, explorer.shown.state(explorer.step))
        return Picture(explorer.view.canvas, values, *self.limits())

    def beside(self, what: str, number: int) -> Picture:
        """One of `BESIDE`; `number` counts directions and modes from 1."""
        explorer = self.explorer
        if what == "data":
            values = self.truth(explorer.view.canvas)
            return Picture(explorer.view.canvas, values, *self.limits())
        if what == "error":
            missed = self.field().values - self.truth(explorer.view.canvas)
            return _balanced(explorer.view.canvas, missed)
        if what == "unseen":
            return _balanced(explorer.view.coarse, self._unseen(number))
        if what == "mode":
            return _balanced(explorer.view.coarse, self._mode(number))
        return self._deviation()

    def _deviation(self) -> Picture:
        explorer = self.explorer
        places, channel = explorer.view.coarse_places, explorer.channel
        values = explorer.shown.deviation(places, channel, explorer.step)
        high = _largest(places.usual_deviation(channel, explorer.shown.growth))
        while _largest(values) < FAINT * high:
            high *= FAINT
        return Picture(explorer.view.coarse, values, 0.0, high, "error")

    def truth(self, canvas: Canvas) -> NDArray[np.float64]:
        """The data at the time that is shown, (points,) of the field's picture; NaN for none."""
        explorer = self.explorer
        index = explorer.truth_index(explorer.step)
        if index is None or explorer.truth is None:
            return np.full(canvas.mesh.num_points, np.nan)
        values = explorer.truth.on(canvas.mesh, explorer.sequence, index, explorer.channel)
        return np.where(explorer.view.places.known[explorer.channel], values, np.nan)

    def _unseen(self, number: int) -> NDArray[np.floating]:
        """A direction that sensors say nothing about, one usual deviation in size."""
        explorer, state = self.explorer, self.explorer.knowledge.state
        _, directions = unseen_directions(state.prior, state.covariance)
        places = explorer.view.coarse_places
        if number > len(directions):
            return np.full(places.mesh.num_points, np.nan)
        return places.departure(explorer.channel, directions[number - 1])

    @property
    def modes(self) -> DynamicModes:
        """The modes of the dynamics, the strongest first."""
        if self._modes is None:
            self._modes = dynamic_modes(self.explorer.surrogate)
        return self._modes

    def _mode(self, number: int) -> NDArray[np.floating]:
        """The real part of a mode, as large as it usually is."""
        explorer = self.explorer
        canvas, channel = explorer.view.coarse, explorer.channel
        if (canvas, channel) not in self._mode_values:
            count = min(NUM_MODES, len(self.modes))
            found = mode_fields(explorer.surrogate, self.modes, canvas.mesh, count)
            name = explorer.description.channels[channel].name
            values = found[name].values[0].reshape(count, -1)
            self._mode_values[canvas, channel] = values
        values = self._mode_values[canvas, channel]
        known = explorer.view.coarse_places.known[channel]
        return np.where(known, values[min(number, len(values)) - 1], np.nan)

    def limits(self) -> tuple[float, float, Colours]:
        """What colours mean, the same for all times and sensors: a field must not flicker."""
        explorer = self.explorer
        return self._limits(explorer.channel, explorer.sequence, explorer.origin)

    def _limits_of(self, channel: int, sequence: int, origin: int) -> tuple[float, float, Colours]:
        explorer = self.explorer
        places = explorer.view.coarse_places
        mean = places.field(channel, explorer.surrogate.prior.mean)
        growth = torch.ones(explorer.surrogate.num_channels)
        spread = REACH * places.usual_deviation(channel, growth)
        low, high = float(np.nanmin(mean - spread)), float(np.nanmax(mean + spread))
        if explorer.truth is not None:
            values = explorer.truth.fields(sequence, origin)[channel]
            values = values[np.isfinite(values)]
            low, high = (
                min(low, float(values.min(initial=low))),
                max(high, float(values.max(initial=high))),
            )
        if low < 0 < high and min(-low, high) >= SIGNED * max(-low, high):
            return -max(-low, high), max(-low, high), "diverging"
        return low, high, "sequential"


def _balanced(canvas: Canvas, values: NDArray[np.floating]) -> Picture:
    """With colours that have zero in the middle."""
    most = _largest(np.abs(values))
    return Picture(canvas, values, -most, most, "diverging")


def _largest(values: NDArray[np.floating]) -> float:
    known = values[np.isfinite(values)]
    return max(float(known.max(initial=0.0)), 1e-30)
