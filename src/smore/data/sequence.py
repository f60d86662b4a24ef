"""Consecutive snapshots on one mesh."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from smore.data.mesh import Mesh, read_only
from smore.errors import DataError

# One array for all sequences, or one array for each of them.
Arrays = NDArray | abc.Sequence


@dataclass(frozen=True, eq=False)
class Sequence:
    """Consecutive snapshots of one trajectory on one mesh, as read-only views.

    Attributes:
        times: (times,) float64, strictly increasing; steps may differ.
        fields: (times, channels, points) float32 or float64; 0 where not observed.
        mesh: the points.
        observed: (times, channels, points) bool, or None when everything is observed.
    """

    times: NDArray[np.float64]
    fields: NDArray[np.floating] = field(repr=False)
    mesh: Mesh
    observed: NDArray[np.bool_] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        assert self.fields.shape[::2] == (len(self.times), self.mesh.num_points)
        object.__setattr__(self, "times", read_only(self.times))
        object.__setattr__(self, "fields", read_only(self.fields))
        if self.observed is not None:
            assert self.observed.shape == self.fields.shape
            object.__setattr__(self, "observed", read_only(self.observed))

    @property
    def num_snapshots(self) -> int:
        return len(self.times)

    def snapshots(self, which: slice) -> Sequence:
        """Some of the snapshots, without a copy."""
        observed = None if self.observed is None else self.observed[which]
        return Sequence(self.times[which], self.fields[which], self.mesh, observed)

    def channels(self, order: abc.Sequence[int]) -> Sequence:
        """Some of the channels, in the given order."""
        observed = None if self.observed is None else self.observed[:, order]
        return Sequence(self.times, self.fields[:, order], self.mesh, observed)

    def on(self, mesh: Mesh) -> Sequence:
        """The same values on `mesh`, which has the same points."""
        return replace(self, mesh=mesh)

    def points(self, index: NDArray, mesh: Mesh) -> Sequence:
        """The values at the points `index`, which together are `mesh`."""
        observed = None if self.observed is None else self.observed[..., index]
        return Sequence(self.times, self.fields[..., index], mesh, observed)


def per_sequence(values: Arrays, ndim: int, num_sequences: int, what: str) -> list[NDArray]:
    """One array per sequence, from an array of `ndim` dimensions for all or one array for each."""
    if not len(values):
        raise DataError(f"expected at least one {what}, got none")
    if np.ndim(values[0]) == ndim - 1:
        return [np.asarray(values)] * num_sequences
    arrays = [np.asarray(each) for each in values]
    if len(arrays) != num_sequences:
        raise DataError(
            f"expected one {what} for all or one for each of {num_sequences} sequences, "
            f"got {len(arrays)}"
        )
    return arrays
