"""Forecasts of a surrogate from many origins, scored beside simple ones by lead time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from smore.data import Mesh, Sequence, Trajectories, stored
from smore.evaluation._simple_forecasts import SimpleForecasts
from smore.evaluation.calibration import Departures, gaussian_crps
from smore.evaluation.origins import MOST_LEADS, NUM_ORIGINS, Origin, chosen_horizon, spread_origins
from smore.evaluation.skill import Skill, SkillSums
from smore.inference import FitMethod, LatentState
from smore.surrogate import (
    Noise,
    Surrogate,
    advance,
    advance_uncertain,
    decode,
    deviation,
    inferred,
)

# Values that are looked at together.
AT_ONCE = 2**20
# Error bars that are kept from one forecast to the next.
MOST_KEPT = 2**24

Fields = NDArray[np.float64]


def rolling_skill(
    surrogate: Surrogate,
    trajectories: Trajectories,
    method: FitMethod,
    noise: Noise = None,
    *,
    horizon: int | None = None,
    num_origins: int | None = None,
) -> Skill:
    """Forecast from snapshots that are spread evenly, and score what followed.

    Args:
        surrogate: the model.
        trajectories: the truth, aligned with it.
        method: see `infer_states`.
        noise: see `SMORE.infer`.
        horizon: steps ahead; by default half of a single sequence, all of several ones.
        num_origins: forecasts of all sequences together, at least one of each; by default 5.

    Raises:
        SettingsError: a horizon that no sequence is long enough for.
    """
    truth = stored(trajectories)
    lengths = [sequence.num_snapshots for sequence in truth]
    horizon = chosen_horizon(lengths, horizon)
    leads = np.arange(1, horizon + 1)[:: -(-horizon // MOST_LEADS)]
    origins = spread_origins(lengths, horizon, num_origins or NUM_ORIGINS)
    firsts = replace(
        truth,
        sequences=tuple(_snapshots(truth, each, np.zeros(1, dtype=int)) for each in origins),
        groups=tuple(range(len(origins))),
    )
    state, _ = inferred(surrogate, firsts, method, noise)
    simple = SimpleForecasts(surrogate, firsts, truth)
    comparison = _Comparison(surrogate, truth, leads, simple)
    for number, origin in enumerate(origins):
        comparison.add(origin, _one(state, number))
    return comparison.skill(len(origins))


def _snapshots(truth: Trajectories, origin: Origin, leads: NDArray[np.integer]) -> Sequence:
    """What follows an origin after some leads, which are equally far from each other."""
    step = int(leads[1] - leads[0]) if len(leads) > 1 else 1
    wanted = slice(origin.start + int(leads[0]), origin.start + int(leads[-1]) + 1, step)
    return truth.sequences[origin.sequence].snapshots(wanted)


def _one(state: LatentState, number: int) -> LatentState:
    """One of several states, with what a forecast takes."""
    own = slice(number, number + 1)
    covariance = None if state.covariance is None else state.covariance_of(number)[None]
    return replace(
        state,
        mean=state.mean[own],
        covariance=covariance,
        times=state.times[own],
        num_values=state.num_values[own],
        residual=state.residual[own],
        determined=None,
        prior_share=None,
    )


class _Comparison:
    """Sums over forecasts that are added one after the other."""

    def __init__(
        self,
        surrogate: Surrogate,
        truth: Trajectories,
        leads: NDArray[np.integer],
        simple: SimpleForecasts,
    ) -> None:
        self.surrogate, self.truth, self.leads, self.simple = surrogate, truth, leads, simple
        variance = np.array(surrogate.description.training_variance)
        self.plain = SkillSums(len(leads), variance)
        varied = any(np.ptp(m.weights) > 1e-9 * m.weights.max() for m in truth.meshes)
        self.weighted = SkillSums(len(leads), variance) if varied else None
        self.departures: Departures | None = None
        self.kept: dict[int, tuple[torch.Tensor, Mesh, Fields]] = {}

    def add(self, origin: Origin, state: LatentState) -> None:
        """A forecast from a state."""
        sequence = self.truth.sequences[origin.sequence]
        leads = self.leads[origin.start + self.leads < sequence.num_snapshots]
        if not len(leads):
            return
        instants = sequence.times[origin.start + leads]
        covariances = None
        if state.covariance is None:
            latents = advance(self.surrogate, state, instants[None])
        else:
            latents, covariances = advance_uncertain(self.surrogate, state, instants[None])
        first = _snapshots(self.truth, origin, np.zeros(1, dtype=int)).load()
        self.simple.start(first, instants)
        for places, piece in self._pieces(origin, leads):
            forecast = decode(self.surrogate, latents[0, 1:][places], piece.mesh)
            bars = None
            if covariances is not None:
                bars = self._deviations(covariances[0, 1:][places], piece.mesh, state, places.start)
            self._score(places, piece, forecast.astype(np.float64), bars)

    def _pieces(
        self, origin: Origin, leads: NDArray[np.integer]
    ) -> Iterator[tuple[slice, Sequence]]:
        """The truth, some snapshots at a time."""
        sequence = self.truth.sequences[origin.sequence]
        size = max(AT_ONCE // (sequence.num_channels * sequence.mesh.num_points), 1)
        for begin in range(0, len(leads), size):
            places = slice(begin, min(begin + size, len(leads)))
            yield places, _snapshots(self.truth, origin, leads[places]).load()

    def _deviations(
        self, covariances: torch.Tensor, mesh: Mesh, state: LatentState, place: int
    ) -> Fields:
        """Standard deviations at leads from `place` on.

        Forecasts that start from equally known states by equal steps have the same, and finding
        them takes longer than all the rest: those of the last forecast are kept.
        """
        last = self.kept.get(place)
        if last is not None and last[1] is mesh and torch.equal(last[0], covariances):
            return last[2]
        found = deviation(self.surrogate, covariances, mesh, state.growth)
        bars = np.maximum(found.astype(np.float64), 1e-300)
        if sum(each.size for *_, each in self.kept.values()) < MOST_KEPT:
            self.kept[place] = covariances, mesh, bars
        return bars

    def _score(
        self, places: slice, piece: Sequence, forecast: Fields, deviations: Fields | None
    ) -> None:
        """Everything that is known about some leads of a forecast."""
        truth = piece.fields.astype(np.float64)
        known = np.ones(truth.shape, dtype=bool) if piece.observed is None else piece.observed
        seen = self.surrogate.seen_on(piece.mesh)
        known = known if seen is None else known & seen
        others = self.simple.at(places, piece)
        climate = others.get("monthly", others["climatology"])[0]
        for sums, measure in self._weightings(piece.mesh):
            weights = known * measure
            for name, (fields, there) in {"model": (forecast, None), **others}.items():
                own = weights if there is None else weights * there
                sums.add_errors(name, places, fields - truth, own)
                if name in ("model", "persistence", "dmd"):
                    sums.add_anomalies(name, places, fields - climate, truth - climate, own)
            if deviations is not None:
                crps = gaussian_crps(truth - forecast, deviations)
                sums.add_spread(places, deviations, crps, weights)
        if deviations is not None:
            self._count(places, np.abs(truth - forecast) / deviations, known)

    def _weightings(self, mesh: Mesh) -> Iterator[tuple[SkillSums, NDArray[np.float64]]]:
        yield self.plain, np.ones(mesh.num_points)
        if self.weighted is not None:
            yield self.weighted, mesh.weights / mesh.weights.mean()

    def _count(self, places: slice, departures: Fields, known: NDArray[np.bool_]) -> None:
        if self.departures is None:
            self.departures = Departures(len(self.leads))
        for place, each, there in zip(
            range(places.start, places.stop), departures, known, strict=True
        ):
            self.departures.add(place, each[there])

    def skill(self, num_origins: int) -> Skill:
        """What was found."""
        return Skill(
            num_origins=num_origins,
            leads=tuple(self.leads.tolist()),
            scores=self.plain.scores(),
            weighted=None if self.weighted is None else self.weighted.scores(),
            calibration=None if self.departures is None else self.departures.calibration(),
            absent=self.simple.absent,
            dmd_rank=self.simple.dmd_rank,
            on_sphere=self.truth.space.geometry == "sphere",
        )
