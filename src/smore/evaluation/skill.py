"""Skill against lead time: forecasts from many origins of a record, beside simple ones.

Scores are sums over values until the very end, so that records of any length are looked at a few
snapshots at a time.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smore.evaluation.calibration import Calibration
from smore.evaluation.words import ALIKE, steps_in_words, times_as_large

# Errors are as good as none below this share of the variance of the training data.
SOLVED = 1e-6
# A forecast is valid while its error is below this share of climatology's, as root mean squares.
VALID = 0.5

NAMES = {
    "persistence": "persistence",
    "climatology": "climatology",
    "monthly": "monthly climatology",
    "dmd": "a plain DMD",
}

ByLead = tuple[float | None, ...]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class LeadScores:
    """Scores of values with one weighting, by lead; `None` where nothing was observed.

    Args:
        mse: of the model and of every reference that could be computed; per value, the data's
            units squared.
        nmse: the same, each channel over its variance in the training data.
        full_nmse: of all leads together.
        anomaly_correlation: correlation of departures from climatology (the monthly one, where
            there is one), each channel over its standard deviation; of all but climatologies.
        crps: continuous ranked probability score of the model's Gaussian, each channel over its
            standard deviation; None without error bars.
        spread: root mean variance that the model expects, likewise.
    """

    mse: dict[str, ByLead]
    nmse: dict[str, ByLead]
    full_nmse: dict[str, float | None]
    anomaly_correlation: dict[str, ByLead]
    crps: ByLead | None
    spread: ByLead | None

    @property
    def spread_over_error(self) -> ByLead | None:
        """Expected over actual error, 1 for error bars of the right size."""
        if self.spread is None:
            return None
        pairs = zip(self.spread, self.nmse["model"], strict=True)
        return tuple(s / math.sqrt(e) if s is not None and e else None for s, e in pairs)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self) | {"spread_over_error": self.spread_over_error}


@dataclass(frozen=True)
class Skill:
    """Forecasts from several origins of every sequence, scored by how far ahead they reach.

    Args:
        num_origins: forecasts.
        leads: steps ahead that are scored.
        scores: every value counts alike.
        weighted: every value counts by the area, or volume, that its point stands for; None where
            all stand for the same.
        calibration: how often the truth was inside the model's intervals; None without error bars.
        absent: references that are not shown, and why.
        dmd_rank: of the plain DMD.
        on_sphere: whether weights are areas on a sphere.
    """

    num_origins: int
    leads: tuple[int, ...]
    scores: LeadScores
    weighted: LeadScores | None
    calibration: Calibration | None
    absent: dict[str, str]
    dmd_rank: int | None
    on_sphere: bool

    @property
    def valid_steps(self) -> int | None:
        """The last lead before the error first passes VALID times that of climatology."""
        climate = self.scores.full_nmse.get("climatology")
        if climate is None:
            return None
        valid = 0
        for lead, error in zip(self.leads, self.scores.nmse["model"], strict=True):
            if error is not None and not error <= max(VALID**2 * climate, SOLVED):
                break
            valid = lead
        return valid

    @property
    def ratios(self) -> dict[str, float]:
        """Error of every reference over the model's; 1 where both are as good as none."""
        known = self.scores.full_nmse
        return {
            name: _ratio(error, known["model"])
            for name, error in known.items()
            if name != "model" and error is not None
        }

    @property
    def beats_references(self) -> bool:
        """Whether no reference is better, all leads together."""
        return all(ratio >= 1 - ALIKE for ratio in self.ratios.values())

    def verdict(self) -> str:
        """What is better, and by how much, in a sentence or two."""
        better = {name: 1 / r for name, r in self.ratios.items() if not r >= 1 - ALIKE}
        if better:
            best = max(better, key=lambda name: better[name])
            others = [NAMES[name] for name in better if name != best]
            beside = f" (and so is {' and '.join(others)})" if others else ""
            first = (
                f"{_capital(NAMES[best])} is better here{beside}: the model's error is "
                f"{times_as_large(better[best])} times as large."
            )
        else:
            first = f"The model is {self._how_good()}."
        return " ".join([first, *self._by_lead(better)])

    def _how_good(self) -> str:
        alike = [NAMES[name] for name, ratio in self.ratios.items() if ratio <= 1 + ALIKE]
        below = [
            f"{times_as_large(ratio)} times below {NAMES[name]}"
            for name, ratio in self.ratios.items()
            if ratio > 1 + ALIKE
        ]
        parts = [f"as good as {' and '.join(alike)}"] if alike else []
        parts += [f"better: its error is {', '.join(below)}"] if below else []
        return "; it is ".join(parts) or "not compared with anything"

    def _by_lead(self, better: dict[str, float]) -> list[str]:
        """At which leads some reference is better that is not so altogether."""
        told = []
        for name, errors in self.scores.nmse.items():
            if name == "model" or name in better:
                continue
            pairs = zip(self.leads, self.scores.nmse["model"], errors, strict=True)
            known = [(lead, own, other) for lead, own, other in pairs if other is not None]
            worse = [
                lead
                for lead, own, other in known
                if not _counted(own) <= (1 + ALIKE) * _counted(other)
            ]
            if worse:
                where = steps_in_words(worse, [lead for lead, _, _ in known])
                told.append(f"{_capital(NAMES[name])} is better {where}.")
        return told

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "num_origins": self.num_origins,
            "leads": self.leads,
            **self.scores.to_dict(),
            "weighted": None if self.weighted is None else self.weighted.to_dict(),
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
            "valid_steps": self.valid_steps,
            "valid_threshold": VALID,
            "absent": self.absent,
            "dmd_rank": self.dmd_rank,
            "beats_references": self.beats_references,
            "verdict": self.verdict(),
        }


