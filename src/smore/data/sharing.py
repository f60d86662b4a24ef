"""A process's share of trajectories: all snapshots at some of the points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smore.data.trajectories import Trajectories
from smore.errors import DataError
from smore.runtime import Team


def shared_out(trajectories: Trajectories, team: Team) -> Trajectories:
    """The part of `trajectories` that this process works on.

    Raises:
        DataError: sequences on different points, which a team cannot share.
    """
    if team.size == 1:
        return trajectories
    meshes = trajectories.meshes
    if len(meshes) > 1:
        raise DataError(
            f"processes share the points of one mesh, these sequences have {len(meshes)} different "
            "ones; fit them in one process"
        )
    (mesh,) = meshes
    if mesh.num_points < team.size:
        raise DataError(f"{team.size} processes cannot share {mesh.num_points} points; use fewer")
    points = np.arange(mesh.num_points)[team.share(mesh.num_points)]
    part = mesh.subset(points)
    return replace(
        trajectories,
        sequences=tuple(sequence.points(points, part) for sequence in trajectories),
    )
