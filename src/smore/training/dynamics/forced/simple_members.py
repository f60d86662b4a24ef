"""Members of the family that anyone could think of, as references to be beaten.

Climatology, persistence, and least squares with a constant. The forecasts inside the record that
choose the model choose the rank of the last, and tell how much better than the first two it is.
"""

from __future__ import annotations

import math

import numpy as np

from smore.training.dynamics.forced.candidates import (
    COUNTS,
    Candidate,
    CentreKind,
    Shrinkage,
    Size,
)
from smore.training.dynamics.forced.record import Array
from smore.training.dynamics.forced.search import Search


def plain_dmd(search: Search, most: int) -> tuple[Array, Array] | None:
    """Directions (R, rank) and step (rank + 1, rank) of coefficients about 0 and 1, as rows.

    Args:
        search: forecasts inside the record.
        most: the largest rank.

    Returns:
        None where the record is too short to choose a rank.
    """
    if not search.splits:
        return None
    known = min(
        search.anomalies(number, CentreKind(), 1.0).directions.shape[1]
        for number in range(len(search.splits))
    )
    candidates = [
        Candidate(CentreKind(), True, Size(rank), Shrinkage(0.0, 0.0))
        for rank in COUNTS
        if rank <= min(known, most)
    ]
    candidates = [each for each in candidates if not search.runs_away(each)] or candidates
    scores = [search.score(each) for each in candidates]
    if not candidates or not math.isfinite(min(scores)):
        return None
    anomalies, matrix, constant = search.fitted(None, candidates[int(np.argmin(scores))])
    directions = anomalies.directions[:, : len(constant)]
    # About 0 instead of the mean of the record's rows, which is nearly 0 in these coordinates.
    centre = anomalies.centre.weights[0] @ directions
    return directions, np.vstack([matrix, constant + centre - centre @ matrix])


def share_of_simple(search: Search, candidate: Candidate, *, decay: bool) -> dict[str, float]:
    """Error of a candidate over that of climatology or persistence, whichever is better.

    Args:
        search: forecasts inside the record.
        candidate: what was chosen.
        decay: whether its eigenvalues were made to decay.

    Returns:
        Findings `left_out_share`, and `left_out_simple`, 0 for climatology and 1 for persistence;
        nothing where no forecasts could be made.
    """
    if not search.splits:
        return {}
    whole = Size(max(COUNTS))
    scores = {
        towards: search.score(Candidate(CentreKind(), False, whole, Shrinkage(np.inf, towards)))
        for towards in (0.0, 1.0)
    }
    best = min(scores, key=lambda towards: scores[towards])
    own = search.score(candidate, decay=decay) - candidate.handicap
    return {"left_out_share": math.exp(own - scores[best]), "left_out_simple": best}
