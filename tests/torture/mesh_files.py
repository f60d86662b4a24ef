"""Mesh files that are damaged or made to do harm: read, or refused by name, and nothing else."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import meshio
import numpy as np
from outcomes import Case, Outcome, judge

import meshes
from foam_cases import write_case
from smore.data import Channel, Clock, Sequence, Space, Trajectories, tessellated_mesh
from smore.errors import SmoreError
from smore_paper.measuring.fresh_process import peak_bytes, reset_peak

ASKED = "damaged or hostile: read or refused by name, nothing run, no memory beyond the file's"
SECONDS = 60
MOST_BYTES = 2**27
NUMBERS = ("99999999999999", "-1", "0", "18446744073709551615", "1e400", "nan", "")


def check(count: int, seed: int, folder: Path) -> Outcome:
    """Mutate `count` files of all formats, beside those that were made to do harm."""
    originals = _originals(folder / "whole")
    chance = random.Random(seed)
    hostile = list(_hostile(folder))
    return judge("mesh files", ASKED, [*hostile, *_mutated(count, chance, originals, folder)])


def _originals(folder: Path) -> list[tuple[Path, str]]:
    """Folders, and which file in them is opened."""
    made: list[tuple[Path, str]] = []

    def add(name: str, opened: str) -> Path:
        made.append((folder / name, opened))
        (folder / name).mkdir(parents=True)
        return folder / name

    for on_cells, suffix in ((False, "pvd"), (True, "pvd"), (False, "xdmf"), (True, "xdmf")):
        where = add(f"own-{suffix}-{on_cells}", f"a.{suffix}")
        _trajectories(on_cells).save(where / f"a.{suffix}")
    cells = meshes.mixed_mesh(3)
    points = np.column_stack([cells.nodes, np.zeros(len(cells.nodes))])
    names = {5: "triangle", 9: "quad"}
    blocks = [(names[kind], nodes) for kind, _, nodes in cells.alike()]
    mesh = meshio.Mesh(points, blocks, point_data={"u": points[:, 0], "U": points})
    for name, how in {
        "zlib.vtu": {"compression": "zlib"},
        "raw.vtu": {"compression": None},
        "binary.vtk": {"binary": True},
        "old.vtk": {"file_format": "vtk42"},
        "text.vtk": {"binary": False},
        "inline.xdmf": {"data_format": "XML"},
        "mesh.msh": {"file_format": "gmsh22"},
    }.items():
        mesh.write(add(name.replace(".", "-"), name) / name, **how)
    one = meshio.Mesh(points, [("triangle", cells.alike()[0][2])], point_data={"u": points[:, 0]})
    one.write(add("gmsh4", "mesh.msh") / "mesh.msh", file_format="gmsh")
    solid = meshes.hex_mesh(2, True)
    for binary in (False, True):
        fields = {time: {"p": np.arange(8.0), "U": np.ones((8, 3))} for time in (0.5, 1.0)}
        write_case(add(f"foam-{binary}", "case") / "case", solid, fields, binary=binary)
    return made


def _trajectories(on_cells: bool) -> Trajectories:
    mesh = tessellated_mesh(meshes.mixed_mesh(3, on_cells), "box")
    fields = np.random.default_rng(0).normal(size=(3, 1, mesh.num_points))
    space = Space(names=("x", "y"), units=("m", "m"))
    sequence = Sequence(np.arange(3.0), fields, mesh)
    return Trajectories((sequence,), (Channel(name="u"),), space, Clock(), (0,))


def _mutated(
    count: int, chance: random.Random, originals: list[tuple[Path, str]], folder: Path
) -> Iterator[Case]:
    for number in range(count):
        source, opened = originals[number % len(originals)]
        files = sorted(each for each in source.rglob("*") if each.is_file())
        victim = chance.choice(files).relative_to(source)
        content, told = _changed((source / victim).read_bytes(), chance)

        def case(source: Path = source, opened: str = opened, victim: Path = victim,
                 content: bytes = content) -> str | None:  # fmt: skip
            copy = folder / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(source, copy)
            (copy / victim).write_bytes(content)
            return fault_of(copy / opened, copy)

        yield f"file {number}, {source.name}/{victim}, {told}", case


def _changed(content: bytes, chance: random.Random) -> tuple[bytes, str]:
    kind = chance.choice(["truncated", "bits", "bytes", "removed", "doubled", "number", "number"])
    start = chance.randrange(max(len(content), 1))
    length = chance.choice([1, 7, 64])
    if kind == "truncated":
        return content[:start], f"truncated to {start} bytes"
    if kind == "bits":
        flipped = bytearray(content)
        for _ in range(chance.choice([1, 3])):
            flipped[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        return bytes(flipped), "bits flipped"
    if kind == "bytes":
        new = bytes(chance.randrange(256) for _ in range(length))
        return content[:start] + new + content[start + length :], f"random bytes at {start}"
    if kind == "removed":
        return content[:start] + content[start + length :], f"{length} bytes removed at {start}"
    if kind == "doubled":
        piece = content[start : start + length]
        return content[:start] + piece + content[start:], f"{length} bytes doubled at {start}"
    numbers = list(re.finditer(rb"\d+", content[: 2**13]))
    if not numbers:
        return content[:start], "truncated"
    found, new = chance.choice(numbers), chance.choice(NUMBERS)
    return content[: found.start()] + new.encode() + content[found.end() :], f"number {new!r}"


def _hostile(folder: Path) -> Iterator[Case]:
    """What somebody may have written on purpose; every one is refused."""
    for name, make in _TRAPS.items():

        def case(name: str = name, make: Callable[[Path], Path] = make) -> str | None:
            where = folder / "trap"
            shutil.rmtree(where, ignore_errors=True)
            where.mkdir()
            (folder / "secret.vtu").write_text("<VTKFile/>")
            return fault_of(make(where), where, refused=True)

        yield f"hostile: {name}", case


def _bomb(where: Path) -> Path:
    lines = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    text = f'<?xml version="1.0"?><!DOCTYPE b [<!ENTITY l0 "lol">{lines}]><VTKFile type="&l9;"/>'
    (where / "a.vtu").write_text(text)
    return where / "a.vtu"


def _outside_entity(where: Path) -> Path:
    text = '<?xml version="1.0"?><!DOCTYPE b [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    (where / "a.xdmf").write_text(text + "<Xdmf><Domain>&x;</Domain></Xdmf>")
    return where / "a.xdmf"


def _elsewhere(where: Path) -> Path:
    text = '<VTKFile type="Collection"><Collection><DataSet timestep="0" file="../secret.vtu"/>'
    (where / "a.pvd").write_text(text + "</Collection></VTKFile>")
    return where / "a.pvd"


def _absolute(where: Path) -> Path:
    text = '<VTKFile type="Collection"><Collection><DataSet timestep="0" file="/etc/passwd"/>'
    (where / "a.pvd").write_text(text + "</Collection></VTKFile>")
    return where / "a.pvd"


def _linked(where: Path) -> Path:
    (where / "b.vtu").symlink_to(where.parent / "secret.vtu")
    entry = '{"files": [{"name": "b.vtu", "time": 0}]}'
    (where / "a.vtu.series").write_text(entry)
    return where / "a.vtu.series"


def _huge_counts(where: Path) -> Path:
    one = 'type="Float64" NumberOfComponents="3" format="ascii"'
    text = (
        '<VTKFile type="UnstructuredGrid"><UnstructuredGrid><Piece NumberOfPoints="100000000000" '
        f'NumberOfCells="100000000000"><Points><DataArray {one}>0 0 0</DataArray></Points><Cells>'
        "</Cells></Piece></UnstructuredGrid></VTKFile>"
    )
    (where / "a.vtu").write_text(text)
    return where / "a.vtu"


def _huge_hdf5(where: Path) -> Path:
    import h5py

    with h5py.File(where / "a.h5", "w") as file:
        file.create_dataset("x", (10**12, 3), "f8", chunks=(2**10, 3))
    item = '<DataItem Format="HDF" Precision="8" Dimensions="1000000000000 3">a.h5:/x</DataItem>'
    grid = f'<Grid><Topology TopologyType="Triangle">{item}</Topology><Geometry>{item}</Geometry>'
    (where / "a.xdmf").write_text(f"<Xdmf><Domain>{grid}</Grid></Domain></Xdmf>")
    return where / "a.xdmf"


def _linked_hdf5(where: Path) -> Path:
    import h5py

    with h5py.File(where.parent / "outside.h5", "w") as file:
        file["x"] = np.zeros((4, 3))
    with h5py.File(where / "a.h5", "w") as file:
        file["x"] = h5py.ExternalLink(str(where.parent / "outside.h5"), "/x")
    item = '<DataItem Format="HDF" Precision="8" Dimensions="4 3">a.h5:/x</DataItem>'
    grid = f'<Grid><Topology TopologyType="Triangle">{item}</Topology><Geometry>{item}</Geometry>'
    (where / "a.xdmf").write_text(f"<Xdmf><Domain>{grid}</Grid></Domain></Xdmf>")
    return where / "a.xdmf"


def _huge_gmsh(where: Path) -> Path:
    text = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 999999999999 1 9\n2 1 0 999999999999\n"
    (where / "a.msh").write_text(text + "1\n0 0 0\n$EndNodes\n")
    return where / "a.msh"


def _huge_legacy(where: Path) -> Path:
    text = "# vtk DataFile Version 3.0\nx\nBINARY\nDATASET UNSTRUCTURED_GRID\n"
    text += "POINTS 99999999999 double\n"
    (where / "a.vtk").write_text(text)
    return where / "a.vtk"


def _code_stream(where: Path) -> Path:
    fields = {1.0: {"p": np.arange(8.0)}}
    write_case(where / "case", meshes.hex_mesh(2, True), fields, binary=False)
    path = where / "case" / "1" / "p"
    code = f'#codeStream {{ code #{{ system("touch {where}/executed"); #}}; }};\n'
    path.write_text(path.read_text().replace("internalField", code + "internalField"))
    return where / "case"


def _deep(where: Path) -> Path:
    (where / "a.vtu").write_text("<VTKFile>" + "<a>" * 10**6)
    return where / "a.vtu"


_TRAPS: dict[str, Callable[[Path], Path]] = {
    "entity bomb": _bomb,
    "entity of another file": _outside_entity,
    "reference to the folder above": _elsewhere,
    "absolute reference": _absolute,
    "link to the folder above": _linked,
    "huge counts in VTU": _huge_counts,
    "huge HDF5 that was never written": _huge_hdf5,
    "HDF5 that links elsewhere": _linked_hdf5,
    "huge counts in Gmsh": _huge_gmsh,
    "huge counts in legacy VTK": _huge_legacy,
    "#codeStream": _code_stream,
    "a million open tags": _deep,
}


def fault_of(path: Path, folder: Path, *, refused: bool = False) -> str | None:
    """What is wrong about how a file is opened and read, in a process of its own."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        signal.alarm(SECONDS)
        os.write(writing, json.dumps(_report(path)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(process, 0)
    if status or not told:
        return f"the process died with status {status}"
    report = json.loads(told)
    if (folder / "executed").exists():
        return "something in it was run"
    if report["rise"] > MOST_BYTES:
        return f"it took {report['rise'] >> 20} MB: {report['message']}"
    if report["error"] == "":
        return "it was accepted" if refused else None
    if report["error"] != "typed":
        return report["message"]
    return None if str(folder) in report["message"] else f"no name: {report['message']}"


def _report(path: Path) -> dict[str, object]:
    reset_peak()
    before = peak_bytes()
    error = message = ""
    try:
        Trajectories.open(path, missing="mask")
    except BaseException as fault:
        error = "typed" if isinstance(fault, SmoreError) else "untyped"
        message = f"{type(fault).__name__}: {fault}"
    return {"error": error, "message": message[:2000], "rise": peak_bytes() - before}
