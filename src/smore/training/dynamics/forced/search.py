"""Which member of the family forecasts a record best, judged inside the record.

Every candidate is fitted to what came before some time, basis included, and forecasts what came
after. Errors are those of whole fields: what a basis leaves out counts. Their logarithms are
averaged over several such times, so that a stretch in which everybody errs decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.training.dynamics.forced._decay import decayed
from smore.training.dynamics.forced.anomalies import Anomalies, strongest_frequencies
from smore.training.dynamics.forced.candidates import (
    COUNTS,
    LEAST_ROWS,
    LEVELS,
    POWERS,
    RIDGES,
    SHARES,
    Candidate,
    CentreKind,
    Shrinkage,
    Size,
    shrunk_towards,
)
from smore.training.dynamics.forced.record import (
    ENOUGH_TRAJECTORIES,
    Array,
    Record,
    Split,
)

# Errors below this share of the variance are round-off.
ROUND_OFF = 1e-14
# Departures may grow by this factor within the horizon: what holds for faster growth inside a
# record does not go on beyond it.
MOST_GROWTH = 3.0
# Other centres than a constant are for noisy records, and for small maps.
LARGEST_ABOUT_OTHERS = 20
# Larger maps are shrunk towards standing still or towards nothing only.
LARGEST_SHRUNK = 24


class Search:
    """Candidates and their errors.

    Args:
        record: the training states.
        splits: what is forecast.
        centres: kinds that are tried.
        latent_dim: the number of directions, if the user said so.
    """

    def __init__(
        self,
        record: Record,
        splits: list[Split],
        centres: list[CentreKind],
        latent_dim: int | None = None,
    ) -> None:
        self.record, self.splits, self.centres = record, splits, centres
        self.weights = np.array([split.weight for split in self.splits])
        self.sizes = [Size(latent_dim)]
        if latent_dim is None:
            self.sizes = [Size(count) for count in COUNTS] + [Size(level=each) for each in LEVELS]
        self.variance = float(np.square(record.states - record.states.mean(0)).sum(1).mean())
        num_trajectories = len(np.unique(record.groups))
        self.many = num_trajectories >= ENOUGH_TRAJECTORIES
        self.learned = [(centre, 1.0) for centre in centres]
        if num_trajectories == 1:  # several have no common end
            self.learned += [
                (each, share) for each in centres if each.plain for share in SHARES[1:]
            ]
        self._anomalies: dict[tuple[int | None, CentreKind, float, int], Anomalies] = {}
        self._targets: dict[Anomalies, _Target] = {}
        self._maps: dict[tuple[int | None, Candidate, bool, int], tuple[Array, Array]] = {}

    def best(self, threads: int = 1) -> Candidate:
        """The candidate with the smallest error; splits and centres are shared among threads."""
        if not self.splits:  # too short to leave anything out: what cannot go wrong
            return Candidate(CentreKind(), False, Size(1), Shrinkage(np.inf, 1.0))
        scores = self._scores(threads)
        best = sorted(scores, key=lambda each: scores[each])
        return next((each for each in best if not self.runs_away(each)), best[0])

    def score(
        self, candidate: Candidate, *, decay: bool = False, negligible: float = ROUND_OFF
    ) -> float:
        """Weighted mean over splits of the logarithm of the mean squared error.

        Args:
            candidate: what is tried.
            decay: see `fitted`.
            negligible: share of the variance below which errors are alike.
        """
        errors = []
        for number in range(len(self.splits)):
            anomalies, matrix, constant = self.fitted(number, candidate, decay=decay)
            errors.append(self._map_errors(number, anomalies, matrix[None], constant[None])[0])
        least = (negligible - ROUND_OFF) * self.variance
        return self._mean(np.array(errors) + least, self.weights) + candidate.handicap

    def rows(self, number: int | None, share: float, without: int = 0) -> NDArray[np.bool_]:
        """(rows,) what is learned from in a split, or of the whole record for None.

        Args:
            number: of the split.
            share: of these rows, their end, that is.
            without: how many rows from the very end are not.
        """
        training = np.ones(len(self.record), dtype=bool)
        if number is not None:
            training = self.splits[number].training
        known = np.flatnonzero(training)
        known = known[: len(known) - without]
        recent = np.zeros_like(training)
        recent[known[-max(round(share * len(known)), LEAST_ROWS) :]] = True
        return recent

    def anomalies(
        self, number: int | None, centre: CentreKind, share: float, without: int = 0
    ) -> Anomalies:
        """About a centre fitted to what is learned from, see `rows`."""
        key = (number, centre, share, without)
        if key not in self._anomalies:
            training, frequencies = self.rows(number, share, without), np.array(centre.frequencies)
            if centre.found:
                frequencies = strongest_frequencies(self.record, training, centre.found)
            self._anomalies[key] = Anomalies(self.record, training, centre, frequencies)
        return self._anomalies[key]

    def fitted(
        self, number: int | None, candidate: Candidate, *, decay: bool = False, without: int = 0
    ) -> tuple[Anomalies, Array, Array]:
        """What a split learns of a candidate: departures, M (rank, rank) and c of b ↦ b M + c.

        Args:
            number: of the split; None for all of the record.
            candidate: what is fitted.
            decay: whether its eigenvalues are made to decay.
            without: see `rows`.
        """
        anomalies = self.anomalies(number, candidate.centre, candidate.share, without)
        key = (number, candidate, decay, without)
        if key not in self._maps:
            rank = anomalies.rank(candidate.size)
            matrices, constants = anomalies.maps(rank, candidate.drift, [candidate.shrinkage])
            matrix = decayed(matrices[0]) if decay else matrices[0]
            self._maps[key] = matrix, constants[0]
        return anomalies, *self._maps[key]

    def runs_away(self, candidate: Candidate) -> bool:
        """Whether departures grow by more than MOST_GROWTH within the horizon."""
        _, matrix, _ = self.fitted(None, candidate)
        horizon = int(self.splits[-1].leads[-1])
        return float(np.abs(np.linalg.eigvals(matrix)).max()) > MOST_GROWTH ** (1 / horizon)

    def _scores(self, threads: int) -> dict[Candidate, float]:
        """Of every candidate that all splits are long enough for, and that may be the best."""
        table: dict[Candidate, list[float]] = {}
        numbers = list(range(len(self.splits)))
        at_once = 1 if self.many else len(numbers)
        with ThreadPoolExecutor(threads) as pool:
            tried = self._tried_on(numbers[:at_once], pool)
            # What the other splits need in any case goes on meanwhile.
            rest = [(number, *each) for number in numbers[at_once:] for each in self.learned]
            ahead = pool.map(lambda job: self.anomalies(*job), rest)
            _add(table, tried)
            list(ahead)
            if rest:
                _add(table, self._tried_on(numbers[at_once:], pool, self._in_play(table)))
        return {
            candidate: self._mean(np.array(errors), self.weights) + candidate.handicap
            for candidate, errors in table.items()
            if len(errors) == len(self.splits)
        }

    def _tried_on(
        self, numbers: Sequence[int], pool: Executor, wanted: Container[Candidate] | None = None
    ) -> Iterator[list[tuple[Candidate, float]]]:
        """Candidates with their errors on some splits; only of those wanted, if told."""
        jobs = [(number, *each, wanted) for number in numbers for each in self.learned]
        return pool.map(lambda job: self._tried(*job), jobs)

    def _in_play(self, table: dict[Candidate, list[float]]) -> Container[Candidate]:
        """Those of many trajectories that may be the best, by their errors on the first split.

        A mean of n errors is no less than an n-th of one of them. The most promising candidate,
        which is tried on all splits at once, is better than many can be.
        """
        least = {
            candidate: self._mean(np.array(errors) / len(self.splits), np.ones(1))
            + candidate.handicap
            for candidate, errors in table.items()
        }
        promising = sorted(least, key=lambda each: least[each])
        best = next((each for each in promising if not self.runs_away(each)), None)
        most = math.inf if best is None else self.score(best)
        return {candidate for candidate, bound in least.items() if bound <= most}

    def _tried(
        self, number: int, centre: CentreKind, share: float, wanted: Container[Candidate] | None
    ) -> list[tuple[Candidate, float]]:
        """Every candidate about one centre (of those wanted), with its error on one split."""
        anomalies = self.anomalies(number, centre, share)
        most = anomalies.directions.shape[1]
        ranks = {size: anomalies.rank(size) for size in self.sizes}
        if len(self.sizes) > 1:
            limit = most if centre.plain else LARGEST_ABOUT_OTHERS
            ranks = {
                size: rank
                for size, rank in ranks.items()
                if rank <= limit and (size.number is None or size.number <= most)
            }
        found = []
        for rank in sorted(set(ranks.values())):
            sizes = [size for size, own in ranks.items() if own == rank]
            for drift, shrinkages in self._regressions(number, rank):
                named = [
                    [Candidate(centre, drift, size, each, share) for size in sizes]
                    for each in shrinkages
                ]
                if wanted is not None:
                    named = [
                        kept for each in named if (kept := [one for one in each if one in wanted])
                    ]
                if not named:
                    continue
                tried = [candidates[0].shrinkage for candidates in named]
                errors = self._map_errors(number, anomalies, *anomalies.maps(rank, drift, tried))
                found += [
                    (candidate, float(error))
                    for candidates, error in zip(named, errors, strict=True)
                    for candidate in candidates
                ]
        return found

    def _regressions(self, number: int, rank: int) -> list[tuple[bool, list[Shrinkage]]]:
        """What is tried, with a constant term and without."""
        horizon = int(self.splits[number].leads[-1])
        towards = shrunk_towards(horizon)
        ends = (0.0, 1.0)
        if self.many and rank > LARGEST_SHRUNK:
            return [(True, [Shrinkage(ridge, 1.0, power) for ridge in RIDGES for power in POWERS])]
        fitted = [
            Shrinkage(ridge, each)
            for each in (towards if rank <= LARGEST_SHRUNK else ends)
            for ridge in RIDGES
        ]
        simple = [Shrinkage(np.inf, each) for each in towards]
        return [(True, fitted + simple), (False, simple)]

    def _map_errors(
        self, number: int, anomalies: Anomalies, matrices: Array, constants: Array
    ) -> Array:
        """(maps,) mean squared errors of whole states over the forecasts of a split."""
        target, (count, rank) = self._target(number, anomalies), constants.shape
        leads = self.splits[number].leads
        with np.errstate(over="ignore", invalid="ignore"):
            power = powered(matrices, constants, int(leads[0]))
            start = np.c_[target.start[:, :rank], np.ones(len(target.start))]
            state = np.broadcast_to(start, (count, *start.shape))
            total = np.zeros(count)
            for place in range(len(leads)):
                state = state @ power
                missed = np.square(state[:, :, :rank] - target.truth[:, place, :rank]).sum(2)
                total += missed @ target.known[:, place]
        total = np.where(np.isfinite(total), total, np.inf)
        return (total + target.outside[rank - 1]) / target.known.sum()

    def _target(self, number: int, anomalies: Anomalies) -> _Target:
        if anomalies not in self._targets:
            split, length = self.splits[number], len(self.record)
            self._targets[anomalies] = _Target.of(split, anomalies, length)
        return self._targets[anomalies]

    def _mean(self, errors: Array, weights: Array) -> float:
        errors = errors + ROUND_OFF * self.variance
        if self.many:  # trajectories are samples of one thing: their errors are averaged
            return float(np.log(errors.mean()))
        return float((np.log(errors) * weights).sum() / weights.sum())


def _add(
    table: dict[Candidate, list[float]], tried: Iterable[list[tuple[Candidate, float]]]
) -> None:
    """Append errors to those that are known."""
    for found in tried:
        for candidate, error in found:
            table.setdefault(candidate, []).append(error)


@dataclass(frozen=True, eq=False)
class _Target:
    """What the forecasts of a split should be.

    Args:
        start: (forecasts, most) states they start from.
        truth: (forecasts, leads, most) states they should reach.
        known: (forecasts, leads) 1 where these are known, else 0.
        outside: (most,) sum of squares outside the first directions, for any number of them.
    """

    start: Array
    truth: Array
    known: Array
    outside: Array

    @classmethod
    def of(cls, split: Split, anomalies: Anomalies, length: int) -> _Target:
        rows = np.minimum(split.origins[:, None] + split.leads, length - 1)
        truth, known = anomalies.states[rows], split.known.astype(np.float64)
        whole = float((np.square(anomalies.departures[rows]).sum(2) * known).sum())
        inside = np.cumsum((np.square(truth) * known[..., None]).sum((0, 1)))
        return cls(anomalies.states[split.origins], truth, known, np.maximum(whole - inside, 0.0))


def powered(matrices: Array, constants: Array, power: int) -> Array:
    """(maps, r + 1, r + 1) acting on rows (b, 1), over `power` steps."""
    count, rank = constants.shape
    found = np.zeros((count, rank + 1, rank + 1))
    found[:, :rank, :rank], found[:, rank, :rank], found[:, rank, rank] = matrices, constants, 1
    return np.asarray(np.linalg.matrix_power(found, power))
