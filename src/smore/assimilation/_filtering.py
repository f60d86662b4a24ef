"""One step of the filter: from what is known at one time to the next, and its readings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smore.assimilation._decoder_error import MOST_SPOTS, DecoderError, Spots
from smore.assimilation._ensemble import Ensemble
from smore.assimilation._first_guess import FirstGuess, underestimated
from smore.assimilation._latent_system import LatentSystem
from smore.assimilation._settling import Settling
from smore.assimilation._watching import Watch
from smore.assimilation.kalman import (
    Array,
    Gaussian,
    Innovation,
    Readings,
    Transition,
    expected,
    predict,
    update,
)
from smore.assimilation.stream import Stream
from smore.errors import DivergenceError
from smore.surrogate import LEAST_NOISE, Surrogate


@dataclass(frozen=True, eq=False)
class Belief:
    """What is known at a model time: of the latent state, its error, and what the decoder misses.

    Args:
        time: the data's.
        model_time: the model's.
        state: of all entries together.
        spots: whose decoder error the last entries are.
        guess: what the first guess still has to do with it.
    """

    time: float
    model_time: float
    state: Gaussian
    spots: Spots
    guess: FirstGuess


@dataclass(frozen=True, eq=False)
class Step:
    """One time of a stream.

    Args:
        belief: after its readings.
        transition: from the belief before; None at the first time.
        innovation: of the readings that were taken.
        left_out: (m,) every reading against all others and the past, in deviations.
        taken: (m,) which readings were used.
        readings: all of this time.
    """

    belief: Belief
    transition: Transition | None
    innovation: Innovation
    left_out: Array
    taken: NDArray[np.bool_]
    readings: Stream

    def without_transition(self) -> Step:
        """The same, smaller."""
        return replace(self, transition=None)


class StreamFilter:
    """The filter of a surrogate for any readings.

    Args:
        surrogate: the model.
        instruments: (channels,) variance of the instruments, normalised units.
        inflation: by how many times larger errors of the dynamics are than on left-out data.
        growth: (channels,) see `DecoderError`.
        watch: judges sensors; None to believe all of them.
        members: of an ensemble; 0 for the linearised filter, which is exact for linear dynamics.
        seed: of the ensemble.
        system: that of the surrogate with this inflation, if it is known.
    """

    def __init__(
        self,
        surrogate: Surrogate,
        instruments: Array,
        *,
        inflation: float = 1.0,
        growth: Array | None = None,
        watch: Watch | None = None,
        members: int = 0,
        seed: int = 0,
        system: LatentSystem | None = None,
    ) -> None:
        self.surrogate = surrogate
        self.instruments = instruments
        self.inflation = inflation
        self.system = system or LatentSystem(surrogate, inflation)
        self.decoder_error = DecoderError(surrogate, growth)
        self.watch = watch
        # A stream may fit better than left-out trajectories did; a sensor that is no worse than
        # these were is not broken.
        usual = np.array(surrogate.description.noise_growth)
        self.tolerance = np.sqrt(np.maximum(1.0, usual / (usual if growth is None else growth)))
        if surrogate.error.tail is not None:
            self.tolerance *= surrogate.error.tail.numpy()
        self.settling = Settling()
        self.members = members
        self.random = np.random.default_rng(seed)

    @property
    def size(self) -> int:
        """Entries of the latent part of the state."""
        return self.system.process.size

    def latent(self, belief: Belief) -> Gaussian:
        """α: mean (r,) and root (r, any)."""
        state = belief.state
        return Gaussian(state.mean[: self.size], state.root[: self.size]).seen(
            self.system.process.reads
        )

    def step(self, belief: Belief | None, time: float, readings: Stream) -> Step:
        """The belief once the `readings` of a time are known."""
        rows, values, arriving, white = self._seen(time, readings)
        if belief is None:
            known = self._credible(readings)
            first = Readings(rows[known], values[known], white[known])
            belief, transition = self._first(time, first), None
            belief, _ = self._carried(belief, belief.model_time, arriving)
        else:
            key = _key(self._model_time(time) - belief.model_time, readings)
            if self.settling.applies(key, belief.state):
                return self._settled_step(belief, time, readings, values)
            belief, transition = self._carried(belief, self._model_time(time), arriving)
            belief = replace(belief, time=time)
        seen = self._readings(belief, rows, values, white, readings)
        innovation = expected(belief.state, seen)
        left_out, taken = self._judged(innovation, readings)
        if not taken.all():
            seen = seen.select(taken)
            innovation = expected(belief.state, seen)
        after = self._after(belief, seen)
        nobody_silent = taken.all() and (belief.spots.heard == belief.model_time).all()
        if transition is not None and self.system.linear and nobody_silent:
            self.settling.watch(key, transition, seen, belief.state, after.state)
        return Step(after, transition, innovation, left_out, taken, readings)

    def _settled_step(self, belief: Belief, time: float, readings: Stream, values: Array) -> Step:
        """`step`, of which only the means are new."""
        settled, size = self.settling.settled, self.size
        assert settled is not None
        model_time = self._model_time(time)
        # Of forced dynamics the shift changes with time.
        latent = self.system.transition(belief.state.mean[:size], belief.model_time, model_time)
        shift = np.concatenate([latent.shift, settled.transition.shift[size:]])
        transition = replace(settled.transition, shift=shift)
        mean = transition.matrix @ belief.state.mean + shift
        seen = replace(settled.readings, values=values)
        innovation = Innovation(values - seen.matrix @ mean, settled.innovation)
        left_out, taken = self._judged(innovation, readings)
        if taken.all():
            state = Gaussian(mean + settled.gain @ innovation.values, settled.after)
        else:
            before = Gaussian(mean, settled.before)
            innovation = expected(before, seen.select(taken))
            state = update(before, seen.select(taken))
        spots = replace(belief.spots, heard=np.full(len(belief.spots), model_time))
        after = Belief(time, model_time, state, spots, belief.guess.forgotten(len(mean)))
        return Step(after, transition, innovation, left_out, taken, readings)

    def carried(self, belief: Belief, time: float) -> Belief:
        """The belief at a later time without further readings."""
        if time == belief.time:
            return belief
        nobody = Spots.none(belief.spots.places.shape[1])
        moved, _ = self._carried(belief, self._model_time(time), nobody)
        return replace(moved, time=time)

    def ahead(self, belief: Belief, times: Array) -> list[Belief]:
        """The beliefs at later times, in order, each from the one before as forecasts are."""
        found = []
        for time in times.tolist():
            belief = self.carried(belief, time)
            found.append(belief)
        return found

    def towards(self, belief: Belief, step: Step) -> Transition:
        """The transition from a belief to that of a later step, before its readings."""
        arriving = self._seen(step.belief.time, step.readings)[2]
        return self._carried(belief, step.belief.model_time, arriving)[1]

    def rows(self, readings: Stream) -> tuple[Array, Array]:
        """H (m, r) of α, and what readings are without the decoder's offset, normalised."""
        description = self.surrogate.description
        places, channels = description.coordinate_map(readings.coords), readings.channels
        rows, offset = self.system.rows(places, channels)
        shift = np.array(description.normalization.shift)[channels]
        scale = np.array(description.normalization.scale)[channels]
        return rows, (readings.values - shift) / scale - offset

    def _model_time(self, time: float) -> float:
        return float(self.surrogate.description.model_times(np.array([time]))[0])

    def _seen(self, time: float, readings: Stream) -> tuple[Array, Array, Spots, Array]:
        """Rows of α, normalised values without offset, spots to follow, and white deviations."""
        rows, values = self.rows(readings)
        channels = readings.channels
        places = self.surrogate.description.coordinate_map(readings.coords)
        deviation = self.decoder_error.deviation(rows, channels)
        heard = np.full(len(readings), self._model_time(time))
        spots = Spots(channels, places, deviation, heard)
        white = self.instruments[channels] + LEAST_NOISE
        if len(spots) > MOST_SPOTS:
            white = white + np.square(self.decoder_error.uncounted(spots))
            return rows, values, Spots.none(places.shape[1]), np.sqrt(white)
        return rows, values, spots, np.sqrt(white)

    def _credible(self, readings: Stream) -> NDArray[np.bool_]:
        """(m,) which readings are not of sensors that are out for good."""
        out = frozenset() if self.watch is None else self.watch.out
        return np.array([readings.names[sensor] not in out for sensor in readings.sensors])

    def _first(self, time: float, seen: Readings) -> Belief:
        """Before any readings, under the prior that makes the first ones likeliest."""
        priors = self.surrogate.priors
        starts = [Gaussian(prior.mean.numpy(), prior.factor.numpy()) for prior in priors]
        evidence = [expected(start, seen).calm_log_likelihood for start in starts]
        number = int(np.argmax(evidence))
        prior = priors[number]
        dim = self.surrogate.description.coordinate_map.decoder_dim
        if self.members:  # which cannot be added to later
            larger = underestimated(prior, update(starts[number], seen))
            drawn = Ensemble.drawn(self.system.start(prior, larger), self.members, self.random)
            state, guess = drawn.state, FirstGuess.known(self.size)
        else:
            state, guess = self.system.start(prior), FirstGuess.of(prior, number, self.size)
        return Belief(time, self._model_time(time), state, Spots.none(dim), guess)

    def _after(self, belief: Belief, seen: Readings) -> Belief:
        """The belief once `seen` is known."""
        state, guess = self._updated(belief.state, seen), belief.guess
        if not np.isfinite(state.mean).all():
            raise DivergenceError(
                "the filter lost the state: linearised dynamics took it too far; observe more "
                "often, or let an ensemble follow it, `members=100`",
                part="assimilation",
            )
        if guess.matters:
            guess = guess.updated(belief.state, seen)
            latent = self.latent(replace(belief, state=state))
            larger = underestimated(self.surrogate.priors[guess.prior], latent)
            guess, state = guess.owned_up(state, larger)
        return replace(belief, state=state, guess=guess)

    def _carried(
        self, belief: Belief, model_time: float, arriving: Spots
    ) -> tuple[Belief, Transition]:
        """The belief at a later model time, with the spots that are heard from then."""
        size = self.size
        spots, matrix, noise = self.decoder_error.carried(
            belief.spots, belief.model_time, model_time, arriving
        )
        if model_time == belief.model_time:
            latent = Transition(np.eye(size), np.zeros(size), np.zeros((size, 0)))
        else:
            mean = belief.state.mean[:size]
            latent = self.system.transition(mean, belief.model_time, model_time)
        whole = _side_by_side(latent, matrix, noise)
        if self.members:
            state = self._ensemble_predicted(belief, model_time, whole)
        else:
            state = predict(belief.state, whole)
        guess = belief.guess.moved(whole.matrix)
        return Belief(belief.time, model_time, state, spots, guess), whole

    def _ensemble_predicted(self, belief: Belief, later: float, whole: Transition) -> Gaussian:
        size = self.size

        def advance(members: Array) -> Array:
            ahead = members @ whole.matrix.T + whole.shift
            if later > belief.model_time:
                ahead[:, :size] = self.system.advanced(members[:, :size], belief.model_time, later)
            return ahead

        spread = belief.state.root.T * np.sqrt(self.members - 1)
        ensemble = Ensemble(belief.state.mean + spread)
        return ensemble.predicted(advance, whole.noise, self.random).state

    def _updated(self, state: Gaussian, readings: Readings) -> Gaussian:
        if not self.members:
            return update(state, readings)
        ensemble = Ensemble(state.mean + state.root.T * np.sqrt(self.members - 1))
        return ensemble.updated(readings).state

    def _readings(
        self, belief: Belief, rows: Array, values: Array, white: Array, readings: Stream
    ) -> Readings:
        matrix = np.zeros((len(rows), len(belief.state.mean)))
        matrix[:, : self.size] = rows @ self.system.process.reads
        places = self.surrogate.description.coordinate_map(readings.coords)
        at = belief.spots.find(places, readings.channels)
        followed = np.flatnonzero(at >= 0)
        matrix[followed, self.size + at[followed]] = 1.0
        return Readings(matrix, values, white)

    def _judged(self, innovation: Innovation, readings: Stream) -> tuple[Array, NDArray[np.bool_]]:
        """(m,) deviations of every reading from all others, and which to take."""
        count = len(readings)
        if self.watch is None or count > MOST_SPOTS:
            return np.zeros(count), np.ones(count, bool)
        return self.watch.judge(innovation, readings, self.tolerance)


def _key(interval: float, readings: Stream) -> tuple:
    """What has to be the same for a step to repeat itself."""
    columns = (readings.sensors, readings.channels, readings.coords)
    return (round(interval, 9), *(column.tobytes() for column in columns))


def _side_by_side(latent: Transition, matrix: Array, noise: Array) -> Transition:
    """Of independent parts: the latent one, and spots with matrix (s', s) and noise."""
    size, (after, before) = len(latent.shift), matrix.shape
    whole = np.zeros((size + after, size + before))
    whole[:size, :size], whole[size:, size:] = latent.matrix, matrix
    fresh = np.zeros((size + after, latent.noise.shape[1] + noise.shape[1]))
    fresh[:size, : latent.noise.shape[1]] = latent.noise
    fresh[size:, latent.noise.shape[1] :] = noise
    return Transition(whole, np.concatenate([latent.shift, np.zeros(after)]), fresh)
