"""VTK's XML files of unstructured grids and polygons (.vtu, .vtp)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from smore.data.cells import polygon_kind
from smore.data.reading.mesh_files._vtk_arrays import VtkFile, told_beside
from smore.data.reading.mesh_files._xml import Element, read_elements
from smore.data.reading.mesh_files.frames import Cells, Frame, Stored, printable
from smore.errors import DataError

GRIDS = {".vtu": "UnstructuredGrid", ".vtp": "PolyData"}


def read_vtk_xml(path: Path) -> Frame:
    """The only piece of a file.

    Raises:
        DataError: several pieces, or something that is no such file.
    """
    root = read_elements(path, stop_at="AppendedData")
    kind = root.attributes.get("type", "")
    if root.tag != "VTKFile" or kind not in GRIDS.values():
        raise DataError(
            f"expected a VTK file of {' or '.join(GRIDS.values())}, got <{printable(root.tag)}> "
            f"of {printable(kind) or 'no type'}"
        )
    file, grid = VtkFile.of(path, root), root.one(kind)
    pieces = grid.all("Piece")
    if len(pieces) != 1:
        raise DataError(
            f"expected one piece, got {len(pieces)}; merge them (ParaView: Merge Blocks) and save "
            "it anew"
        )
    piece = pieces[0]
    num_points = piece.number("NumberOfPoints")
    points = file.stored(piece.one("Points").one("DataArray"), num_points)
    if points.shape[1:] != (3,):
        raise DataError(f"expected points with 3 coordinates, got {points.shape}")
    if kind == "PolyData":
        num_cells, polygons = piece.number("NumberOfPolys"), piece.one("Polys")
        for other in ("NumberOfVerts", "NumberOfLines", "NumberOfStrips"):
            if piece.number(other, 0):
                raise DataError(f"expected polygons alone, got {other}={piece.number(other)}")
        cells = _polygons(file, polygons, num_cells)
    else:
        num_cells = piece.number("NumberOfCells")
        cells = _cells(file, piece.one("Cells"), num_cells)
    time, about = told_beside(file, grid)
    return Frame(
        points,
        num_cells,
        cells,
        _data(file, piece.first("PointData"), num_points),
        _data(file, piece.first("CellData"), num_cells),
        about,
        time,
    )


def _data(file: VtkFile, section: Element | None, length: int) -> dict[str, Stored]:
    found: dict[str, Stored] = {}
    for element in section.all("DataArray") if section is not None else []:
        name = printable(element.attributes.get("Name", ""))
        if not name or name in found:
            raise DataError(f"expected arrays with different names, got '{name}' again")
        if element.attributes.get("type") != "String":
            found[name] = file.stored(element, length)
    return found


def _named(section: Element, name: str) -> Element:
    found = [each for each in section.all("DataArray") if each.attributes.get("Name") == name]
    if len(found) != 1:
        raise DataError(f"expected one array '{name}' in <{section.tag}>, got {len(found)}")
    return found[0]


def _cells(file: VtkFile, section: Element, num_cells: int) -> Callable[[], Cells]:
    def read() -> Cells:
        ends = file.stored(_named(section, "offsets"), num_cells).read().astype(np.int64)
        kinds = file.stored(_named(section, "types"), num_cells).read()
        count = int(ends[-1]) if len(ends) else 0
        corners = file.stored(_named(section, "connectivity"), max(count, 0)).read()
        return kinds, np.concatenate([[0], ends]), corners

    return read


def _polygons(file: VtkFile, section: Element, num_cells: int) -> Callable[[], Cells]:
    def read() -> Cells:
        ends = file.stored(_named(section, "offsets"), num_cells).read().astype(np.int64)
        count = int(ends[-1]) if len(ends) else 0
        corners = file.stored(_named(section, "connectivity"), max(count, 0)).read()
        counts = np.diff(ends, prepend=0)
        kinds = np.full(num_cells, polygon_kind(0))
        for few in (3, 4):
            kinds[counts == few] = polygon_kind(few)
        return kinds, np.concatenate([[0], ends]), corners

    return read
