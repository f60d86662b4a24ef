"""OpenFOAM's case folders: the mesh in constant/polyMesh, values at cells in folders of times."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smore.data.reading.mesh_files._collections import time_of
from smore.data.reading.mesh_files._foam_cells import cells_of, plane_cells
from smore.data.reading.mesh_files._foam_text import COMMENTS, COMPONENTS, FoamFile
from smore.data.reading.mesh_files.frames import Frame, Series, Stored, inside, printable
from smore.errors import DataError

FIELDS = {f"vol{name[0].upper()}{name[1:]}Field": name for name in COMPONENTS}
BASE_UNITS = ("kg", "m", "s", "K", "mol", "A", "cd")


def is_case(path: Path) -> bool:
    """Whether a folder, or the empty .foam file in it, is an OpenFOAM case."""
    folder = path.parent if path.suffix.casefold() == ".foam" else path
    return (folder / "constant" / "polyMesh").is_dir()


def read_openfoam(path: Path) -> Series:
    """A case, at all times at which fields are written.

    Raises:
        DataError: directives, cells that are no known kind, or files that are no lists.
    """
    case = path.parent if path.suffix.casefold() == ".foam" else path
    mesh = case / "constant" / "polyMesh"
    if not (mesh / "points").exists() and (case / "processor0").is_dir():
        raise DataError("the case is in pieces; put them together: reconstructPar")
    points, _ = _list(inside(case, "constant/polyMesh/points"), "vector")
    faces = _faces(inside(case, "constant/polyMesh/faces"))
    owner, _ = _list(inside(case, "constant/polyMesh/owner"), "label")
    neighbour, _ = _list(inside(case, "constant/polyMesh/neighbour"), "label")
    empty = _empty_faces(inside(case, "constant/polyMesh/boundary"), len(owner))
    offsets, corners = faces
    _require_labels(owner, neighbour, offsets, corners, len(points))
    num_cells = 1 + max(int(owner.max()), int(neighbour.max(initial=-1)))
    if len(empty):
        points, cells = plane_cells(points, faces, owner, empty, num_cells)
    else:
        cells = cells_of(points, faces, owner, neighbour, num_cells)
    times = _times(case)
    names = _common_fields(case, [folder for _, folder in times])

    def frame(time: float | None, folder: Path | None) -> Frame:
        data = {name: _field(case, folder, name, num_cells) for name in names if folder is not None}
        held = Stored(points.shape, points.dtype, lambda: points)
        return Frame(held, num_cells, lambda: cells, {}, data, {}, time)

    if not times:
        raise DataError("expected folders of times, such as 0.1, with fields in them; got none")
    return Series(
        [time for time, _ in times], [partial(frame, time, folder) for time, folder in times]
    )


def _require_labels(
    owner: NDArray, neighbour: NDArray, offsets: NDArray, corners: NDArray, num_points: int
) -> None:
    fits = len(owner) == len(offsets) - 1 >= len(neighbour) and len(owner) > 0
    fits = fits and owner.min() >= 0 and corners.min() >= 0 and corners.max() < num_points
    # A cell has more faces than one, so there are fewer cells than faces.
    highest = len(owner)
    fits = fits and owner.max() < highest
    if not fits or (len(neighbour) and (neighbour.min() < 0 or neighbour.max() >= highest)):
        raise DataError("points, faces, owner and neighbour do not belong together")


def _list(path: Path, kind: str) -> tuple[NDArray, FoamFile]:
    file = FoamFile.read(path)
    return file.numbers(_skipped(file, file.start), kind)[0], file


def _skipped(file: FoamFile, at: int) -> int:
    """Behind comments and blanks."""
    while match := re.compile(rb"\s*(?:/\*.*?\*/|//[^\n]*)", re.DOTALL).match(file.content, at):
        at = match.end()
    return at


def _faces(path: Path) -> tuple[NDArray, NDArray]:
    """Offsets and nodes of all faces."""
    file = FoamFile.read(path)
    at = _skipped(file, file.start)
    if file.kind == "faceCompactList":
        offsets, at = file.numbers(at, "label")
        corners, _ = file.numbers(_skipped(file, at), "label")
    else:
        match = re.compile(rb"\s*(\d{1,18})\s*\(").match(file.content, at)
        if match is None or file.binary:
            raise DataError(f"expected a list of faces in {path}")
        found = re.findall(
            rb"(\d+)\s*\(([^()]*)\)", COMMENTS.sub(b" ", file.content[match.end() :])
        )
        if len(found) != int(match[1]):
            raise DataError(f"expected {int(match[1])} faces in {path}, got {len(found)}")
        rows = [list(map(int, nodes.split())) for _, nodes in found]
        if any(int(count) != len(row) for (count, _), row in zip(found, rows, strict=True)):
            raise DataError(f"expected as many nodes of a face as it says in {path}")
        offsets = np.cumsum([0, *map(len, rows)])
        corners = np.array([node for row in rows for node in row], np.int64)
    if not len(offsets) or offsets[0] != 0 or (np.diff(offsets) < 3).any():
        raise DataError(f"expected faces of three or more nodes in {path}")
    if offsets[-1] != len(corners):
        raise DataError(f"expected {offsets[-1]} nodes of faces in {path}, got {len(corners)}")
    return offsets.astype(np.int64), corners.astype(np.int64)


def _empty_faces(path: Path, num_faces: int) -> NDArray[np.intp]:
    """Faces across which nothing happens: those of a case in the plane."""
    file = FoamFile.read(path)
    text = COMMENTS.sub(b" ", file.content[file.start :])
    file.refuse_directives(text)
    found = []
    for body in re.findall(rb"\{([^{}]*)\}", text):
        entries = dict(re.findall(r"(\w+)\s+([^;]*);", body.decode("latin-1")))
        if entries.get("type", "").strip() == "empty":
            start, count = int(entries["startFace"]), int(entries["nFaces"])
            if start < 0 or count < 0 or start + count > num_faces:
                raise DataError(f"expected patches of {num_faces} faces in {path}")
            found.append(np.arange(start, start + count))
    return np.concatenate(found) if found else np.empty(0, np.intp)


def _times(case: Path) -> list[tuple[float, Path]]:
    number = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
    return sorted(
        (time_of(folder.name), folder)
        for folder in case.iterdir()
        if folder.is_dir() and number.fullmatch(folder.name)
    )


def _common_fields(case: Path, folders: list[Path]) -> list[str]:
    """Names of files that hold values at cells at all times."""
    names = [{each.name for each in folder.iterdir() if each.is_file()} for folder in folders]
    common = sorted(set.intersection(*names)) if names else []
    last = folders[-1].name if folders else ""
    return [name for name in common if _kind(inside(case, f"{last}/{name}")) in FIELDS]


def _kind(path: Path) -> str:
    with path.open("rb") as file:
        header = re.search(rb"FoamFile\s*\{[^}]*?class\s+(\w+)\s*;", file.read(2**14))
    return "" if header is None else header[1].decode("latin-1")


def _field(case: Path, folder: Path, name: str, num_cells: int) -> Stored:
    path = inside(case, f"{folder.name}/{name}")
    kind = FIELDS.get(_kind(path))
    if kind is None:
        raise DataError(f"expected values at cells in {path}")
    components = COMPONENTS[kind]
    shape = (num_cells,) if components == 1 else (num_cells, components)
    return Stored(shape, np.dtype(float), partial(_values, path, kind, shape), _units(path))


def _values(path: Path, kind: str, shape: tuple[int, ...]) -> NDArray:
    file = FoamFile.read(path)
    match = re.compile(
        rb"^\s*internalField\s+(uniform\s+([^;]*);|nonuniform\s+List<(\w+)>)", re.MULTILINE
    ).search(file.content, file.start)
    if match is None:
        raise DataError(f"expected internalField uniform or nonuniform in {path}")
    file.refuse_directives(COMMENTS.sub(b" ", file.content[file.start : match.end()]))
    if match[2] is not None:
        plain = match[2].translate(bytes.maketrans(b"()", b"  ")).split()
        if len(plain) != COMPONENTS[kind]:
            raise DataError(f"expected {COMPONENTS[kind]} numbers of a uniform field in {path}")
        return (
            np.broadcast_to(np.array([float(each) for each in plain]), (shape[0], len(plain)))
            .reshape(shape)
            .copy()
        )
    if match[3].decode("latin-1") != kind:
        raise DataError(f"expected a list of {kind} in {path}, got {printable(str(match[3]))}")
    values, end = file.numbers(_skipped(file, match.end()), kind)
    file.refuse_directives(COMMENTS.sub(b" ", file.content[end:]))
    if values.shape != shape:
        raise DataError(f"expected {shape[0]} values in {path}, got {values.shape[0]}")
    return values.astype(float)


def _units(path: Path) -> str:
    """From the powers of the base units."""
    with path.open("rb") as file:
        match = re.search(rb"dimensions\s*\[([-\d\s.]*)\]", file.read(2**14))
    powers = [] if match is None else [float(each) for each in match[1].split()]
    told = [
        unit if power == 1 else f"{unit}{power:g}"
        for unit, power in zip(BASE_UNITS, powers, strict=False)
        if power
    ]
    return " ".join(told)
