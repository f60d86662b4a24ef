"""When and where, as users ask for it: times of the training data, a mesh or coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smore.data import Clock, Mesh, calendar_of, scattered_mesh
from smore.errors import DataError
from smore.surrogate.surrogate import Surrogate


def instants_of(clock: Clock, times: ArrayLike) -> NDArray[np.float64]:
    """Times as the training data tell them -> numbers."""
    given = np.asarray(times)
    if clock.kind == "datetime" and given.dtype.kind == "U":
        given = clock.read(np.atleast_1d(given))
    elif clock.kind == "datetime" and given.dtype.kind == "O" and calendar_of(given) is None:
        given = given.astype("datetime64[us]")
    return np.atleast_1d(clock.to_numbers(given))


def mesh_of(surrogate: Surrogate, points: Mesh | ArrayLike | None) -> Mesh:
    """A mesh, coordinates (points, dim), or by default the training mesh.

    Raises:
        DataError: neither of these, or no training mesh.
    """
    if points is None:
        if surrogate.mesh is None:
            raise DataError("this model was trained on several meshes: say where with `points`")
        return surrogate.mesh
    space = surrogate.description.space
    try:
        coords = np.asarray(points.reach if isinstance(points, Mesh) else points, float)
    except ValueError:
        raise DataError("points must be numbers of shape (points, dim)") from None
    if coords.ndim != 2 or coords.shape[1] != space.dim or not np.isfinite(coords).all():
        raise DataError(
            f"points must be finite and of shape (points, {space.dim}) for the coordinates "
            f"{', '.join(space.names)}, got an array of shape {coords.shape}"
        )
    if not len(coords):
        raise DataError("expected at least one of the points to forecast at, got none")
    return points if isinstance(points, Mesh) else scattered_mesh(coords, space.geometry)
