"""XDMF files (.xdmf, .xmf) with their numbers in themselves or in HDF5 files beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from smore.data.cells import POLYGON
from smore.data.reading.mesh_files._collections import time_of
from smore.data.reading.mesh_files._numbers import parsed
from smore.data.reading.mesh_files._xml import Element, read_elements, text_of
from smore.data.reading.mesh_files.frames import (
    Cells,
    Frame,
    Series,
    Stored,
    inside,
    printable,
    require_fits,
)
from smore.errors import DataError

# Names of topologies, their numbers in mixed ones, and VTK's kinds.
TOPOLOGIES = {
    "polyvertex": (1, 1), "polyline": (2, 3), "polygon": (3, 7), "triangle": (4, 5),
    "quadrilateral": (5, 9), "tetrahedron": (6, 10), "pyramid": (7, 14), "wedge": (8, 13),
    "hexahedron": (9, 12), "edge_3": (34, 21), "tri_6": (36, 22), "quad_8": (37, 23),
    "quad_9": (35, 28), "tet_10": (38, 24), "pyramid_13": (39, 27), "wedge_15": (40, 26),
    "hex_20": (48, 25),
}  # fmt: skip
NUM_NODES = {
    1: 1, 3: 2, 5: 3, 9: 4, 10: 4, 12: 8, 13: 6, 14: 5, 21: 3, 22: 6, 23: 8, 24: 10, 25: 20,
    26: 15, 27: 13, 28: 9,
}  # fmt: skip
SHORT = {"triangle_6": "tri_6", "tetrahedron_10": "tet_10", "hexahedron_20": "hex_20"}
SHORT |= {f"quadrilateral_{count}": f"quad_{count}" for count in (8, 9)}
LONGEST_REFERENCE = 2**12
INCLUDE = "include"
# HDF5's compression packs no more than this into a byte.
TIGHTEST = 1100


def read_xdmf(path: Path) -> Series:
    """The grids of a file, in the order of their times.

    Raises:
        DataError: a grid that is neither uniform nor a collection in time, or numbers elsewhere.
    """
    root = read_elements(path)
    domain = root.one("Domain")
    grids = [_Grid(path, each) for each in _uniform(domain)]
    if not grids:
        raise DataError("expected one or more uniform grids, got none")
    home = next((grid for grid in grids if grid.has_mesh), None)
    if home is None:
        raise DataError("expected a grid with <Topology> and <Geometry>, got none")
    # A grid that has nothing but a mesh is there for the others to refer to.
    shown = [grid for grid in grids if grid.has_values] or [home]
    about = _about(domain)
    order = sorted(range(len(shown)), key=lambda number: shown[number].time or 0.0)
    frames = [
        partial(_frame, shown[n], shown[n] if shown[n].has_mesh else home, about) for n in order
    ]
    return Series([shown[number].time for number in order], frames)


def _uniform(domain: Element) -> list[Element]:
    found = []
    for grid in domain.all("Grid"):
        if grid.attributes.get("GridType", "Uniform") == "Uniform":
            found.append(grid)
        elif grid.attributes.get("CollectionType") == "Temporal":
            found += grid.all("Grid")
        else:
            raise DataError(
                "expected uniform grids or a temporal collection of them, got "
                f"{printable(str(grid.attributes.get('CollectionType', 'something else')))}; merge "
                "the parts of a snapshot and save it anew"
            )
    return found


def _about(domain: Element) -> dict[str, Any]:
    for element in domain.all("Information"):
        if element.attributes.get("Name") == "smore":
            told = json.loads(element.attributes.get("Value", "{}"))
            return told if isinstance(told, dict) else {}
    return {}


class _Grid:
    """One uniform grid."""

    def __init__(self, path: Path, element: Element) -> None:
        self.path, self.element = path, element
        for each in element.children:
            if each.tag.endswith(INCLUDE) and "href" in each.attributes:
                raise DataError("a grid includes another file; write it into one")
        time = element.first("Time")
        self.time = None if time is None else time_of(time.attributes.get("Value", ""))
        self.has_mesh = bool(element.all("Topology") and element.all("Geometry"))
        self.has_values = bool(element.all("Attribute"))


def _frame(grid: _Grid, home: _Grid, about: dict[str, Any]) -> Frame:
    path = grid.path
    geometry = home.element.one("Geometry")
    kind = geometry.attributes.get("GeometryType", geometry.attributes.get("Type", "XYZ")).upper()
    if kind not in ("XYZ", "XY"):
        raise DataError(f"expected a geometry XYZ or XY, got {printable(kind)}")
    points = _numbers(path, geometry.one("DataItem"))
    if len(points.shape) == 1:
        points = _shaped(points, (points.shape[0] // len(kind), len(kind)))
    if points.shape[1:] != (len(kind),):
        raise DataError(f"expected points with {len(kind)} coordinates, got {points.shape}")
    num_cells, cells = _topology(path, home.element.one("Topology"))
    data: dict[str, dict[str, Stored]] = {"Node": {}, "Cell": {}}
    lengths = {"Node": points.shape[0], "Cell": num_cells}
    for each in grid.element.all("Attribute"):
        centre = each.attributes.get("Center", "Node")
        name = printable(each.attributes.get("Name", ""))
        if centre not in data:
            continue
        if not name or name in data[centre]:
            raise DataError(f"expected attributes with different names, got '{name}' again")
        stored = _numbers(path, each.one("DataItem"), _units(each))
        if stored.shape[:1] != (lengths[centre],):
            raise DataError(f"expected {lengths[centre]} values of '{name}', got {stored.shape}")
        if stored.shape[1:] == (1,):
            stored = _shaped(stored, stored.shape[:1])
        data[centre][name] = stored
    return Frame(points, num_cells, cells, data["Node"], data["Cell"], about, grid.time)


def _units(attribute: Element) -> str:
    for each in attribute.all("Information"):
        if each.attributes.get("Name") == "units":
            return printable(each.attributes.get("Value", ""))
    return ""


def _shaped(stored: Stored, shape: tuple[int, ...]) -> Stored:
    if np.prod(shape) != np.prod(stored.shape):
        raise DataError(f"expected {shape} numbers, got {stored.shape}")
    return Stored(shape, stored.dtype, lambda: stored.read().reshape(shape), stored.units)


def _topology(path: Path, element: Element) -> tuple[int, Callable[[], Cells]]:
    name = element.attributes.get("TopologyType", element.attributes.get("Type", "")).lower()
    name = SHORT.get(name, name)
    item = _numbers(path, element.one("DataItem"))
    told = next(
        (
            element.number(word)
            for word in ("NumberOfElements", "Dimensions")
            if word in element.attributes
        ),
        None,
    )
    if name == "mixed":
        if told is None:
            raise DataError("expected NumberOfElements of a mixed topology")
        return told, partial(_mixed, item, told)
    if name not in TOPOLOGIES:
        raise DataError(
            f"expected a topology out of {', '.join(TOPOLOGIES)}, got {printable(name)}"
        )
    kind = TOPOLOGIES[name][1]
    count = NUM_NODES.get(kind) or element.number("NodesPerElement")
    if name == "polyline":
        count = element.number("NodesPerElement", 2)
    total = int(np.prod(item.shape))
    if total % max(count, 1) or told not in (None, total // max(count, 1)):
        raise DataError(f"expected {told} cells of {count} nodes, got {item.shape} numbers")

    def cells() -> Cells:
        num = total // count
        offsets = count * np.arange(num + 1)
        return np.full(num, kind), offsets, item.read().ravel()

    return total // max(count, 1), cells


def _mixed(item: Stored, num_cells: int) -> Cells:
    """A stream of numbers of types, of nodes where the type does not tell, and nodes."""
    kinds_of = dict(TOPOLOGIES.values())
    values = item.read().ravel()
    require_fits(2 * num_cells, len(values), "cells")
    keep = np.zeros(len(values), bool)
    kinds, counts = np.empty(num_cells, np.int64), np.empty(num_cells, np.int64)
    at, numbers = 0, values.tolist()
    for cell in range(num_cells):
        kind = kinds_of.get(int(numbers[at]))
        if kind is None:
            raise DataError(f"expected a known type of cell, got {numbers[at]}")
        count = NUM_NODES.get(kind, 0)
        at += 1
        if kind in (1, 3, POLYGON):
            count = int(numbers[at])
            at += 1
        if count < 1 or at + count > len(values):
            raise DataError("expected the nodes of every cell")
        keep[at : at + count] = True
        kinds[cell], counts[cell] = kind, count
        at += count
    if at != len(values):
        raise DataError(f"expected {at} numbers of cells, got {len(values)}")
    return kinds, np.concatenate([[0], np.cumsum(counts)]), values[keep]


def _numbers(path: Path, item: Element, units: str = "") -> Stored:
    """The array of a <DataItem>."""
    if item.attributes.get("ItemType", "Uniform") != "Uniform":
        raise DataError("expected plain data items, got one that computes or selects")
    words = item.attributes.get("Dimensions", "").split()
    if not words or not all(word.isdigit() and len(word) < 19 for word in words):
        raise DataError(f"expected Dimensions of a data item, got {printable(' '.join(words))!r}")
    shape = tuple(map(int, words))
    letter = {"Float": "f", "Int": "i", "UInt": "u", "Char": "i", "UChar": "u"}.get(
        item.attributes.get("NumberType", item.attributes.get("DataType", "Float"))
    )
    if letter is None:
        raise DataError("expected numbers of Float, Int or UInt")
    size = {"Char": 1, "UChar": 1}.get(
        item.attributes.get("NumberType", ""), item.number("Precision", 4)
    )
    if size not in ((4, 8) if letter == "f" else (1, 2, 4, 8)):
        raise DataError(f"expected numbers of 4 or 8 bytes, got {size}")
    dtype, how = np.dtype(f"{letter}{size}"), item.attributes.get("Format", "XML").upper()
    if how == "XML":
        count = int(np.prod(shape, dtype=float)) if len(shape) < 9 else -1
        require_fits(2 * count - 1, path.stat().st_size, "a data item")
        return Stored(
            shape,
            dtype,
            lambda: parsed(text_of(path, item), dtype, count, "a data item").reshape(shape),
            units,
        )
    if how != "HDF":
        raise DataError(f"expected the format XML or HDF, got {printable(how)}")
    reference = text_of(path, item, most=LONGEST_REFERENCE).decode("utf-8").strip()
    name, _, inner = reference.partition(":")
    return Stored(
        shape, dtype, partial(_from_hdf5, inside(path.parent, name), inner, shape, dtype), units
    )


def _from_hdf5(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype) -> NDArray:
    with h5py.File(path, "r") as file:
        dataset = own_dataset(file, name)
        if dataset.dtype.kind not in "fiu" or dataset.size != np.prod(shape, dtype=float):
            raise DataError(f"expected {shape} numbers in {printable(name)}, got {dataset.shape}")
        # What was never written, or was packed, may ask for more memory than the file has bytes.
        require_fits(dataset.nbytes, TIGHTEST * (dataset.id.get_storage_size() + 64), name)
        return dataset[...].astype(dtype, copy=False).reshape(shape)


def own_dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """A dataset that is in this file, all of it.

    Raises:
        DataError: a link to elsewhere, numbers in other files, or no dataset.
    """
    group: Any = file
    for part in filter(None, name.split("/")):
        if not isinstance(group, h5py.Group) or part not in group:
            raise DataError(f"there is no {printable(name)} in {file.filename}")
        if not isinstance(group.get(part, getlink=True), h5py.HardLink):
            raise DataError(f"{printable(name)} in {file.filename} is a link to elsewhere")
        group = group[part]
    if not isinstance(group, h5py.Dataset) or group.external or group.is_virtual:
        raise DataError(f"{printable(name)} in {file.filename} is no dataset of its own")
    return group
