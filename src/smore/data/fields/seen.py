"""Where data were ever observed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smore.data.fields.scratch_fields import StoredFields
from smore.data.sequence import Sequence
from smore.data.trajectories import Trajectories


def seen_points(trajectories: Trajectories) -> NDArray[np.bool_]:
    """(channels, points) at which some snapshot has a value, of trajectories on one mesh."""
    (mesh,) = trajectories.meshes
    seen = np.zeros((trajectories.num_channels, mesh.num_points), dtype=bool)
    for sequence in trajectories:
        seen |= _seen(sequence)
    return seen


def _seen(sequence: Sequence) -> NDArray[np.bool_] | np.bool_:
    """The same of one sequence, in a shape that broadcasts."""
    if isinstance(sequence.source, StoredFields):  # all snapshots have the same points
        return np.True_ if sequence.source.store.seen is None else sequence.source.store.seen
    return np.True_ if sequence.observed is None else sequence.observed.any(axis=0)


def has_moving_gaps(trajectories: Trajectories) -> bool:
    """Whether a point is observed in some snapshots and not in others.

    Fields in a file are taken to have none: they are refused later if they do.
    """
    if trajectories.is_lazy:
        return False
    masks = [sequence.observed for sequence in trajectories]
    if all(mask is None for mask in masks):
        return False
    seen = seen_points(trajectories)
    return not all(
        bool(seen.all()) if mask is None else bool((mask == seen).all()) for mask in masks
    )
