"""Consecutive snapshots on one mesh."""

from __future__ import annotations

from collections import abc
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smore.data.fields.file_fields import FileFields, LazyFields, Observed
from smore.data.mesh import Mesh, read_only
from smore.errors import DataError

# One array for all sequences, or one array for each of them.
Arrays = NDArray[Any] | abc.Sequence[Any]


@dataclass(frozen=True, eq=False)
class Sequence:
    """Consecutive snapshots of one trajectory on one mesh, as read-only views.

    Attributes:
        times: (times,) float64, strictly increasing; steps may differ.
        source: (times, channels, points) float32 or float64, 0 where not observed; or where to
            read such fields.
        mesh: the points.
        mask: (times, channels, points) bool, or None when everything is observed or `source`
            tells.
    """

    times: NDArray[np.float64]
    source: NDArray[np.floating] | LazyFields = field(repr=False)
    mesh: Mesh
    mask: NDArray[np.bool_] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        assert self.source.shape[::2] == (len(self.times), self.mesh.num_points)
        object.__setattr__(self, "times", read_only(self.times))
        if isinstance(self.source, LazyFields):
            assert self.mask is None
            return
        object.__setattr__(self, "source", read_only(self.source))
        if self.mask is not None:
            assert self.mask.shape == self.source.shape
            object.__setattr__(self, "mask", read_only(self.mask))

    @property
    def fields(self) -> NDArray[np.floating]:
        """(times, channels, points); 0 where not observed. Reads all of it if it is lazy."""
        return self._loaded()[0]

    @property
    def observed(self) -> NDArray[np.bool_] | None:
        """(times, channels, points), or None for everything. Reads all of it if it is lazy."""
        return self._loaded()[1]

    def _loaded(self) -> Observed:
        if isinstance(self.source, LazyFields):
            return self.source.load()
        return self.source, self.mask

    def load(self) -> Sequence:
        """The same in memory."""
        fields, mask = self._loaded()
        return Sequence(self.times, fields, self.mesh, mask)

    def parts(self) -> Iterator[Observed]:
        """`fields` and `observed` in pieces of points, bounded ones from a scratch file.

        Points at which nothing was ever observed may be left out.
        """
        if isinstance(self.source, LazyFields):
            yield from self.source.parts()
        else:
            yield self.source, self.mask

    @property
    def num_snapshots(self) -> int:
        return len(self.times)

    @property
    def num_channels(self) -> int:
        return int(self.source.shape[1])

    @property
    def num_values(self) -> int:
        """How many values are observed."""
        if isinstance(self.source, LazyFields):
            return self.source.num_values
        return self.source.size if self.mask is None else int(self.mask.sum())

    def snapshots(self, which: slice) -> Sequence:
        """Some of the snapshots, without a copy."""
        if isinstance(self.source, LazyFields):
            return Sequence(self.times[which], self.source.snapshots(which), self.mesh)
        mask = None if self.mask is None else self.mask[which]
        return Sequence(self.times[which], self.source[which], self.mesh, mask)

    def channels(self, order: abc.Sequence[int]) -> Sequence:
        """Some of the channels, in the given order."""
        if isinstance(self.source, LazyFields):
            return replace(self, source=self.source.channels(order))
        mask = None if self.mask is None else self.mask[:, order]
        return Sequence(self.times, self.source[:, order], self.mesh, mask)

    def on(self, mesh: Mesh) -> Sequence:
        """The same values on `mesh`, which has the same points."""
        return replace(self, mesh=mesh)

    def points(self, index: NDArray[Any], mesh: Mesh) -> Sequence:
        """The values at the points `index`, which together are `mesh`."""
        if isinstance(self.source, FileFields):
            return Sequence(self.times, self.source.points(index), mesh)
        fields, observed = self._loaded()
        mask = None if observed is None else observed[..., index]
        return Sequence(self.times, fields[..., index], mesh, mask)


def per_sequence(values: Arrays, ndim: int, num_sequences: int, what: str) -> list[NDArray[Any]]:
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
