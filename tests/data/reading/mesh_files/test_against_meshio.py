"""Files that another library writes, read to the last bit: cells, vectors, 2-D and 3-D."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import meshes
from smore.data import Trajectories, open_dataset
from smore.data.cells import Tessellation

meshio = pytest.importorskip("meshio")

NAMES = {5: "triangle", 9: "quad", 10: "tetra", 12: "hexahedron", 13: "wedge", 14: "pyramid",
         22: "triangle6", 7: "polygon"}  # fmt: skip
MESHES = {
    "triangles": meshes.triangle_mesh,
    "quadrilaterals": meshes.quad_mesh,
    "mixed": meshes.mixed_mesh,
    "tetrahedra": meshes.tet_mesh,
    "hexahedra": meshes.hex_mesh,
    "wedges": meshes.wedge_mesh,
    "pyramids": meshes.pyramid_mesh,
    "quadratic triangles": meshes.quadratic_mesh,
    "surface": meshes.surface_mesh,
}
WRITERS = {
    "vtu raw": (".vtu", {"binary": True, "compression": None}),
    "vtu zlib": (".vtu", {"binary": True, "compression": "zlib"}),
    "vtu lzma": (".vtu", {"binary": True, "compression": "lzma"}),
    "vtu ascii": (".vtu", {"binary": False}),
    "vtk 5.1 binary": (".vtk", {"binary": True}),
    "vtk 5.1 ascii": (".vtk", {"binary": False}),
    "vtk 4.2 binary": (".vtk", {"binary": True, "file_format": "vtk42"}),
    "vtk 4.2 ascii": (".vtk", {"binary": False, "file_format": "vtk42"}),
    "xdmf hdf": (".xdmf", {}),
    "xdmf xml": (".xdmf", {"data_format": "XML"}),
    "gmsh 4.1 binary": (".msh", {"binary": True, "file_format": "gmsh"}),
    "gmsh 2.2 binary": (".msh", {"binary": True, "file_format": "gmsh22"}),
}


def written(cells: Tessellation, where: str, path: Path, **how: object) -> dict[str, np.ndarray]:
    """Write random fields on some cells with meshio; what was written."""
    random = np.random.default_rng(0)
    points = cells.nodes
    if points.shape[1] == 2:
        points = np.column_stack([points, np.zeros(len(points))])
    blocks = [(NAMES[kind], nodes) for kind, _, nodes in cells.alike()]
    length = len(points) if where == "point" else cells.num_cells
    fields = {"p": random.normal(size=length), "U": random.normal(size=(length, 3))}
    if cells.nodes.shape[1] == 2:
        fields["U"][:, 2] = 0.0
    if where == "point":
        mesh = meshio.Mesh(points, blocks, point_data=fields)
    else:
        order = [which for _, which, _ in cells.alike()]
        split = {name: [values[which] for which in order] for name, values in fields.items()}
        mesh = meshio.Mesh(points, blocks, cell_data=split)
    mesh.write(path, **how)
    return fields


def same(found: np.ndarray, expected: np.ndarray, writer: str) -> bool:
    """To the last bit, or to as many digits as meshio writes out in letters."""
    if writer == "vtu ascii":
        return np.allclose(found, expected, rtol=1e-11, atol=0)
    return np.array_equal(found, expected)


@pytest.mark.parametrize("where", ["point", "cell"])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("kind", MESHES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_read_as_written(kind, writer, where, tmp_path):
    suffix, how = WRITERS[writer]
    cells = MESHES[kind](2)
    if kind == "mixed" and writer == "gmsh 4.1 binary":
        pytest.skip("meshio does not write it")
    path = tmp_path / f"mesh{suffix}"
    fields = written(cells, where, path, **how)
    found = Trajectories.open(path)
    (sequence,) = found.sequences
    mesh = sequence.mesh
    assert mesh.tessellation is not None
    assert same(mesh.tessellation.nodes, cells.nodes, writer)
    assert mesh.tessellation.on_cells == (where == "cell")
    # meshio writes one kind after the other
    expected = np.concatenate([nodes.ravel() for _, _, nodes in cells.alike()])
    if kind == "wedges" and not writer.startswith("xdmf"):  # meshio has Gmsh's order in memory
        expected = expected.reshape(-1, 6)[:, [0, 2, 1, 3, 5, 4]].ravel()
    assert mesh.tessellation.corners.tolist() == expected.tolist()
    dim = cells.nodes.shape[1]
    names = [channel.name for channel in found.channels]
    assert sorted(names) == sorted(["p", *(f"U_{axis}" for axis in "xyz"[:dim])])
    order = (
        np.concatenate([which for _, which, _ in cells.alike()]) if where == "cell" else slice(None)
    )
    for name, values in zip(names, sequence.fields[0], strict=True):
        told = fields["p"] if name == "p" else fields["U"][:, "xyz".index(name[-1])]
        assert same(values, told[order], writer), name
    assert mesh.weights.sum() == pytest.approx(
        np.pi / 2 if kind == "surface" else 1.0, rel=0.1 if kind == "surface" else 1e-9
    )


def test_vectors_out_of_the_plane_are_kept(tmp_path):
    cells = meshes.triangle_mesh(2)
    points = np.column_stack([cells.nodes, np.zeros(len(cells.nodes))])
    fields = {"U": np.ones((len(points), 3))}
    mesh = meshio.Mesh(points, [("triangle", cells.corners.reshape(-1, 3))], point_data=fields)
    mesh.write(tmp_path / "a.vtu")
    assert list(open_dataset(tmp_path / "a.vtu").data_vars) == ["U_x", "U_y", "U_z"]


def test_time_series(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where meshio puts the HDF5 file
    cells = meshes.mixed_mesh(2)
    points = np.column_stack([cells.nodes, np.zeros(len(cells.nodes))])
    blocks = [(NAMES[kind], nodes) for kind, _, nodes in cells.alike()]
    fields = np.random.default_rng(0).normal(size=(4, len(points)))
    times = [0.5, 1.0, 1.75, 2.0]
    with meshio.xdmf.TimeSeriesWriter("a.xdmf") as writer:
        writer.write_points_cells(points, blocks)
        for time, field in zip(times, fields, strict=True):
            writer.write_data(time, point_data={"p": field})
    found = Trajectories.open(tmp_path / "a.xdmf").sequences[0]
    assert found.times.tolist() == times
    assert np.array_equal(found.fields[:, 0], fields)
