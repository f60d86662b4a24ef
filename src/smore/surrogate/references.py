"""What a forecast has to beat, learned from the training data and kept with the model.

The mean of the data, that of every calendar month where dates cover years, and a plain POD + DMD.
They are of the data themselves, at the points of the training mesh: no decoder flatters them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.data import Clock, month_numbers
from smore.surrogate.pod_dmd import PodDmd

MONTHS = 12


@dataclass(frozen=True, eq=False)
class References:
    """Simple forecasts, in normalised units; 0 where a channel was never observed.

    Args:
        mean: (channels, points) of all training snapshots.
        monthly: (12, channels, points) of those of each calendar month; None where dates do not
            cover two years.
        dmd: of fields (channels · points,), in steps of the training data; None where it was not
            kept. Its rank was chosen by forecasts inside the training data.
    """

    mean: NDArray[np.float64]
    monthly: NDArray[np.float32] | None = None
    dmd: PodDmd | None = None

    def seasonal(self, times: NDArray[np.float64], clock: Clock) -> NDArray[np.float32]:
        """(times, channels, points) the mean of the month of each time; there must be some."""
        assert self.monthly is not None
        return self.monthly[months_of(times, clock)]


def months_of(times: NDArray[np.float64], clock: Clock) -> NDArray[np.intp]:
    """(times,) calendar months, counted from 0."""
    return np.floor(month_numbers(clock, times)).astype(np.intp) % MONTHS
