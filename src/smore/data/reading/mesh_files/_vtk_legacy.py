"""VTK's legacy files (.vtk), in letters or binary: unstructured grids and polygons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from smore.data.cells import polygon_kind
from smore.data.reading.mesh_files._numbers import parsed
from smore.data.reading.mesh_files.frames import Cells, Frame, Stored, printable, require_fits
from smore.errors import DataError

TYPES = {
    "char": "i1", "unsigned_char": "u1", "short": "i2", "unsigned_short": "u2", "int": "i4",
    "unsigned_int": "u4", "long": "i8", "unsigned_long": "u8", "float": "f4", "double": "f8",
    "vtktypeint32": "i4", "vtktypeint64": "i8", "vtkIdType": "i8",
}  # fmt: skip
COMPONENTS = {"VECTORS": 3, "NORMALS": 3, "TENSORS": 9}
LONGEST_LINE = 2**10


@dataclass(eq=False)
class _Reader:
    """A file that is read once from its beginning; arrays are passed over."""

    path: Path
    file: BinaryIO
    size: int
    binary: bool = False

    def line(self) -> list[str] | None:
        """The words of the next line that has any; None at the end."""
        while text := self.file.readline(LONGEST_LINE):
            words = text.decode("utf-8", "replace").split()
            if words:
                return words
        return None

    def passed(self, name: str, count: int) -> tuple[np.dtype, int, int]:
        """An array of `count` numbers: its type, and where it begins and ends."""
        if name not in TYPES:
            raise DataError(f"expected one of the types {', '.join(TYPES)}, got {printable(name)}")
        dtype, start = np.dtype(TYPES[name]), self.file.tell()
        if self.binary:
            require_fits(count * dtype.itemsize, self.size - start, "an array")
            self.file.seek(count * dtype.itemsize, 1)
            return dtype, start, start + count * dtype.itemsize
        require_fits(2 * count - 1, self.size - start, "an array")
        left = count
        while left > 0:
            text = self.file.readline()
            if not text:
                raise DataError(f"expected {count} numbers, the file ends {left} before")
            left -= len(text.split())
        if left < 0:
            raise DataError(f"expected {count} numbers, got {count - left} in their lines")
        return dtype, start, self.file.tell()

    def stored(self, name: str, shape: tuple[int, ...]) -> Stored:
        dtype, start, stop = self.passed(name, int(np.prod(shape)))
        read = partial(_read, self.path, dtype, start, stop, shape, self.binary)
        return Stored(shape, dtype, read)


def _read(
    path: Path, dtype: np.dtype, start: int, stop: int, shape: tuple[int, ...], binary: bool
) -> NDArray:
    with path.open("rb") as file:
        file.seek(start)
        content = file.read(stop - start)
    count = int(np.prod(shape))
    if not binary:
        return parsed(content, dtype, count, "an array").reshape(shape)
    values = np.frombuffer(content, dtype.newbyteorder(">"), count)
    return values.astype(dtype).reshape(shape)


def read_vtk_legacy(path: Path) -> Frame:
    """The grid in a file.

    Raises:
        DataError: another kind of dataset, or something that is no such file.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        if not file.readline(LONGEST_LINE).startswith(b"# vtk DataFile Version"):
            raise DataError("expected '# vtk DataFile Version' in the first line")
        file.readline(LONGEST_LINE)
        reader = _Reader(path, file, size)
        how = reader.line() or [""]
        if how[0].upper() not in ("ASCII", "BINARY"):
            raise DataError(f"expected ASCII or BINARY in the third line, got {printable(how[0])}")
        reader.binary = how[0].upper() == "BINARY"
        return _frame(reader)


class _Parts:
    """What was found so far."""

    def __init__(self) -> None:
        self.points: Stored | None = None
        self.cells: tuple[int, Callable[[], tuple[NDArray, NDArray]]] | None = None
        self.kinds: Stored | None = None
        self.data: dict[str, dict[str, Stored]] = {"POINT_DATA": {}, "CELL_DATA": {}}
        self.time: float | None = None


def _frame(reader: _Reader) -> Frame:
    parts = _Parts()
    grid, section, length = "", None, 0
    while (words := reader.line()) is not None:
        word = words[0].upper()
        if word == "DATASET":
            grid = words[1].upper()
            if grid not in ("UNSTRUCTURED_GRID", "POLYDATA"):
                raise DataError(f"expected UNSTRUCTURED_GRID or POLYDATA, got {printable(grid)}")
        elif word == "POINTS":
            parts.points = reader.stored(words[2], (_count(words[1]), 3))
        elif word in ("CELLS", "POLYGONS"):
            parts.cells = _connectivity(reader, _count(words[1]), _count(words[2]))
        elif word == "CELL_TYPES":
            parts.kinds = reader.stored("int", (_count(words[1]),))
        elif word in parts.data:
            section, length = word, _count(words[1])
        elif word == "FIELD":
            _fields(reader, _count(words[2]), parts, section)
        elif word == "METADATA":
            _pass_metadata(reader)
        elif word in ("SCALARS", *COMPONENTS) and section is not None:
            _attribute(reader, words, parts.data[section], length)
        elif word == "LOOKUP_TABLE" and len(words) == 3:
            reader.passed("unsigned_char" if reader.binary else "float", 4 * _count(words[2]))
        else:
            raise DataError(f"expected a section of a VTK file, got '{printable(word)[:40]}'")
    if parts.points is None or parts.cells is None:
        raise DataError("expected points and cells, the file has not both")
    return _assembled(parts, grid)


