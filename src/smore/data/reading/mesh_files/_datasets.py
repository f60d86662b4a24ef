"""A series of frames as one dataset by the UGRID conventions, whose fields stay in their files."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from smore.data.cells import Tessellation, cell_centres, filling
from smore.data.mesh import Mesh
from smore.data.reading.mesh_files.frames import Frame, Series, Stored, printable, refusing
from smore.data.reading.ugrid import LEFT_OUT, mesh_variables
from smore.data.space import Space
from smore.errors import DataError

AXES = "xyz"
TIME = "time"
# Components of tensors as VTK orders them.
TENSORS = {6: ("xx", "yy", "zz", "xy", "yz", "xz"), 9: tuple(a + b for a in AXES for b in AXES)}
# What ParaView and others write beside fields.
BOOKKEEPING = ("vtk", "Global", "Pedigree")
FRAMES_KEPT = 4


@dataclass(frozen=True)
class _Column:
    """One channel: a component of an array."""

    array: str
    component: int | None
    on_cells: bool
    units: str
    long_name: str
    dtype: np.dtype


class Opened:
    """A series with what does not change: which coordinates there are, and which cells.

    Args:
        path: of the series, for messages.
        series: the frames.
    """

    def __init__(self, path: Path, series: Series) -> None:
        self.path, self.series = path, series
        self._lock = threading.Lock()
        self._frame = lru_cache(FRAMES_KEPT)(lambda number: series.frames[number]())
        first = self.frame(0)
        self.about = first.about
        self.points = first.points.read()
        if not np.isfinite(self.points).all():
            raise DataError("expected finite coordinates of nodes")
        self.num_cells = first.num_cells
        self.kept_axes = _varying(self.points)
        kinds, offsets, corners, self.kept_cells = filling(*first.cells())
        nodes = self.points[:, self.kept_axes].astype(np.float64)
        self.cells = Tessellation.checked(nodes, kinds, offsets, corners, on_cells=False)
        if self.cells.dim > nodes.shape[1]:
            raise DataError(f"cells of {self.cells.dim} dimensions, all nodes in a plane or line")

    def frame(self, number: int) -> Frame:
        """A frame; the last few are kept."""
        with self._lock:
            return self._frame(number)

    def columns(self) -> tuple[dict[str, _Column], list[str]]:
        """Channels by name, and what was left out."""
        found: dict[str, _Column] = {}
        left_out = []
        first = self.frame(0)
        for on_cells, arrays in ((False, first.point_data), (True, first.cell_data)):
            for array, stored in arrays.items():
                if stored.dtype.kind != "f" or array.startswith(BOOKKEEPING):
                    left_out.append(array)
                    continue
                for name, column in self._components(array, stored, on_cells):
                    name = f"{name}_cell" if name in found else name
                    if name in found:
                        raise DataError(f"expected arrays with different names, got '{name}' again")
                    found[name] = column
        return found, left_out

    def _components(self, array: str, stored: Stored, on_cells: bool) -> list[tuple[str, _Column]]:
        name = "".join("_" if letter in "/\\" else letter for letter in printable(array)) or "u"
        count = stored.shape[1] if len(stored.shape) > 1 else 1
        if count == 1:
            return [(name, _Column(array, None, on_cells, stored.units, "", stored.dtype))]
        letters: tuple[str, ...] = tuple(map(str, range(count)))
        shown = list(range(count))
        if count in (2, 3):
            letters = tuple(AXES[:count])
            flat = [k for k in shown if k not in self.kept_axes]
            if flat and len(shown) > len(flat) and not stored.read()[:, flat].any():
                shown = [k for k in shown if k in self.kept_axes]
        elif count in TENSORS:
            letters = TENSORS[count]
        return [
            (
                f"{name}_{letters[k]}",
                _Column(
                    array,
                    k,
                    on_cells,
                    stored.units,
                    f"{letters[k]} component of {name}",
                    stored.dtype,
                ),
            )
            for k in shown
        ]

    def read(self, number: int, column: _Column) -> NDArray:
        """(points,) of a channel at one time.

        Raises:
            DataError: another mesh than in the first file, or no such array.
        """
        frame = self.frame(number)
        if number and not self._same_mesh(frame):
            raise DataError(
                f"the mesh at time {self.series.times[number]} differs from the first one; meshes "
                "that move or adapt are not read yet"
            )
        arrays = frame.cell_data if column.on_cells else frame.point_data
        length = self.num_cells if column.on_cells else len(self.points)
        stored = arrays.get(column.array)
        if stored is None or stored.shape[0] != length:
            raise DataError(
                f"there is no '{printable(column.array)}' of {length} values at time "
                f"{self.series.times[number]}, as there is in the first file"
            )
        values = stored.read()
        if column.component is not None:
            values = self._component(values, column)
        return values[self.kept_cells] if column.on_cells else values

    def _component(self, values: NDArray, column: _Column) -> NDArray:
        assert column.component is not None
        if values.shape[1] in (2, 3) and column.component in self.kept_axes:
            first = self.frame(0)
            arrays = first.cell_data if column.on_cells else first.point_data
            shown = {
                c.component
                for _, c in self._components(column.array, arrays[column.array], column.on_cells)
            }
            hidden = [k for k in range(values.shape[1]) if k not in shown]
            if hidden and values[:, hidden].any():
                raise DataError(
                    f"'{printable(column.array)}' points out of the plane at some times and not at "
                    "the first; give it a third coordinate, or leave that component out"
                )
        return values[:, column.component]

    def _same_mesh(self, frame: Frame) -> bool:
        return (
            frame.points.shape == self.points.shape
            and frame.num_cells == self.num_cells
            and np.array_equal(frame.points.read(), self.points)
        )


class _Field(BackendArray):
    """(times, points) of one channel, read frame by frame."""

    def __init__(self, opened: Opened, column: _Column) -> None:
        self.opened, self.column = opened, column
        num_points = len(opened.kept_cells) if column.on_cells else len(opened.points)
        self.shape = (len(opened.series.frames), num_points)
        self.dtype = column.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.BASIC
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, Any]) -> NDArray:
        times, points = key
        with refusing(self.opened.path):
            if isinstance(times, int | np.integer):
                return self.opened.read(int(times), self.column)[points]
            numbers = range(*times.indices(self.shape[0]))
            each = [self.opened.read(number, self.column)[points] for number in numbers]
            return np.stack(each) if each else np.empty((0, self.shape[1]), self.dtype)[:, points]


def _varying(points: NDArray) -> list[int]:
    """The axes along which points differ."""
    kept = [axis for axis in range(points.shape[1]) if np.ptp(points[:, axis]) > 0]
    if not kept:
        raise DataError("expected nodes in different places, all are in one")
    return kept


def as_dataset(path: Path, series: Series) -> xr.Dataset:
    """The series as a dataset; arrays of more than one component are several channels.

    Raises:
        DataError: nothing but a mesh, or one that cannot be used.
    """
    opened = Opened(path, series)
    columns, left_out = opened.columns()
    names, units, geometry = _coordinates(opened)
    space = Space(names=names, units=units, geometry=geometry)
    dataset = _places(opened, columns, space)
    if geometry == "sphere":
        dataset = dataset.assign_attrs(geometry=geometry)
    for name, column in columns.items():
        if name in dataset.variables or name == TIME:
            raise DataError(f"an array is called '{name}', as a coordinate is; rename it")
        field = indexing.LazilyIndexedArray(_Field(opened, column))
        dims = (TIME, "cell" if column.on_cells else "node")
        told = {"units": column.units, "long_name": column.long_name}
        attrs = {key: value for key, value in told.items() if value}
        chunks = {"preferred_chunks": {TIME: 1, dims[1]: field.shape[1]}}
        dataset[name] = xr.Variable(dims, field, attrs, chunks)
    times = [0.0 if time is None else time for time in series.times]
    since = str(opened.about.get("time_units", ""))
    dataset = dataset.assign_coords(
        {TIME: xr.Variable((TIME,), np.array(times), {"units": since} if since else {})}
    )
    if left_out:
        dataset = dataset.assign_attrs({LEFT_OUT: [printable(name) for name in left_out]})
    if " since " in since:
        dataset = xr.decode_cf(dataset, decode_coords=False)
    return dataset.assign_attrs(channel_names=list(columns))


def _coordinates(opened: Opened) -> tuple[tuple[str, ...], tuple[str, ...], Any]:
    """Names, units and geometry: as smore wrote them down, else those of the axes."""
    about, dim = opened.about, len(opened.kept_axes)
    names = tuple(map(str, about.get("coordinate_names", ())))
    units = tuple(map(str, about.get("coordinate_units", ())))
    geometry = "sphere" if about.get("geometry") == "sphere" and dim == 2 else "box"
    if len(names) != dim or len(set(names)) != dim:
        names, geometry = tuple(AXES[axis] for axis in opened.kept_axes), "box"
    return names, units if len(units) == dim else ("",) * dim, geometry


def _places(opened: Opened, columns: dict[str, _Column], space: Space) -> xr.Dataset:
    """The mesh, with coordinates of the nodes and, if there are values there, of the cells."""
    cells = opened.cells
    nodes = cells.nodes
    if space.geometry == "sphere":  # files have longitudes first
        cells, nodes = cells.columns([1, 0]), nodes[:, [1, 0]]
    on_cells = any(column.on_cells for column in columns.values())
    mesh = Mesh.of(
        nodes, np.ones(len(nodes)), ("node",), (len(nodes),), (("node",),) * space.dim, cells
    )
    variables = mesh_variables(mesh, space)
    (dim,) = {2: ("mesh_face",), 3: ("mesh_volume",), 1: ("mesh_edge",)}[cells.dim]
    dataset = xr.Dataset(coords=variables)
    for name, units, column in zip(space.names, space.units, nodes.T, strict=True):
        dataset[name] = xr.Variable(("node",), column, {"units": units} if units else {})
    dataset = dataset.rename({dim: "cell"}) if dim in dataset.dims else dataset
    attrs = dataset["mesh_topology"].attrs
    element = dim.removeprefix("mesh_")
    attrs[f"{element}_dimension"] = "cell"
    if on_cells:
        centres = cell_centres(cells, space.geometry)
        for name, units, column in zip(space.names, space.units, centres.T, strict=True):
            told = {"units": units} if units else {}
            dataset[f"cell_{name}"] = xr.Variable(("cell",), column, told)
        attrs[f"{element}_coordinates"] = " ".join(f"cell_{name}" for name in space.names)
    return dataset.set_coords(list(dataset.variables))
