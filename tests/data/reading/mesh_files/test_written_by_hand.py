"""Layouts that meshio does not write: polygons of VTP, appended base64, Gmsh in letters, times."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest

import meshes
from smore.data import Trajectories, open_dataset


def block(values: np.ndarray, order: str, width: str, compressed: bool) -> bytes:
    raw = values.astype(values.dtype.newbyteorder(order)).tobytes()
    if not compressed:
        return base64.b64encode(struct.pack(order + width, len(raw)) + raw)
    pieces = [raw[at : at + 64] for at in range(0, len(raw), 64)]
    packed = [zlib.compress(piece) for piece in pieces]
    last = len(raw) % 64
    header = [len(pieces), 64, last, *map(len, packed)]
    return base64.b64encode(
        struct.pack(f"{order}{len(header)}{width}", *header)
    ) + base64.b64encode(b"".join(packed))


NAMES = {"<f8": "Float64", "<i8": "Int64", "<u1": "UInt8", "|u1": "UInt8"}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("width", ["I", "Q"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("appended", [False, True])
def test_vtp_in_base64(compressed, width, order, appended, tmp_path):
    cells = meshes.polygon_mesh(2)
    nodes = np.column_stack([cells.nodes, np.zeros(len(cells.nodes))])
    field = np.random.default_rng(0).normal(size=len(nodes))
    tail = b""

    def array(name: str, values: np.ndarray, components: int = 1) -> str:
        nonlocal tail
        kind = NAMES[values.dtype.str]
        told = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{components}"'
        content = block(values, order, width, compressed)
        if not appended:
            return f'{told} format="binary">\n   {content.decode()}\n</DataArray>'
        place = len(tail)
        tail += content
        return f'{told} format="appended" offset="{place}"/>'

    parts = [
        f"<PointData>{array('p', field)}</PointData>",
        f"<Points>{array('Points', nodes, 3)}</Points>",
        f"<Polys>{array('connectivity', cells.corners)}",
        f"{array('offsets', cells.offsets[1:])}</Polys>",
    ]
    byte_order = "LittleEndian" if order == "<" else "BigEndian"
    header = {"I": "UInt32", "Q": "UInt64"}[width]
    zipped = 'compressor="vtkZLibDataCompressor"' if compressed else ""
    text = (
        f'<VTKFile type="PolyData" version="1.0" byte_order="{byte_order}" header_type="{header}" '
        f"{zipped}><PolyData><Piece "
        f'NumberOfPoints="{len(nodes)}" NumberOfPolys="{cells.num_cells}">'
        f"{''.join(parts)}</Piece></PolyData>"
    )
    if appended:
        text += f'<AppendedData encoding="base64">\n  _{tail.decode()}</AppendedData>'
    (tmp_path / "a.vtp").write_text(text + "</VTKFile>")
    found = Trajectories.open(tmp_path / "a.vtp").sequences[0]
    assert np.array_equal(found.fields[0, 0], field)
    ours = found.mesh.tessellation
    assert ours is not None
    assert np.array_equal(ours.corners, cells.corners)
    assert np.array_equal(ours.kinds, cells.kinds)


def gmsh_text(version: str, cells, fields: dict[float, np.ndarray], where: str) -> str:
    tags = 10 + 2 * np.arange(len(cells.nodes))  # neither from 1 nor without gaps
    three = cells.corners.reshape(-1, 3)
    lines = ["$MeshFormat", f"{version} 0 8", "$EndMeshFormat", "$Nodes"]
    coords = [f"{x!r} {y!r} 0.0" for x, y in cells.nodes.tolist()]
    rows = [" ".join(map(str, tags[row])) for row in three]
    if version == "4.1":
        lines += [
            f"1 {len(tags)} {tags[0]} {tags[-1]}",
            f"2 1 0 {len(tags)}",
            *map(str, tags),
            *coords,
        ]
        lines += ["$EndNodes", "$Elements", f"2 {len(rows) + 1} 1 {len(rows) + 1}"]
        lines += ["1 1 1 1", f"1 {tags[0]} {tags[1]}", f"2 1 2 {len(rows)}"]
        lines += [f"{number + 2} {row}" for number, row in enumerate(rows)]
    else:
        lines += [
            str(len(tags)),
            *(f"{tag} {place}" for tag, place in zip(tags, coords, strict=True)),
        ]
        lines += ["$EndNodes", "$Elements", str(len(rows) + 1), f"1 1 2 7 7 {tags[0]} {tags[1]}"]
        lines += [f"{number + 2} 2 2 7 7 {row}" for number, row in enumerate(rows)]
    lines += ["$EndElements"]
    names = tags if where == "Node" else np.arange(len(rows)) + 2
    for step, (time, values) in enumerate(fields.items()):
        lines += [
            f"${where}Data",
            "1",
            '"u"',
            "1",
            repr(time),
            "3",
            str(step),
            "1",
            str(len(values)),
        ]
        lines += [f"{tag} {value!r}" for tag, value in zip(names, values.tolist(), strict=True)]
        lines += [f"$End{where}Data"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("version", ["2.2", "4.1"])
@pytest.mark.parametrize("where", ["Node", "Element"])
def test_gmsh_in_letters_with_times(version, where, tmp_path):
    cells = meshes.triangle_mesh(3, where == "Element")
    random = np.random.default_rng(0)
    fields = {time: random.normal(size=cells.num_points) for time in (0.0, 0.5, 2.0)}
    (tmp_path / "a.msh").write_text(gmsh_text(version, cells, fields, where))
    found = Trajectories.open(tmp_path / "a.msh").sequences[0]
    assert found.times.tolist() == [0.0, 0.5, 2.0]
    assert np.array_equal(found.fields[:, 0], np.stack(list(fields.values())))
    ours = found.mesh.tessellation
    assert ours is not None
    assert np.array_equal(ours.nodes, cells.nodes)
    assert np.array_equal(ours.corners, cells.corners)


def test_what_is_no_field_is_left_out_and_said(tmp_path):
    meshio = pytest.importorskip("meshio")

    cells = meshes.triangle_mesh(2)
    points = np.column_stack([cells.nodes, np.zeros(len(cells.nodes))])
    data = {
        "u": np.ones(len(points)),
        "vtkGhostType": np.zeros(len(points)),
        "id": np.arange(len(points)),
    }
    meshio.Mesh(points, [("triangle", cells.corners.reshape(-1, 3))], point_data=data).write(
        tmp_path / "a.vtu"
    )
    found = open_dataset(tmp_path / "a.vtu")
    assert list(found.data_vars) == ["u"]
    assert found.attrs["left_out"] == ["vtkGhostType", "id"]
