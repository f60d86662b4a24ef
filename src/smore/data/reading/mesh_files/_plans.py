"""What is written to a mesh file: cells, times and arrays, taken from a dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.cells import Tessellation
from smore.data.reading.ugrid import topology_of, unpacked
from smore.errors import DataError

AXES = "xyz"
# Values of all times that are held at once, in bytes.
BLOCK_BYTES = 2**26


@dataclass(frozen=True, eq=False)
class Array:
    """A scalar, or a vector whose components are variables of their own.

    Attributes:
        name, units: as files tell them.
        parts: the variable of every component, over (time, points); None for one that is zero.
    """

    name: str
    units: str
    parts: tuple[xr.Variable | None, ...] = field(repr=False)

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(*(part.dtype for part in self.parts if part is not None))

    @property
    def components(self) -> int:
        return len(self.parts)

    def read(self, points: slice) -> NDArray:
        """(times, some points) or (times, some points, 3)."""
        found = [
            None if each is None else np.asarray(each[:, points].values) for each in self.parts
        ]
        if len(found) == 1 and found[0] is not None:
            return found[0]
        like = next(each for each in found if each is not None)
        return np.stack([np.zeros_like(like) if e is None else e for e in found], axis=-1)


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything about a file.

    Attributes:
        cells: with nodes as files have them: three coordinates, longitude first on a sphere.
        times: (frames,).
        arrays: what there is at the points, which are nodes or cells.
        about: what formats have no place for, see `Frame`.
    """

    cells: Tessellation
    times: NDArray[np.float64]
    arrays: list[Array]
    about: dict[str, Any]

    @classmethod
    def of(cls, dataset: xr.Dataset) -> Plan:
        """What a dataset with a mesh says.

        Raises:
            DataError: there are no cells, or several sequences.
        """
        if topology_of(dataset) is None:
            raise DataError(
                "only fields on a mesh with cells can be written to a mesh file, these have none; "
                "write NetCDF (.nc) or Zarr (.zarr)"
            )
        if dataset.sizes.get("sequence", 1) != 1:
            raise DataError(
                f"a mesh file holds one sequence, got {dataset.sizes['sequence']}; write NetCDF "
                "(.nc), or one sequence at a time"
            )
        dataset = dataset.isel(sequence=0) if "sequence" in dataset.dims else dataset
        flat, told = unpacked(dataset, None)
        assert told is not None
        flat = _modes_as_variables(flat)
        names = [str(name) for name in np.atleast_1d(flat.attrs["coordinate_names"])]
        sphere = dataset.attrs.get("geometry") == "sphere"
        cells = told.tessellation(names[::-1] if sphere else names)
        times, units = _times(flat)
        about = {
            "coordinate_names": names,
            "coordinate_units": [str(flat[name].attrs.get("units", "")) for name in names],
            "geometry": "sphere" if sphere else "box",
        }
        if units:
            about["time_units"] = units
        return cls(_in_space(cells), times, _arrays(flat, cells.num_points, names), about)

    def blocks(self) -> Iterator[slice]:
        """Ranges of points whose values at all times take about `BLOCK_BYTES`."""
        widest = max((each.dtype.itemsize * each.components for each in self.arrays), default=8)
        size = max(BLOCK_BYTES // (widest * len(self.times)), 1)
        for start in range(0, self.cells.num_points, size):
            yield slice(start, min(start + size, self.cells.num_points))


def _in_space(cells: Tessellation) -> Tessellation:
    missing = 3 - cells.nodes.shape[1]
    if missing < 0:
        raise DataError(f"mesh files have three coordinates, got {cells.nodes.shape[1]}")
    nodes = np.column_stack([cells.nodes, np.zeros((len(cells.nodes), missing))])
    return Tessellation(nodes, cells.kinds, cells.offsets, cells.corners, cells.on_cells)


def _times(dataset: xr.Dataset) -> tuple[NDArray[np.float64], str]:
    if "time" not in dataset.variables:
        return np.zeros(dataset.sizes.get("time", 1)), ""
    variable = xr.conventions.encode_cf_variable(dataset.variables["time"], name="time")
    return np.atleast_1d(variable.values.astype(np.float64)), str(variable.attrs.get("units", ""))


def _modes_as_variables(dataset: xr.Dataset) -> xr.Dataset:
    """Modes and their parts as fields of different names at one time."""
    extra = [str(dim) for dim in dataset.dims if dim in ("mode", "part", "direction")]
    if not extra:
        return dataset
    found = {}
    for name, variable in dataset.data_vars.items():
        stacked = variable.transpose(*extra, ...)
        for index in np.ndindex(*(dataset.sizes[dim] for dim in extra)):
            labels = [str(dataset[dim].values[k]) for dim, k in zip(extra, index, strict=True)]
            told = "_".join(
                f"{dim}{label}" if label.isdigit() else label
                for dim, label in zip(extra, labels, strict=True)
            )
            found[f"{name}_{told}"] = stacked[index].drop_vars(extra, errors="ignore")
    coords = dataset.drop_vars(list(dataset.data_vars)).drop_dims(extra)
    return coords.assign(found)


def _arrays(dataset: xr.Dataset, num_points: int, coordinates: list[str]) -> list[Array]:
    """Every field, components of a vector as one where there is one for each coordinate."""
    axes = [name for name in coordinates if name in AXES] or AXES[: len(coordinates)]
    found: list[Array] = []
    grouped: set[str] = set()
    variables = {
        str(name): _over_time(each.variable, num_points) for name, each in dataset.data_vars.items()
    }
    for name, variable in variables.items():
        if name in grouped:
            continue
        match = re.fullmatch(r"([xyz]) component of (.+)", str(variable.attrs.get("long_name", "")))
        parts: tuple[xr.Variable | None, ...] = (variable,)
        shown = name
        if (
            match is not None
            and name == f"{match[2]}_{match[1]}"
            and all(f"{match[2]}_{axis}" in variables for axis in axes)
        ):
            siblings = tuple(variables.get(f"{match[2]}_{axis}") for axis in AXES)
            grouped |= {f"{match[2]}_{axis}" for axis in AXES}
            parts, shown = siblings, match[2]
        found.append(Array(shown, str(variable.attrs.get("units", "")), parts))
    if len({each.name for each in found}) < len(found):
        raise DataError("two fields would have the same name; rename one of them")
    return found


def _over_time(variable: xr.Variable, num_points: int) -> xr.Variable:
    if "time" not in variable.dims:
        variable = variable.set_dims({"time": 1, **variable.sizes})
    others = [dim for dim in variable.dims if dim != "time"]
    if len(others) != 1 or variable.sizes[others[0]] != num_points:
        raise DataError(f"expected fields over time and points, got one over {variable.dims}")
    return variable.transpose("time", others[0])
