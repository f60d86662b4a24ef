"""Which sensors to believe: every reading is compared with what all others and the past say.

With innovations ν ~ N(0, S), z_i = (S⁻¹ν)_i / √(S⁻¹)_ii is the deviation of reading i from its
prediction by all the others, and N(0, 1) if sensor and model are right. The worst one is taken out
first and the others judged again without it, since a broken sensor makes its neighbours look wrong.
A sensor that is off again and again is taken out as a whole, watched on, and taken back in when it
has been right for a while.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from smore.assimilation.kalman import Array, Innovation
from smore.assimilation.stream import Stream

# A single reading is not taken beyond so many deviations.
GROSS = 4.0
# Readings of a sensor that are looked at together, and how unlikely they have to be.
WINDOW = 10
UNLIKELY = 1e-6
# Readings in a row within so many deviations bring a sensor back.
BACK_AFTER, BACK_WITHIN = 5, 3.0


@dataclass
class SensorRecord:
    """What is known about one sensor and channel.

    Attributes:
        recent: its last deviations.
        out: whether it is taken out.
        gross: readings beyond `GROSS`.
        rejected: readings that were not taken.
        total: readings.
        was_out: whether it was ever taken out.
        worst: largest deviation.
    """

    recent: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    out: bool = False
    was_out: bool = False
    gross: int = 0
    rejected: int = 0
    total: int = 0
    worst: float = 0.0
    mean: float = 0.0

    def add(self, deviation: float) -> None:
        """One more reading."""
        self.recent.append(deviation)
        self.total += 1
        self.mean += (deviation - self.mean) / self.total
        self.worst = max(self.worst, abs(deviation))
        self.gross += abs(deviation) > GROSS
        if self.out:
            last = list(self.recent)[-BACK_AFTER:]
            self.out = len(last) < BACK_AFTER or max(map(abs, last)) > BACK_WITHIN
            if not self.out:
                self.recent.clear()
        elif self.looks_broken:
            self.out = self.was_out = True

    @property
    def fault(self) -> str:
        """What is wrong with it, as far as its deviations tell."""
        if self.total and self.gross <= 0.3 * self.total and abs(self.mean) < 2:
            return f"{self.gross} spikes"
        return f"off by {self.mean:+.1f} deviations on average, by {self.worst:.1f} at worst"

    @property
    def looks_broken(self) -> bool:
        """Whether its recent deviations are too large, or too much to one side."""
        recent = np.array(self.recent)
        count = len(recent)
        if count < 2:
            return False
        clipped = np.clip(recent, -2 * GROSS, 2 * GROSS)
        too_large = chdtrc(count, float(clipped @ clipped)) < UNLIKELY
        to_one_side = 2 * ndtr(-abs(clipped.sum()) / count**0.5) < UNLIKELY
        return bool(too_large or to_one_side)


class Watch:
    """Records of all sensors.

    A sensor is out with all of its channels: what broke one of them seldom spares the others.

    Args:
        out: names of sensors that are not to be believed at all.
    """

    def __init__(self, out: Iterable[str] = ()) -> None:
        self.out = frozenset(out)
        self.records: dict[tuple[str, int], SensorRecord] = {}

    @property
    def broken(self) -> set[str]:
        """Names of sensors that were taken out at some time."""
        return {name for (name, _), record in self.records.items() if record.was_out}

    @property
    def now_out(self) -> set[str]:
        """Names of sensors that are not believed now."""
        return {name for (name, _), record in self.records.items() if record.out} | self.out

    def record(self, name: str, channel: int) -> SensorRecord:
        """That of a sensor and channel."""
        return self.records.setdefault((name, channel), SensorRecord())

    def judge(
        self, innovation: Innovation, readings: Stream, tolerance: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        """(m,) deviations of every reading from those that are believed, and which these are.

        Args:
            innovation: of all readings.
            readings: whose they are.
            tolerance: (channels,) what counts as one deviation, at least 1.
        """
        allowed = tolerance[readings.channels]
        covariance = innovation.root @ innovation.root.T
        names = [readings.names[sensor] for sensor in readings.sensors]
        records = [
            self.record(name, int(channel))
            for name, channel in zip(names, readings.channels, strict=True)
        ]
        out = self.now_out
        taken = np.array([name not in out for name in names])
        while taken.any():
            deviations = _deviations(innovation.values, covariance, taken) / allowed
            worst = int(np.argmax(np.where(taken, np.abs(deviations), 0.0)))
            if abs(deviations[worst]) <= GROSS:
                break
            taken[worst] = False
        deviations = _deviations(innovation.values, covariance, taken) / allowed
        for record, deviation in zip(records, deviations, strict=True):
            record.add(float(deviation))
        out = self.now_out
        taken &= np.array([name not in out for name in names])
        for record, used in zip(records, taken, strict=True):
            record.rejected += not used
        return deviations, taken


def _deviations(values: Array, covariance: Array, taken: NDArray[np.bool_]) -> Array:
    """(m,) of every reading from what those taken say, itself left out."""
    found = np.zeros(len(values))
    inside, outside = np.flatnonzero(taken), np.flatnonzero(~taken)
    if not len(inside):
        return values / np.sqrt(np.diagonal(covariance))
    inverse = np.linalg.inv(covariance[np.ix_(inside, inside)])
    pulled = inverse @ values[inside]
    found[inside] = pulled / np.sqrt(np.diagonal(inverse))
    if len(outside):
        crossed = covariance[np.ix_(outside, inside)]
        left = np.diagonal(covariance)[outside] - ((crossed @ inverse) * crossed).sum(1)
        missed = values[outside] - crossed @ pulled
        found[outside] = missed / np.sqrt(left.clip(min=1e-300))
    return found
