"""Departures from a centre that was learned from some rows of a record, and maps of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from smore.dynamics import centre_functions
from smore.training.dynamics.forced.candidates import CentreKind, Shrinkage, Size
from smore.training.dynamics.forced.record import Array, Record

EPSILON = float(np.finfo(float).eps)
# Directions of departures that a map may be fitted to.
MOST_DIRECTIONS = 400
# Frequencies are looked for in so many leading directions, must turn this often within the
# record, and are refined on grids of this share of 1 / length.
SEARCHED, LEAST_TURNS, REFINED = 20, 3.0, (0.3, 0.06)


@dataclass(frozen=True, eq=False)
class Centre:
    """m(t) = Σ f_k(t) m_k.

    Args:
        frequencies: (periods,).
        trend: (2,), see `ForcedLinear`.
        weights: (2 + 2 periods, R).
    """

    frequencies: Array
    trend: Array
    weights: Array

    @classmethod
    def fit(
        cls, record: Record, training: NDArray[np.bool_], kind: CentreKind, frequencies: Array
    ) -> Centre:
        """Least squares on the training rows."""
        times = record.times[training]
        span = max(float(times.max() - times.min()), record.step)
        trend = np.array([times.mean(), 1 / span if kind.trend else 0.0])
        functions = functions_of(times, frequencies, trend)
        weights = np.asarray(np.linalg.lstsq(functions, record.states[training], rcond=None)[0])
        return cls(frequencies, trend, weights)

    def at(self, times: Array) -> Array:
        return functions_of(times, self.frequencies, self.trend) @ self.weights


def functions_of(times: Array, frequencies: Array, trend: Array) -> Array:
    """See `centre_functions`."""
    parts = (torch.as_tensor(each) for each in (times, frequencies, trend))
    return centre_functions(*parts).numpy()


class Anomalies:
    """Departures of all rows from a centre, in the leading directions of the training rows.

    Attributes:
        centre: of the training rows.
        departures: (rows, R).
        sizes: singular values of the training rows' departures, falling.
        directions: (R, most) leading directions.
        states: (rows, most) departures along these.
    """

    def __init__(
        self, record: Record, training: NDArray[np.bool_], kind: CentreKind, frequencies: Array
    ) -> None:
        self.centre = Centre.fit(record, training, kind, frequencies)
        self.departures = record.states - self.centre.at(record.times)
        _, self.sizes, right = np.linalg.svd(self.departures[training], full_matrices=False)
        self.count = int(training.sum())
        known = int((self.sizes > 0.1 * EPSILON * self.sizes[0]).sum())
        most = max(1, min(MOST_DIRECTIONS, self.count - 3, known))
        self.directions = right[:most].T
        self.states = self.departures @ self.directions
        before = record.pairs(training)
        self._regression = _Regression(self.states[before], self.states[before + 1])

    def rank(self, size: Size) -> int:
        """How many directions a size stands for."""
        most = self.directions.shape[1]
        if size.number is not None:
            return min(most, size.number)
        above = self.sizes[:most] > size.level * self.sizes[0]
        return max(1, int(above.sum()))

    def maps(self, rank: int, drift: bool, tried: Sequence[Shrinkage]) -> tuple[Array, Array]:
        """M (tried, rank, rank) and c (tried, rank) of b ↦ b M + c; c = 0 without a drift."""
        if not drift:
            assert all(np.isinf(each.ridge) for each in tried)  # such maps are not fitted
            matrices = np.array([each.towards * np.eye(rank) for each in tried])
            return matrices, np.zeros(matrices.shape[:2])
        variances = self.sizes[:rank] ** 2 / self.count
        return self._regression.solve(tried, variances, self.count)


class _Regression:
    """Least squares from states to those that follow, with a constant term.

    One decomposition serves every rank.
    """

    def __init__(self, before: Array, after: Array) -> None:
        dim = before.shape[1]
        self.before, self.after = (
            each.mean(0) if len(each) else np.zeros(dim) for each in (before, after)
        )
        left, self.root = np.linalg.qr(before - self.before)
        self.image = left.T @ (after - self.after)

    def solve(
        self, tried: Sequence[Shrinkage], variances: Array, count: int
    ) -> tuple[Array, Array]:
        """See `Anomalies.maps`; variances (rank,) of the directions."""
        rank = len(variances)
        rows, matrices = min(len(self.root), rank), []
        fitted: dict[tuple[float, float], tuple[Array, Array]] = {}
        decomposed: dict[float, tuple[Array, Array, Array, Array]] = {}
        for ridge, towards, power in tried:
            if power not in decomposed:
                weight = (np.maximum(variances, 1e-300) / variances[0]) ** (power / 2)
                scaled = self.root[:rows, :rank] / weight
                left, singular, right = np.linalg.svd(scaled, full_matrices=False)
                decomposed[power] = left.T @ self.image[:rows, :rank], singular, right, weight
            if (ridge, power) not in fitted:
                image, singular, right, weight = decomposed[power]
                inverse = np.zeros(len(singular))
                kept = singular > max(count, rank) * EPSILON * max(singular[0], 1e-300)
                if np.isfinite(ridge):
                    inverse[kept] = singular[kept] / (singular[kept] ** 2 + ridge * variances[0])
                solved = (right.T * inverse) @ image / weight[:, None]
                known = (right.T * (inverse * singular)) @ right * weight / weight[:, None]
                fitted[ridge, power] = solved, np.eye(rank) - known
            solved, left_open = fitted[ridge, power]
            matrices.append(solved + towards * left_open)
        found = np.array(matrices)
        return found, self.after[:rank] - self.before[:rank] @ found


def strongest_frequencies(record: Record, training: NDArray[np.bool_], count: int) -> Array:
    """Turns per unit of model time that explain most of the training rows, one after the other."""
    times, states = record.times[training], record.states[training]
    left, sizes, _ = np.linalg.svd(states - states.mean(0), full_matrices=False)
    states = (left * sizes)[:, :SEARCHED]
    span = float(times.max() - times.min()) + record.step
    number = 4 * round(span / record.step)
    base = np.arange(1, number // 2 + 1) / (number * record.step)
    enough = base * span >= LEAST_TURNS
    if not enough.any():
        return np.zeros(0)
    places = np.round((times - times.min()) / record.step).astype(int)
    none = np.zeros(2)

    def strength(rest: Array) -> Array:
        """(frequencies,) of what is not explained yet, rows put where their times are."""
        grid = np.zeros((number, rest.shape[1]))
        grid[places] = rest
        return np.asarray(np.square(np.abs(np.fft.rfft(grid, axis=0)[1:])).sum(1) * enough)

    def explained(frequencies: list[float]) -> Array:
        functions = functions_of(times, np.array(frequencies), none)
        return np.linalg.qr(np.delete(functions, 1, axis=1))[0]  # without the line

    found: list[float] = []
    while len(found) < count:
        basis = explained(found)
        rest = states - basis @ (basis.T @ states)
        found.append(float(base[strength(rest).argmax()]))
        for width in REFINED:
            for place in range(len(found)):
                tried = found[place] + np.linspace(-width, width, 9) / span
                energies = [
                    float(((explained(_with(found, place, each)).T @ states) ** 2).sum())
                    for each in tried
                ]
                found[place] = float(tried[int(np.argmax(energies))])
    return np.array(found)


def _with(values: list[float], place: int, value: float) -> list[float]:
    return [*values[:place], value, *values[place + 1 :]]
