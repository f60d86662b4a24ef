"""Mean squared errors over the windows of a rollout (paper, equation rollout_mse).

Step n predicts snapshot n + 1; the initial snapshot is never scored. With a training window of
`horizon` snapshots the in-horizon steps are 1 .. horizon - 1 and all later ones extrapolate.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from smore.data import Timeline


@dataclass(frozen=True)
class Scores:
    """Errors per field entry; None for a window or step that nobody observed."""

    in_horizon: float | None
    extrapolation: float | None
    full: float | None
    per_step: tuple[float | None, ...]


def score(squared: Tensor, count: Tensor, timeline: Timeline, horizon: int) -> Scores:
    """Scores from sums of squared errors.

    Args:
        squared: (snapshots, channels) sum of squared errors over the points of each snapshot.
        count: (snapshots, channels) number of points in each sum.
        timeline: which snapshot comes when.
        horizon: snapshots in the training window.
    """
    scored = timeline.valid[:, 1:, None]
    total = (timeline.gather(squared)[:, 1:] * scored).sum((0, 2))
    entries = (timeline.gather(count)[:, 1:] * scored).sum((0, 2))

    def mean(window: slice) -> float | None:
        number = float(entries[window].sum())
        return float(total[window].sum()) / number if number else None

    return Scores(
        in_horizon=mean(slice(0, horizon - 1)),
        extrapolation=mean(slice(horizon - 1, None)),
        full=mean(slice(None)),
        per_step=tuple(mean(slice(step, step + 1)) for step in range(len(total))),
    )