def _counted(error: float | None) -> float:
    """An error as it is compared: what cannot be seen is none, what is no number is infinite."""
    if error is None or not math.isfinite(error):
        return math.inf
    return max(error, SOLVED)


def _ratio(reference: float, model: float | None) -> float:
    """How many times the model's error a reference has; what is as good as none is not better."""
    counted = _counted(reference), _counted(model)
    if counted == (math.inf, math.inf):
        return 1.0
    if counted[0] > counted[1]:
        return reference / max(model or 0.0, 1e-300) if math.isfinite(counted[0]) else math.inf
    return counted[0] / counted[1]


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


class SkillSums:
    """Sums of one weighting, to which forecasts are added some snapshots at a time.

    Args:
        num_leads: how many leads there are.
        variance: (channels,) over the training data.
    """

    def __init__(self, num_leads: int, variance: Values) -> None:
        self.shape, self.variance = (num_leads, len(variance)), variance
        self.squared: dict[str, Values] = {}
        self.count: dict[str, Values] = {}
        self.products: dict[str, Values] = {}
        self.crps, self.expected, self.barred = (np.zeros(self.shape) for _ in range(3))

    def add_errors(self, name: str, places: slice, errors: Values, weights: Values) -> None:
        """Errors (leads, channels, points) at leads `places`; weights are 0 where none is known."""
        for table, values in ((self.squared, errors**2), (self.count, np.ones(()))):
            total = table.setdefault(name, np.zeros(self.shape))
            with np.errstate(over="ignore", invalid="ignore"):
                total[places] += (weights * values).sum(-1)

    def add_anomalies(
        self,
        name: str,
        places: slice,
        forecast: Values,
        truth: Values,
        weights: Values,
    ) -> None:
        """Departures from climatology, likewise."""
        total = self.products.setdefault(name, np.zeros((3, *self.shape)))
        for part, product in zip(total, (forecast * truth, forecast**2, truth**2), strict=True):
            part[places] += (weights * product).sum(-1)

    def add_spread(
        self,
        places: slice,
        deviation: Values,
        crps: Values,
        weights: Values,
    ) -> None:
        """Standard deviations of the model and its CRPS, likewise."""
        self.expected[places] += (weights * deviation**2).sum(-1)
        self.crps[places] += (weights * crps).sum(-1)
        self.barred[places] += weights.sum(-1)

    def scores(self) -> LeadScores:
        """What the sums say."""
        nmse, full = {}, {}
        for name, sums in self.squared.items():
            count = self.count[name]
            nmse[name] = _means((sums / self.variance).sum(1), count.sum(1))
            (full[name],) = _means([(sums / self.variance).sum()], [count.sum()])
        deviation, known = np.sqrt(self.variance), self.barred.sum(1)
        spread = _means((self.expected / self.variance).sum(1), known)
        return LeadScores(
            mse={n: _means(s.sum(1), self.count[n].sum(1)) for n, s in self.squared.items()},
            nmse=nmse,
            full_nmse=full,
            anomaly_correlation={n: self._correlation(each) for n, each in self.products.items()},
            crps=_means((self.crps / deviation).sum(1), known) if known.any() else None,
            spread=tuple(None if s is None else math.sqrt(s) for s in spread)
            if known.any()
            else None,
        )

    def _correlation(self, products: Values) -> ByLead:
        cross, own, other = (products / self.variance).sum(2)
        size = np.sqrt(own * other)
        return _means(np.where(size > 0, cross, 0), size)


def _means(total: Any, count: Any) -> ByLead:
    pairs = zip(np.asarray(total), np.asarray(count), strict=True)
    return tuple(float(t / c) if c > 0 else None for t, c in pairs)
