"""OpenFOAM cases, written by hand: from cells to faces with an owner and a neighbour."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from smore.data.cells import KINDS, Tessellation

HEADER = """/*--- a comment with #include "inside" ---*/
FoamFile
{{
    version 2.0;
    format  {how};
    arch    "LSB;label=32;scalar=64";
    class   {kind};
    object  {name};
}}
// * * * * //
"""
CLASSES = {0: "volScalarField", 1: "volVectorField"}


def faces_of(cells: Tessellation) -> tuple[list[tuple[int, ...]], list[int], list[int]]:
    """Inner faces first, as OpenFOAM wants them."""
    sides: dict[frozenset[int], list[tuple[int, tuple[int, ...]]]] = {}
    for cell in range(cells.num_cells):
        nodes = cells.corners[cells.offsets[cell] : cells.offsets[cell + 1]]
        for face in KINDS[int(cells.kinds[cell])].faces:
            around = tuple(int(nodes[corner]) for corner in face)
            sides.setdefault(frozenset(around), []).append((cell, around))
    inner = [each for each in sides.values() if len(each) == 2]
    outer = [each for each in sides.values() if len(each) == 1]
    faces = [each[0][1] for each in (*inner, *outer)]
    return faces, [each[0][0] for each in (*inner, *outer)], [each[1][0] for each in inner]


def write_case(
    folder: Path,
    cells: Tessellation,
    fields: dict[float, dict[str, np.ndarray]],
    *,
    binary: bool,
    empty: bool = False,
) -> None:
    """A case with fields by time; `empty`: faces of constant z are those of a case in the plane."""
    mesh = folder / "constant" / "polyMesh"
    mesh.mkdir(parents=True)
    faces, owner, neighbour = faces_of(cells)
    if empty:
        flat = [
            len(set(cells.nodes[list(face), 2].round(12))) == 1 and number >= len(neighbour)
            for number, face in enumerate(faces)
        ]
        order = sorted(range(len(faces)), key=lambda number: flat[number])
        faces, owner = [faces[n] for n in order], [owner[n] for n in order]
        start, count = len(faces) - sum(flat), sum(flat)
        boundary = f"1\n(\nsides {{ type empty; nFaces {count}; startFace {start}; }}\n)\n"
    else:
        count = len(faces) - len(neighbour)
        boundary = f"1\n(\nwall {{ type wall; nFaces {count}; startFace {len(neighbour)}; }}\n)\n"
    _write(mesh / "points", "vectorField", _list(cells.nodes, binary), binary)
    if binary:
        ends = np.cumsum([0, *map(len, faces)])
        flat_faces = np.concatenate([np.array(face) for face in faces])
        both = _list(ends, binary) + b"\n" + _list(flat_faces, binary)
        _write(mesh / "faces", "faceCompactList", both, binary)
    else:
        rows = "\n".join(f"{len(face)}({' '.join(map(str, face))})" for face in faces)
        _write(mesh / "faces", "faceList", f"{len(faces)}\n(\n{rows}\n)\n".encode(), binary)
    _write(mesh / "owner", "labelList", _list(np.array(owner), binary), binary)
    _write(mesh / "neighbour", "labelList", _list(np.array(neighbour), binary), binary)
    _write(mesh / "boundary", "polyBoundaryMesh", boundary.encode(), False)
    for time, arrays in fields.items():
        (folder / f"{time:g}").mkdir()
        for name, values in arrays.items():
            kind = "scalar" if values.ndim == 1 else "vector"
            text = b"dimensions [0 1 -1 0 0 0 0];\n"
            text += f"internalField nonuniform List<{kind}> \n".encode() + _list(values, binary)
            text += b";\nboundaryField { wall { type zeroGradient; } }\n"
            _write(folder / f"{time:g}" / name, CLASSES[values.ndim - 1], text, binary)


def _list(values: np.ndarray, binary: bool) -> bytes:
    if binary:
        dtype = "<f8" if values.dtype.kind == "f" else "<i4"
        return f"{len(values)}\n(".encode() + values.astype(dtype).tobytes() + b")"
    rows = [
        f"({' '.join(map(repr, row))})" if values.ndim > 1 else repr(row) for row in values.tolist()
    ]
    return f"{len(values)}\n(\n{chr(10).join(rows)}\n)\n".encode()


def _write(path: Path, kind: str, body: bytes, binary: bool) -> None:
    header = HEADER.format(how="binary" if binary else "ascii", kind=kind, name=path.name)
    path.write_bytes(header.encode() + body)
