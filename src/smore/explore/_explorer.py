"""What a page knows and does, without a page: sensors, times, and what follows from them.

Everything a browser may ask for is a method here, and takes numbers and names, never a path.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smore.analysis import SensorPlan
from smore.assimilation import Analysis
from smore.errors import DataError, SettingsError
from smore.explore._flow import Flow, flow_of, most_steps, serves_all
from smore.explore._forecasts import Followed, Forecast, Shown, followed
from smore.explore._knowledge import known_from, nothing_known
from smore.explore._places import Places
from smore.explore._placing import more_sensors
from smore.explore._sensors import MOST_SENSORS, Sensor, Sensors
from smore.explore._truth import Truth
from smore.explore._view import Reading, View, alone
from smore.explore._worth import Compared, Worth, worth_of
from smore.inference import LatentState
from smore.model import SMORE
from smore.surrogate import infer, instants_of

FloatArray = NDArray[np.float64]

# Steps ahead unless somebody asks for others.
FEWEST_AHEAD, MOST_AHEAD = 10, 60


class Explorer:
    """One model, and what somebody has set up to look at it.

    Args:
        model: the model.
        truth: data to take values from and to compare with.
        analysis: of a stream.
    """

    def __init__(
        self, model: SMORE, truth: Truth | None = None, analysis: Analysis | None = None
    ) -> None:
        self.model, self.surrogate, self.truth = model, model.surrogate_, truth
        self.description = self.surrogate.description
        self.analysis = analysis
        self.channel, self.step = 0, 0
        self.sequence, self.origin = 0, 0
        self.start = 0.0 if truth is None else float(truth.times(0)[0])
        self.from_data = truth is not None
        self.following = False
        self.measured = list(range(self.surrogate.num_channels))
        self.noise: dict[int, float] = {}
        self.sensors = Sensors(self.surrogate.num_channels)
        self.plan: SensorPlan | None = None
        self.view = View(self.surrogate)
        self.knowledge = nothing_known(self.surrogate)
        self.ahead = self._usual_ahead()
        self.know()

    # When

    def _usual_ahead(self) -> int:
        usual = 2 * (self.description.horizon - 1)
        if self.truth is not None:
            usual = len(self.truth.times(self.sequence)) - 1 - self.origin
        most = min(MOST_AHEAD, most_steps(self.surrogate))
        return int(np.clip(usual, min(FEWEST_AHEAD, most), most))

    def look_ahead(self, steps: int) -> None:
        """Show so many training steps after the observations."""
        self.ahead = int(np.clip(steps, 1, most_steps(self.surrogate)))
        self._new_times()

    def look_to_the_end(self) -> None:
        """Look as far ahead as the forecast is worth anything, or as far as can be."""
        while self.observed and self.worth().end is None and not self.looks_furthest:
            self.look_ahead(2 * self.ahead)

    @property
    def looks_furthest(self) -> bool:
        """Whether no more steps can be shown."""
        return self.ahead >= most_steps(self.surrogate)

    def start_from(self, sequence: int, origin: int) -> None:
        """Observe a snapshot of the data."""
        if self.truth is None:
            return
        self.sequence = int(np.clip(sequence, 0, len(self.truth) - 1))
        self.origin = int(np.clip(origin, 0, len(self.truth.times(self.sequence)) - 1))
        self.start = float(self.truth.times(self.sequence)[self.origin])
        self._new_times()

    def start_at(self, text: str) -> None:
        """Observe at a time, as the model's clock tells it.

        Raises:
            SettingsError: it tells times otherwise.
        """
        clock = self.description.clock
        try:
            when = [text.strip()] if clock.kind == "datetime" else [float(text)]
            start = float(instants_of(clock, when)[0])
        except (ValueError, DataError):
            start = math.nan
        if not math.isfinite(start):
            kind = "an ISO date" if clock.kind == "datetime" else "a number"
            raise SettingsError(f"the start is {kind} such as {self.told_time(0)}, got {text!r}")
        self.start = start
        self._new_times()

    def _new_times(self) -> None:
        vars(self).pop("_flow_of_all", None)
        vars(self).pop("compared", None)
        self.measure()
        self.step = min(self.step, len(self.shown.instants) - 1)

    @property
    def instants(self) -> FloatArray:
        """(ahead + 1,) of forecasts from sensors."""
        later = self.description.following(self.start, self.ahead)
        return np.append(self.start, later)

    def told_time(self, step: int) -> str:
        """The time of a step in words."""
        clock = self.description.clock
        value = clock.to_values(self.shown.instants[step : step + 1])[0]
        if clock.kind == "number":
            return f"{float(value):.6g} {clock.units.split(' since ')[0]}".strip()
        text = str(value).replace(" ", "T")
        return text.removesuffix(".000000").removesuffix("T00:00:00")

    # Sensors

    def draw_sensors(self, rows: list[tuple[int, list[float]]], *, moving: bool = False) -> None:
        """Take sensors as they are drawn: moved, new ones (with number 0), others gone.

        Args:
            rows: number and place in the picture of each, on a line the value beside it.
            moving: they are on their way; nothing but the time that is shown matters.
        """
        old = {row.number: row for row in self.sensors.rows}
        self.sensors.keep(number for number, _ in rows)
        for number, drawn in rows[:MOST_SENSORS]:
            at = np.array(drawn, dtype=float)
            if len(at) == 2 and np.isfinite(at).all():
                self._draw_sensor(old.get(number), at)
        self.measure(moving=moving)

    def _draw_sensor(self, old: Sensor | None, at: FloatArray) -> None:
        canvas = self.view.canvas
        number = len(canvas.columns)
        if old is not None and np.array_equal(at, self.drawn(old)):
            return
        height = None if old is None or canvas.cut is None else float(old.place[canvas.cut[0]])
        place = self._standing(canvas.place(at[:number], height))
        if old is None:
            old = self._add(place)
        values = old.values.copy()
        if number == 1 and not self.from_data and self.channel in self.measured:
            values[self.channel] = at[1]
        self.sensors.change(old.number, place=place, values=values)

    def drawn(self, sensor: Sensor) -> FloatArray:
        """(2,) where a sensor is in the picture: on a line at its value of the channel."""
        canvas = self.view.canvas
        if canvas.kind != "line":
            return sensor.place[list(canvas.columns)]
        value = sensor.values[self.channel]
        return np.array([sensor.place[0], value if math.isfinite(value) else 0.0])

    def edit(self, number: int, column: int, value: float) -> None:
        """Type a coordinate, or behind these the value of a channel (NaN: not measured)."""
        row = next((row for row in self.sensors.rows if row.number == number), None)
        if row is None:
            return
        if column < len(row.place) and math.isfinite(value):
            place = row.place.copy()
            place[column] = value
            self.sensors.change(number, place=self._standing(place))
        elif len(row.place) <= column < len(row.place) + len(row.values) and not self.from_data:
            values = row.values.copy()
            values[column - len(row.place)] = value
            self.sensors.change(number, values=values)
        self.measure()

    def remove(self, number: int) -> None:
        """Take a sensor away; all of them for 0."""
        kept = [row.number for row in self.sensors.rows if number and row.number != number]
        self.sensors.keep(kept)
        self.measure()

    def place_more(self, count: int) -> None:
        """Add the sensors that tell most beside those that are there.

        Raises:
            SettingsError: more than there are places.
        """
        count = int(np.clip(count, 1, 100))
        self.plan = more_sensors(self, count)
        for place in self.plan.coords:
            self._add(place)
        self.measure()

    def _standing(self, place: FloatArray) -> FloatArray:
        """Where a sensor can stand; with values from the data it goes to one of their points."""
        if self.from_data:
            return np.clip(place, *self.view.domain)
        return self.view.standing(place, self.measured)

    def _add(self, place: FloatArray) -> Sensor:
        """A sensor that sees what is expected there, until somebody types what it saw."""
        there = Places(self.surrogate, alone(place))
        values = np.full(self.surrogate.num_channels, np.nan)
        for channel in self.measured:
            values[channel] = there.field(channel, self.knowledge.mean)[0]
        return self.sensors.add(place, values)

    # What they say

    def take_values(self, from_data: bool) -> None:
        """Values from the data, or typed."""
        self.from_data = from_data and self.truth is not None
        self.measure()

    def measure_channels(self, channels: list[int]) -> None:
        """Which channels sensors measure; at least one."""
        known = [n for n in range(self.surrogate.num_channels) if n in channels]
        if not known:
            raise SettingsError("sensors measure at least one channel")
        self.measured = known
        if not self.from_data:
            for row in self.sensors.rows:
                values = np.full(len(row.values), np.nan)
                values[known] = row.values[known]
                self.sensors.change(row.number, values=values)
        self.measure()

    def tell_noise(self, channel: int, deviation: float | None) -> None:
        """Standard deviation of the instruments of a channel; None for not known."""
        self.noise.pop(channel, None)
        if deviation is not None:
            if not 0 <= deviation < math.inf:
                raise SettingsError(f"noise is a standard deviation, 0 or more, got {deviation:g}")
            self.noise[channel] = deviation
        self.measure()

    @property
    def told_noise(self) -> dict[str, float] | None:
        """As `SMORE.infer` takes it."""
        names = [channel.name for channel in self.description.channels]
        return {names[n]: size for n, size in self.noise.items()} or None

    def draw_noise(self) -> None:
        """Other noise of the same size."""
        self.sensors.seed += 1
        self.measure()

    def measure(self, *, moving: bool = False) -> None:
        """Read all sensors anew, and know what they say."""
        if self.from_data and self.truth is not None:
            snapshot = self.truth.snapshot(self.sequence, self.origin)
            self.sensors.measure(snapshot, self.measured, self.noise)
        self.know(moving=moving)

    def know(self, *, moving: bool = False) -> None:
        """The state behind the sensors, and the forecast from there.

        Args:
            moving: only up to the time that is shown, where that saves anything.
        """
        vars(self).pop("state", None)
        observed = self.sensors.observations(self.description, self.start)
        self.knowledge = known_from(self.surrogate, observed, self.told_noise)
        instants, flow = self.instants, self._flow_of_all
        if flow is None:
            instants = instants[: max(self.step, 1) + 1] if moving else instants
            flow = flow_of(self.surrogate, self.start, instants[1:], self.knowledge.mean)
        self.forecast = Forecast(self.knowledge, flow, instants)

    @cached_property
    def _flow_of_all(self) -> Flow | None:
        """One for all states, where there is one."""
        if not serves_all(self.surrogate):
            return None
        return flow_of(self.surrogate, self.start, self.instants[1:], self.surrogate.prior.mean)

    @cached_property
    def state(self) -> LatentState | None:
        """What `SMORE.infer` says; None without sensors."""
        observed = self.sensors.observations(self.description, self.start)
        if observed is None:
            return None
        return infer(self.surrogate, observed, "posterior", self.told_noise)

    # What is shown

    def follow(self, following: bool) -> None:
        """Show the stream, or the sensors."""
        self.following = following and self.analysis is not None
        self.step = min(self.step, len(self.shown.instants) - 1)

    @property
    def followed(self) -> Followed | None:
        """The stream, and what follows from it."""
        if self.analysis is None:
            return None
        return followed(self.analysis, self.surrogate, self.ahead)

    @property
    def shown(self) -> Shown:
        return self.followed if self.following and self.followed is not None else self.forecast

    @property
    def observed(self) -> bool:
        """Whether what is shown rests on any observation."""
        return self.following or self.knowledge.num_values > 0

    def truth_index(self, step: int) -> int | None:
        """The snapshot of the data at a step, if there is one."""
        if self.truth is None:
            return None
        return self.truth.index_at(self.sequence, float(self.shown.instants[step]))

    def read(self) -> Reading:
        """The numbers at the marked point."""
        places, shown = self.view.marked_places, self.shown
        value = places.field(self.channel, shown.state(self.step))[0]
        deviation = shown.deviation(places, self.channel, self.step)[0]
        index, truth = self.truth_index(self.step), math.nan
        if index is not None and self.truth is not None:
            truth = self.truth.on(places.mesh, self.sequence, index, self.channel)[0]
        return Reading(float(value), float(deviation), float(truth))

    @cached_property
    def compared(self) -> Compared | None:
        if self.truth is None:
            return None
        return Compared(self.truth, self.surrogate, self.sequence, self.origin)

    def worth(self) -> Worth:
        """Errors over time."""
        return worth_of(
            self.surrogate, self.shown, self.view.coarse_places, self.channel, self.compared
        )
