"""What a method has to offer to be compared: a class with `fit` and `forecast`."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from smore.data import Sequence, Trajectories
from smore.errors import DataError

# Test steps may differ from those of training by this share of one.
WHOLE = 0.01


class Forecaster(Protocol):
    """A method that learns from trajectories and forecasts from one snapshot.

    Any class with these two methods will do; it need not derive from this one. Its constructor is
    called with those of `seed` (a whole number) and `minutes` (of training, at most) that it has
    parameters for. One that takes a seed is fitted once for each.
    """

    def fit(self, train: Trajectories) -> object:
        """Learn. What is returned is not looked at.

        Args:
            train: sequences to iterate over, or train[0], train[1], .. Each has `times` (times,),
                `fields` (times, channels, points) in the data's units, `observed` (None, or a mask
                of the fields' shape where values are missing) and `mesh.coords` (points, dim).
        """
        ...

    def forecast(self, first: Sequence, times: NDArray[np.float64]) -> NDArray[np.floating]:
        """Fields (times, channels, points) at the points of `first`, in the data's units.

        Args:
            first: one snapshot, a sequence as those of `fit`.
            times: when, as training sequences tell time; all are later than `first.times[0]`.
        """
        ...


def whole_steps(
    first: Sequence, times: NDArray[np.float64], train: Trajectories
) -> NDArray[np.intp]:
    """How many steps of the training data lie between `first` and each of `times`.

    For methods that learn a map from one snapshot to the next.

    Raises:
        DataError: training steps differ from each other, or these are not whole ones.
    """
    steps = np.concatenate([np.diff(sequence.times) for sequence in train])
    if not len(steps):
        raise DataError("a map over a step needs sequences of at least two snapshots, got one each")
    step = float(np.median(steps))
    if np.abs(steps / step - 1).max() > WHOLE * _leeway(train):
        raise DataError(
            f"expected the same time step everywhere, got steps from {steps.min():g} to "
            f"{steps.max():g}; this method learns a map over one step: resample in time"
        )
    counts = (times - first.times[0]) / step
    if np.abs(counts - counts.round()).max() > WHOLE * _leeway(train) * counts.max():
        raise DataError(
            f"expected times that are whole training steps of {step:g} away, got steps of "
            f"{np.diff(times).min(initial=times[0] - first.times[0]):g}; resample the test data"
        )
    return np.asarray(counts.round(), dtype=np.intp)


def _leeway(train: Trajectories) -> float:
    """Months and years of a calendar are steps although some are longer."""
    return 15.0 if train.clock.kind == "datetime" else 1.0
