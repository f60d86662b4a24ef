"""How often the truth is inside a model's intervals, and how much too wide or narrow these are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

LEVELS = (0.5, 0.8, 0.9, 0.95)
# Levels of the reliability curve.
CURVE = tuple(round(0.05 * number, 2) for number in range(1, 20))
# The level that says how much too wide intervals are, and factors that are as good as 1.
JUDGED, ABOUT_RIGHT = 0.9, 1.25
# Departures in standard deviations are counted in bins this fine, borders of levels among them.
_FINE = np.logspace(-4, 6, 1001)


def half_width(level: float) -> float:
    """Of the central interval of a standard Gaussian that holds a share `level`."""
    return float(ndtri((1 + level) / 2))


_EDGES = np.unique(np.concatenate([_FINE, [half_width(level) for level in CURVE]]))


class Departures:
    """How far the truth was from forecasts, in standard deviations, counted by lead."""

    def __init__(self, num_leads: int) -> None:
        self.counts = np.zeros((num_leads, len(_EDGES) + 1), dtype=np.int64)

    def add(self, place: int, departures: NDArray[np.float64]) -> None:
        """Absolute departures (any shape) at one lead, over their standard deviations."""
        bins = np.searchsorted(_EDGES, departures.ravel(), side="left")
        self.counts[place] += np.bincount(bins, minlength=len(_EDGES) + 1)

    def calibration(self) -> Calibration:
        """What was counted."""
        total = self.counts.sum(0)
        places = [int(np.searchsorted(_EDGES, half_width(level))) for level in CURVE]
        below = np.cumsum(self.counts, axis=1)
        by_lead = {
            level: tuple(
                float(row[places[CURVE.index(level)]] / row[-1]) if row[-1] else None
                for row in below
            )
            for level in LEVELS
        }
        overall = np.cumsum(total)
        curve = tuple(float(overall[place] / max(overall[-1], 1)) for place in places)
        reached = int(np.searchsorted(overall, JUDGED * overall[-1]))
        needed = _EDGES[min(reached, len(_EDGES) - 1)]
        return Calibration(
            coverage={level: curve[CURVE.index(level)] for level in LEVELS},
            by_lead=by_lead,
            curve=curve,
            factor=float(half_width(JUDGED) / needed),
        )


@dataclass(frozen=True)
class Calibration:
    """Shares of true values inside central intervals.

    Args:
        coverage: of all leads together, by level.
        by_lead: the same of every lead; None where nothing was observed.
        curve: of all leads together at levels CURVE.
        factor: by which intervals are too wide, so that 90% of them would hold after division;
            below 1 they are too narrow.
    """

    coverage: dict[float, float]
    by_lead: dict[float, tuple[float | None, ...]]
    curve: tuple[float, ...]
    factor: float

    def verdict(self) -> str:
        """Whether the error bars are of the right size."""
        share = f"90% intervals hold {self.coverage[JUDGED]:.0%} of the true values"
        if self.factor > ABOUT_RIGHT:
            return f"{share}: too wide by a factor of about {self.factor:.2g}."
        if self.factor < 1 / ABOUT_RIGHT:
            return f"{share}: too narrow by a factor of about {1 / self.factor:.2g}."
        return f"{share}: about right."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "coverage": {str(level): share for level, share in self.coverage.items()},
            "by_lead": {str(level): shares for level, shares in self.by_lead.items()},
            "levels": CURVE,
            "curve": self.curve,
            "too_wide_by": self.factor,
            "verdict": self.verdict(),
        }


def gaussian_crps(
    departures: NDArray[np.float64], deviations: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Continuous ranked probability score of Gaussians, σ [z (2Φ(z) - 1) + 2φ(z) - 1/√π].

    Args:
        departures: of the truth from the mean.
        deviations: σ, positive.
    """
    z = departures / deviations
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(deviations * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi)))
