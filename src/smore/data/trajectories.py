"""Trajectories: what a user brings, checked once and the same whatever the source."""

from __future__ import annotations

import operator
from collections import abc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.fields.file_fields import LazyFields
from smore.data.mesh import Mesh, shared_meshes
from smore.data.sequence import Arrays, Sequence, per_sequence
from smore.data.space import Channel, Clock, Geometry, Space
from smore.errors import DataError
from smore.runtime import html_table, span, told_instant

if TYPE_CHECKING:
    from smore.data.reading.record import Reading
    from smore.data.reading.request import Like

Missing = Literal["refuse", "mask"]


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """Sequences of snapshots, with the names and units that they came with.

    Made by `from_xarray`, `from_arrays` or `open`, which check everything; immutable after that.

    Attributes:
        sequences: meshes, lengths and time steps may differ from one to the next. Sequences on
            the same points share one `Mesh` object.
        channels: what the components of the fields are, in order.
        space: what the coordinates are.
        clock: how times are told.
        groups: which simulated or measured trajectory each sequence was cut from.
        reading: how a file or dataset was read; None for what came otherwise.
    """

    sequences: tuple[Sequence, ...]
    channels: tuple[Channel, ...]
    space: Space
    clock: Clock
    groups: tuple[int, ...]
    reading: Reading | None = None

    def __post_init__(self) -> None:
        assert len(self.groups) == len(self.sequences) > 0
        assert all(sequence.num_channels == self.num_channels for sequence in self.sequences)

    @classmethod
    def from_xarray(
        cls,
        dataset: xr.Dataset | abc.Sequence[xr.Dataset],
        *,
        channels: abc.Sequence[str] | None = None,
        missing: Missing = "refuse",
        geometry: Geometry | None = None,
        coordinate_names: abc.Sequence[str] | None = None,
        dims: abc.Mapping[str, str] | None = None,
        select: abc.Mapping[str, Any] | None = None,
        like: Like | None = None,
    ) -> Trajectories:
        """Trajectories from a dataset with dimensions (sequence, time, ...space), in any order.

        Which dimension and variable is what is told by CF attributes, then by names
        (docs/data.md); `reading` of the result says how it was understood. `sequence` and `time`
        are optional; the other dimensions are space, and are located by coordinate variables: one
        per dimension (a grid), several along one dimension (scattered points) or over many (a
        curvilinear grid). Coordinates `time(sequence, time)`
        and `x(sequence, point)` may end in NaN where a sequence is shorter. A coordinate
        `trajectory(sequence)` says which sequences belong together; a variable
        `quadrature_weights` over the space dimensions replaces the default weights.

        Fields are not copied where they can be viewed. Variables that are dask arrays stay where
        they are, and are checked when they are read; see `open`.

        Args:
            dataset: one dataset, or several that hold the same channels.
            channels: the data variables to take, in this order; default: all that vary over
                time and space.
            missing: what a NaN in a field is: an error ("refuse") or a value that was not
                observed ("mask").
            geometry: "sphere" for latitude and longitude in degrees, else "box"; default: read
                from CF attributes and names.
            coordinate_names: the variables that say where points are, in this order; default:
                found by the rules above, in alphabetical order.
            dims: dimension -> "time", "sequence" or "space", where the dataset does not say.
            select: dimension -> a value of its coordinate, or a pair (low, high) of which either
                may be None; both ends are kept.
            like: names that a model has, to be taken where the dataset has them.

        Raises:
            DataError: the data cannot be used as they are; the message says where and why.
        """
        from smore.data.reading.datasets import read_datasets
        from smore.data.reading.request import Like, ReadAs

        given: Any = dataset  # it may be anything at all
        datasets = list(given) if isinstance(given, list | tuple) else [given]
        asked = (channels, missing, geometry, coordinate_names, dims or {}, select or {})
        how = ReadAs(*asked, like=like or Like())
        return read_datasets(datasets, how)

    @classmethod
    def from_arrays(
        cls,
        fields: Arrays,
        coords: Arrays,
        times: Arrays,
        *,
        channels: abc.Sequence[str | Channel] | None = None,
        weights: Arrays | None = None,
        geometry: Geometry = "box",
        coordinate_names: abc.Sequence[str] | None = None,
        missing: Missing = "refuse",
    ) -> Trajectories:
        """Trajectories on scattered points from plain arrays, which are not copied.

        Args:
            fields: (sequences, times, channels, points), or one (times, channels, points) array
                per sequence.
            coords: (points, dim) for all sequences, or one such array per sequence; on a sphere
                the columns are latitude and longitude in degrees.
            times: (times,) numbers, dates or durations for all sequences, or one per sequence.
            channels: their names, or `Channel` with units; default u0, u1, ...
            weights: quadrature weights (points,), or one per sequence; default: see `quadrature`.
            geometry: "box" or "sphere".
            coordinate_names: one per column of `coords`; default x, y, z or latitude, longitude.
            missing: as in `from_xarray`.

        Raises:
            DataError: the data cannot be used as they are; the message says where and why.
        """
        from smore.data.reading.arrays import read_arrays

        return read_arrays(
            fields, coords, times, channels, weights, geometry, coordinate_names, missing
        )

    @classmethod
    def open(
        cls,
        path: str | PathLike[str] | abc.Sequence[str | PathLike[str]],
        *,
        channels: abc.Sequence[str] | None = None,
        missing: Missing = "refuse",
        geometry: Geometry | None = None,
        coordinate_names: abc.Sequence[str] | None = None,
        dims: abc.Mapping[str, str] | None = None,
        select: abc.Mapping[str, Any] | None = None,
        join: Literal["time", "sequence", "channels"] | None = None,
        group: str | None = None,
        like: Like | None = None,
        lazy: bool = False,
    ) -> Trajectories:
        """Trajectories from NetCDF (.nc, .nc4, .h5, ..), Zarr (.zarr) or mesh files.

        Mesh files are those of VTK, XDMF and Gmsh, and the folders of OpenFOAM cases; they become
        datasets with cells. See `from_xarray`.

        Args:
            path: a file, several, or a pattern such as "run_*.nc".
            channels, missing, geometry, coordinate_names, dims, select, like: as in `from_xarray`.
            join: how several files belong together: one after the other in "time", as separate
                runs ("sequence"), or with "channels" of their own; default: as their times say.
            group: of an HDF5 file; default: the root, or the only group with data.
            lazy: leave the fields in the file, for data larger than memory. `fit`, `evaluate` and
                `forecast` copy them to a scratch file in one pass, in which they are checked, and
                read that piece by piece. All sequences must share their points, and missing
                values must be the same in all snapshots, like land in an ocean.
        """
        from smore.data.reading.opening import read_files
        from smore.data.reading.request import Like, ReadAs

        given: Any = path
        paths = list(given) if isinstance(given, list | tuple) else [given]
        asked = (channels, missing, geometry, coordinate_names, dims or {}, select or {})
        how = ReadAs(*asked, join, group, like or Like())
        return read_files(paths, how, lazy=lazy)

    @property
    def is_lazy(self) -> bool:
        """Whether fields are still in a file; see `open`."""
        return any(isinstance(sequence.source, LazyFields) for sequence in self)

    def load(self) -> Trajectories:
        """The same with all fields in memory.

        Raises:
            DataError: they hold values that are not finite.
        """
        return replace(self, sequences=tuple(sequence.load() for sequence in self))

    def to_xarray(self) -> xr.Dataset:
        """A dataset with dimensions (sequence, time, ...space) that `from_xarray` reads again.

        Grids come back as grids. Times or points that differ from sequence to sequence become
        `time(sequence, time)` and `x(sequence, point)`, padded with NaN; values that were not
        observed are NaN.
        """
        from smore.data.reading.writing import to_dataset

        return to_dataset(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write `to_xarray()` as NetCDF or Zarr, by the suffix of `path`, whole or not at all."""
        from smore.data.reading.files import save_dataset

        save_dataset(self.to_xarray(), path)

    def __len__(self) -> int:
        return len(self.sequences)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self.sequences)

    def __getitem__(self, number: SupportsIndex) -> Sequence:
        """One sequence by its number, from the end if that is negative; `select` takes several."""
        return self.sequences[operator.index(number)]

    def __repr__(self) -> str:
        lengths = {sequence.num_snapshots for sequence in self}
        points = {sequence.mesh.num_points for sequence in self}
        names = ", ".join(channel.name for channel in self.channels)
        return (
            f"<Trajectories: {len(self)} sequences of {_span(lengths)} snapshots of {names} "
            f"at {_span(points)} points ({', '.join(self.space.names)})>"
        )

    def _repr_html_(self) -> str:
        ends = [times for sequence in self for times in (sequence.times[0], sequence.times[-1])]
        first, last = map(told_instant, self.clock.to_values(np.array([min(ends), max(ends)])))
        units = self.clock.units if self.clock.kind == "number" else ""  # others tell theirs
        reach = np.concatenate([mesh.reach for mesh in self.meshes])
        rows: list[tuple[str, Any]] = [
            ("sequences", len(self)),
            ("snapshots", span([sequence.num_snapshots for sequence in self])),
            ("times", f"{first} to {last} {units}".rstrip()),
            ("points", span([sequence.mesh.num_points for sequence in self])),
        ]
        for name, unit, low, high in zip(
            self.space.names, self.space.units, reach.min(axis=0), reach.max(axis=0), strict=True
        ):
            rows.append((f"coordinate {name}", f"{low:.6g} to {high:.6g} {unit}".rstrip()))
        for channel in self.channels:
            told = [text for text in (channel.units, channel.long_name) if text]
            rows.append((f"channel {channel.name}", ", ".join(told)))
        return html_table("Trajectories", rows)

    @property
    def num_channels(self) -> int:
        return len(self.channels)

    @property
    def meshes(self) -> list[Mesh]:
        """The different meshes, in the order in which sequences have them."""
        return list({id(sequence.mesh): sequence.mesh for sequence in self}.values())

    def select(self, indices: abc.Sequence[int] | NDArray[np.integer]) -> Trajectories:
        """The sequences `indices`, in that order."""
        if not len(indices):
            raise DataError("expected at least one sequence to select, got none")
        return replace(
            self,
            sequences=tuple(self.sequences[index] for index in indices),
            groups=tuple(self.groups[index] for index in indices),
        )

    def leading(self, num_snapshots: int) -> Trajectories:
        """The first `num_snapshots` snapshots of each sequence, or as many as there are."""
        if num_snapshots < 1:
            raise DataError(f"expected at least one leading snapshot, got {num_snapshots}")
        first = slice(num_snapshots)
        return replace(self, sequences=tuple(sequence.snapshots(first) for sequence in self))

    def trailing(self, num_snapshots: int) -> Trajectories:
        """The last `num_snapshots` snapshots of each sequence, or as many as there are."""
        if num_snapshots < 1:
            raise DataError(f"expected at least one trailing snapshot, got {num_snapshots}")
        last = slice(-num_snapshots, None)
        return replace(self, sequences=tuple(sequence.snapshots(last) for sequence in self))

    def cut(self, length: int) -> Trajectories:
        """Non-overlapping sequences of at most `length` snapshots, with the times they had.

        A remainder of one snapshot is dropped: nothing about the dynamics can be learned from it.
        """
        if length < 2:
            raise DataError(f"sequences need at least 2 snapshots, got length {length}")
        pieces = [
            (sequence.snapshots(slice(start, start + length)), group)
            for sequence, group in zip(self.sequences, self.groups, strict=True)
            for start in range(0, sequence.num_snapshots - 1, length)
        ]
        if not pieces:
            raise DataError("cut needs a sequence of at least 2 snapshots, each here has one")
        sequences, groups = zip(*pieces, strict=True)
        return replace(self, sequences=sequences, groups=groups)

    def cut_at(self, counts: abc.Sequence[int]) -> tuple[Trajectories, Trajectories]:
        """The first snapshots of each sequence, so many of it as `counts` says, and the rest."""
        pairs = list(zip(self.sequences, counts, strict=True))
        before = tuple(sequence.snapshots(slice(0, count)) for sequence, count in pairs)
        after = tuple(sequence.snapshots(slice(count, None)) for sequence, count in pairs)
        return replace(self, sequences=before), replace(self, sequences=after)

    def at_points(self, index: Arrays) -> Trajectories:
        """The same snapshots at some of the points, with the weights the points have.

        Args:
            index: point numbers or a mask for all sequences, or one such array per sequence.
        """
        indices = per_sequence(index, 1, len(self), "point index")
        meshes = shared_meshes(
            [sequence.mesh.subset(one) for sequence, one in zip(self, indices, strict=True)]
        )
        sequences = [
            sequence.points(one, mesh)
            for sequence, one, mesh in zip(self, indices, meshes, strict=True)
        ]
        return replace(self, sequences=tuple(sequences))

    def select_channels(self, names: abc.Sequence[str]) -> Trajectories:
        """The channels `names`, in that order.

        Raises:
            DataError: a name that is not there.
        """
        here = [channel.name for channel in self.channels]
        if list(names) == here:
            return self
        order = _positions(names, here, "channel")
        return replace(
            self,
            sequences=tuple(sequence.channels(order) for sequence in self),
            channels=tuple(self.channels[position] for position in order),
        )

    def order_coordinates(self, names: abc.Sequence[str]) -> Trajectories:
        """The same points, with the columns of their coordinates in the order of `names`.

        Raises:
            DataError: these are not the names of the coordinates here.
        """
        if tuple(names) == self.space.names:
            return self
        order = _positions(names, list(self.space.names), "coordinate")
        if self.space.geometry == "sphere" or sorted(order) != list(range(self.space.dim)):
            raise DataError(f"expected coordinates {self.space.names}, got {tuple(names)}")
        units = tuple(self.space.units[column] for column in order)
        meshes = shared_meshes(sequence.mesh.columns(order) for sequence in self)
        return replace(
            self,
            sequences=tuple(map(Sequence.on, self.sequences, meshes)),
            space=Space(names=tuple(names), units=units, geometry=self.space.geometry),
        )

    def split(self, fraction: float, seed: int) -> tuple[Trajectories, Trajectories | None]:
        """(rest, held out), with about `fraction` of the groups held out, chosen by `seed`.

        Sequences of one trajectory stay together, since they are not independent. At least one
        group is on either side; with a single group nothing can be held out: (self, None).
        """
        if not 0 < fraction < 1:
            raise DataError(f"the fraction to hold out must lie between 0 and 1, got {fraction}")
        groups = np.unique(self.groups)
        if len(groups) == 1:
            return self, None
        num_held_out = int(np.clip(round(fraction * len(groups)), 1, len(groups) - 1))
        chosen = np.random.default_rng(seed).permutation(groups)[:num_held_out]
        held_out = np.isin(self.groups, chosen)
        return self.select(np.flatnonzero(~held_out)), self.select(np.flatnonzero(held_out))


def _positions(names: abc.Sequence[str], here: list[str], what: str) -> list[int]:
    unknown = [name for name in names if name not in here]
    if unknown or not names:
        raise DataError(
            f"expected {what}s out of {', '.join(here)}, got {', '.join(names) or 'none'}"
        )
    return [here.index(name) for name in names]


def _span(counts: set[int]) -> str:
    return f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