def _assembled(parts: _Parts, grid: str) -> Frame:
    assert parts.points is not None
    assert parts.cells is not None
    num_cells, connectivity = parts.cells
    kinds = parts.kinds
    if grid == "UNSTRUCTURED_GRID" and (kinds is None or kinds.shape != (num_cells,)):
        raise DataError(f"expected CELL_TYPES of {num_cells} cells")

    def cells() -> Cells:
        offsets, corners = connectivity()
        if kinds is not None:
            return kinds.read(), offsets, corners
        told = np.full(num_cells, polygon_kind(0))
        for few in (3, 4):
            told[np.diff(offsets) == few] = polygon_kind(few)
        return told, offsets, corners

    return Frame(
        parts.points,
        num_cells,
        cells,
        {
            name: _long(each, parts.points.shape[0])
            for name, each in parts.data["POINT_DATA"].items()
        },
        {name: _long(each, num_cells) for name, each in parts.data["CELL_DATA"].items()},
        {},
        parts.time,
    )


def _long(stored: Stored, length: int) -> Stored:
    if stored.shape[0] != length:
        raise DataError(f"expected {length} values of an array, got {stored.shape[0]}")
    return stored


def _connectivity(
    reader: _Reader, num_cells: int, size: int
) -> tuple[int, Callable[[], tuple[NDArray, NDArray]]]:
    """Old files count the nodes of each cell before them; new ones have offsets, one more."""
    place = reader.file.tell()
    words = reader.line() or [""]
    if words[0].upper() == "OFFSETS":
        ends = reader.stored(words[1], (num_cells,))
        words = reader.line() or ["", ""]
        if words[0].upper() != "CONNECTIVITY":
            raise DataError("expected CONNECTIVITY after OFFSETS")
        corners = reader.stored(words[1], (size,))
        return max(num_cells - 1, 0), lambda: (ends.read(), corners.read())
    reader.file.seek(place)
    mixed = reader.stored("int", (size,))

    def separate() -> tuple[NDArray, NDArray]:
        values = mixed.read()
        starts = np.empty(num_cells + 1, np.int64)
        at = 0
        for number in range(num_cells):
            starts[number] = at
            if at >= size or values[at] < 1:
                raise DataError("expected the nodes of every cell, counted")
            at += 1 + int(values[at])
        starts[-1] = at
        if at != size:
            raise DataError(f"expected {size} numbers of cells, got {at}")
        keep = np.ones(size, bool)
        keep[starts[:-1]] = False
        return starts - np.arange(num_cells + 1), values[keep]

    return num_cells, separate


def _attribute(reader: _Reader, words: list[str], found: dict[str, Stored], length: int) -> None:
    components = COMPONENTS.get(words[0].upper(), 1)
    if words[0].upper() == "SCALARS":
        components = _count(words[3]) if len(words) > 3 else 1
        place = reader.file.tell()
        if (reader.line() or [""])[0].upper() != "LOOKUP_TABLE":
            reader.file.seek(place)
    shape = (length,) if components == 1 else (length, components)
    _keep(found, words[1], reader.stored(words[2], shape))


def _fields(reader: _Reader, count: int, parts: _Parts, section: str | None) -> None:
    for _ in range(count):
        words = reader.line() or []
        if words and words[0].upper() == "METADATA":
            _pass_metadata(reader)
            words = reader.line() or []
        if len(words) < 4:
            raise DataError("expected the name, sizes and type of a field")
        components, length = _count(words[1]), _count(words[2])
        shape = (length,) if components == 1 else (length, components)
        if words[3] == "string":
            raise DataError("fields of text are not read; remove them")
        stored = reader.stored(words[3], shape)
        if section is not None:
            _keep(parts.data[section], words[0], stored)
        elif words[0] in ("TIME", "TimeValue") and shape == (1,):
            parts.time = float(stored.read()[0])


def _keep(found: dict[str, Stored], name: str, stored: Stored) -> None:
    name = printable(name)
    if name in found:
        raise DataError(f"expected arrays with different names, got '{name}' again")
    found[name] = stored


def _pass_metadata(reader: _Reader) -> None:
    """Up to the next blank line."""
    while reader.file.readline(LONGEST_LINE).strip():
        pass


def _count(text: str) -> int:
    if not text.isdigit() or len(text) > 18:
        raise DataError(f"expected a count, got {printable(text)!r}")
    return int(text)
