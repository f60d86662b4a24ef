"""What a comparison found, for tables, figures and programs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from smore.evaluation import ALIKE
from smore.runtime import html_table, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = [
    "squared error per variance", "median", "of seeds", "over best", "first step", "last step",
    "fit, s", "forecast, s",
]  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """One fit of a method, scored.

    Attributes:
        seed: of its random numbers; None where there are none.
        error: mean squared error of all forecasts over the variance of the training data, by
            channel; infinite where a forecast overflowed.
        by_lead: the same, step by step.
        fit_seconds, forecast_seconds: wall-clock time, the latter of all forecasts together.
    """

    seed: int | None
    error: float
    by_lead: tuple[float, ...]
    fit_seconds: float
    forecast_seconds: float


@dataclass(frozen=True)
class ModelScores:
    """All fits of a method, or why there is none."""

    name: str
    fits: tuple[Fit, ...] = ()
    failure: str | None = None

    @property
    def error(self) -> float:
        """The median over seeds; infinite for a method that failed."""
        return float(np.median([fit.error for fit in self.fits])) if self.fits else math.inf

    @property
    def spread(self) -> tuple[float, float]:
        """The smallest and the largest error of a seed."""
        errors = [fit.error for fit in self.fits] or [math.inf]
        return min(errors), max(errors)

    @property
    def by_lead(self) -> tuple[float, ...]:
        """The median over seeds, step by step."""
        return tuple(np.median([fit.by_lead for fit in self.fits], axis=0).tolist())

    def seconds(self, what: str) -> float:
        return float(np.median([getattr(fit, f"{what}_seconds") for fit in self.fits]))


@dataclass(frozen=True)
class Comparison:
    """Several methods on the same forecasts.

    Attributes:
        num_origins: how many forecasts each method made.
        leads: numbers of steps ahead.
        models: in the order in which they were asked for.
    """

    num_origins: int
    leads: tuple[int, ...]
    models: tuple[ModelScores, ...]

    @property
    def ranked(self) -> list[ModelScores]:
        """The best first."""
        return sorted(self.models, key=lambda model: model.error)

    def verdict(self) -> str:
        """Who is best, and whether that is more than the luck of a seed."""
        best, *rest = self.ranked
        if not math.isfinite(best.error):
            return "no model made a forecast"
        if not rest or not math.isfinite(rest[0].error):
            told = f"{best.name} is the only one that forecast"
            return f"{told}, of those that ran" if self.failures() else told
        second = rest[0]
        if best.error >= (1 - ALIKE) * second.error:
            told = f"{best.name} and {second.name} are alike"
            return f"{told}, the best of those that ran" if self.failures() else told
        ran = " of those that ran" if self.failures() else ""
        told = f"{best.name} is best{ran}: {show(best.error / second.error)} times the error of "
        told += second.name
        if best.spread[1] >= second.spread[0]:
            told += "; that is no more than what seeds make"
        return told

    def table(self) -> tuple[str, list[str], list[list[Any]]]:
        """A title, columns and rows, the best first."""
        title = f"{self.num_origins} forecasts each, up to {self.leads[-1]} steps ahead"
        return title, COLUMNS, [self._row(model) for model in self.ranked]

    def _row(self, model: ModelScores) -> list[Any]:
        if model.failure is not None:
            return [model.name, "failed", *[None] * (len(COLUMNS) - 2)]
        low, high = model.spread
        spread = f"{show(low)} to {show(high)}" if len(model.fits) > 1 else None
        ratio = model.error / self.ranked[0].error if self.ranked[0].error > 0 else None
        ends = [model.by_lead[0], model.by_lead[-1]]
        times = [round(model.seconds("fit"), 2), round(model.seconds("forecast"), 3)]
        return [model.name, model.error, spread, ratio, *ends, *times]

    def failures(self) -> list[str]:
        """What went wrong, a line for every method that failed."""
        return [f"{each.name}: {each.failure}" for each in self.models if each.failure is not None]

    def figure(self) -> Figure:
        """Errors against lead time, with the spread over seeds."""
        from smore.comparison._figure import comparison_figure  # only those who draw

        return comparison_figure(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"verdict": self.verdict()}

    def _repr_html_(self) -> str:
        title, columns, rows = self.table()
        return html_table(title, rows, columns, [self.verdict(), *self.failures()])
