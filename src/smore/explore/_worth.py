"""How long a forecast is worth anything: expected and measured errors beside simple forecasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.analysis import told_share
from smore.explore._forecasts import Shown
from smore.explore._places import Places
from smore.explore._truth import Truth
from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]

# Steps at which errors are computed, and points of the data at which they are measured.
MOST_STEPS, MOST_POINTS = 64, 2048
# A forecast that has lost this share of its worth is worth little.
HALF = 0.5


@dataclass(frozen=True, eq=False)
class Worth:
    """Errors of one channel over time, root mean squares over the domain in the data's units.

    Args:
        steps: (n,) of the page at which they are.
        expected: (n,) the error bar.
        climatology: what knowing nothing but the training data leaves open.
        measured: (n,) the error of the forecast, NaN where there are no data; None without data.
        persistence: (n,) the error of data that are taken to stay as they are; None as above.
        climatology_measured: (n,) the error of the mean of the training data; None as above.
    """

    steps: NDArray[np.intp]
    expected: FloatArray
    climatology: float
    measured: FloatArray | None = None
    persistence: FloatArray | None = None
    climatology_measured: FloatArray | None = None

    @property
    def explained(self) -> FloatArray:
        """(n,) share of the variance that the forecast is expected to explain."""
        return 1 - (self.expected / max(self.climatology, np.finfo(float).tiny)) ** 2

    def words(self, told: Callable[[int], str], *, furthest: bool = False) -> list[str]:
        """When it stops being worth anything, in a sentence or two.

        Args:
            told: the time of a step, in words.
            furthest: whether nobody can look further ahead.
        """
        found = [self._expected_words(told, furthest)]
        if self.measured is not None and np.isfinite(self.measured[1:]).any():
            found.append(self._measured_words(told))
        return found

    def _expected_words(self, told: Callable[[int], str], furthest: bool) -> str:
        if self.explained[0] <= 0:
            return (
                "Not worth anything: what is observed leaves as much open as knowing nothing but "
                "the training data. Place sensors, or better ones."
            )
        end, faded = self._below(0.0), self._below(HALF)
        half = ""
        if faded is not None and faded != end:
            half = f" Half of its worth is gone by {told(faded)}."
        if end is not None:
            return (
                f"Worth nothing from {told(end)} on: there its expected error reaches that of "
                f"climatology.{half}"
            )
        more = "" if furthest else " To see where that ends, look further ahead."
        last = told_share(float(self.explained[-1]))
        return (
            f"Still worth something at {told(int(self.steps[-1]))}, the last time shown: it is "
            f"expected to explain {last} of the variance there.{half}{more}"
        )

    def _below(self, level: float) -> int | None:
        """The step from which on no more than a share is explained; None if it is to the end."""
        above = np.flatnonzero(self.explained > level)
        last = int(above[-1]) if len(above) else -1
        return int(self.steps[last + 1]) if last + 1 < len(self.steps) else None

    def _measured_words(self, told: Callable[[int], str]) -> str:
        assert self.measured is not None
        assert self.climatology_measured is not None
        known = np.flatnonzero(np.isfinite(self.measured) & (self.steps > 0))
        beaten = known[self.measured[known] >= self.climatology_measured[known]]
        if len(beaten) and beaten[0] == known[0]:
            return "Against the data it is no better than climatology from the first step on."
        if len(beaten):
            return (
                "Against the data it is better than climatology until "
                f"{told(int(self.steps[beaten[0] - 1]))}."
            )
        return f"Against the data it beats climatology up to {told(int(self.steps[known[-1]]))}."


def worth_of(
    surrogate: Surrogate,
    shown: Shown,
    places: Places,
    channel: int,
    against: Compared | None,
) -> Worth:
    """Errors over time of what is shown.

    Args:
        surrogate: the model.
        shown: states and errors at all times.
        places: over which error bars are averaged.
        channel: which.
        against: data to compare with.
    """
    count = len(shown.instants)
    steps = np.arange(count)
    if count > MOST_STEPS:  # close to each other where a forecast changes most
        later = np.geomspace(1, count - 1, MOST_STEPS).round().astype(int)
        steps = np.unique(np.append(0, later))
    expected = shown.spread(places, channel, steps.tolist())
    usual = places.usual_deviation(channel, shown.growth).astype(np.float64) ** 2
    climatology = places.mean(channel, np.nan_to_num(usual)) ** 0.5
    if against is None:
        return Worth(steps, expected, climatology)
    return Worth(steps, expected, climatology, *against.errors(surrogate, shown, steps, channel))


class Compared:
    """A sequence of the data from a snapshot on, at some of its points.

    Args:
        truth: the data.
        surrogate: the model.
        sequence: which.
        origin: the snapshot at which forecasts start.
    """

    def __init__(self, truth: Truth, surrogate: Surrogate, sequence: int, origin: int) -> None:
        self.truth, self.sequence, self.origin = truth, sequence, origin
        mesh = truth.mesh(sequence)
        count = mesh.num_points
        chosen = np.arange(count)
        if count > MOST_POINTS:
            chosen = np.sort(np.random.default_rng(0).permutation(count)[:MOST_POINTS])
        self.points = chosen
        self.places = Places(surrogate, mesh.subset(chosen))

    def errors(
        self, surrogate: Surrogate, shown: Shown, steps: Sequence[int] | NDArray, channel: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(steps,) of the forecast, of persistence and of climatology; NaN without a snapshot."""
        first = self._values(self.origin, channel)
        usual = self.places.field(channel, surrogate.prior.mean)
        found = np.full((3, len(steps)), np.nan)
        for at, step in enumerate(steps):
            index = self.truth.index_at(self.sequence, float(shown.instants[step]))
            if index is None:
                continue
            true = self._values(index, channel)
            forecast = self.places.field(channel, shown.state(int(step)))
            found[:, at] = [self._error(each, true) for each in (forecast, first, usual)]
        return found[0], found[1], found[2]

    def _values(self, index: int, channel: int) -> FloatArray:
        return self.truth.fields(self.sequence, index)[channel, self.points]

    def _error(self, found: NDArray, true: FloatArray) -> float:
        missed = (found - true) ** 2
        known = np.isfinite(missed)
        if not known.any():
            return np.nan
        weights = self.places.mesh.weights[known]
        return float(np.average(missed[known], weights=weights)) ** 0.5
