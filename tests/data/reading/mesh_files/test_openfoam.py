"""OpenFOAM cases, in letters and binary, in space and in the plane; nothing in them is run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import meshes
from foam_cases import write_case
from smore.data import Trajectories, open_dataset
from smore.data.cells import cell_centres, cell_measures
from smore.errors import DataError

TIMES = (0.5, 0.75, 1.0)


def fields(num_cells: int) -> dict[float, dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    return {
        time: {"p": random.normal(size=num_cells), "U": random.normal(size=(num_cells, 3))}
        for time in TIMES
    }


@pytest.mark.parametrize("binary", [False, True], ids=["ascii", "binary"])
@pytest.mark.parametrize(
    "make", [meshes.tet_mesh, meshes.hex_mesh, meshes.wedge_mesh, meshes.pyramid_mesh]
)
def test_cases_in_space(make, binary, tmp_path):
    cells = make(2, True)
    values = fields(cells.num_cells)
    write_case(tmp_path / "case", cells, values, binary=binary)
    found = Trajectories.open(tmp_path / "case")
    (sequence,) = found.sequences
    assert sequence.times.tolist() == list(TIMES)
    assert [channel.name for channel in found.channels] == ["U_x", "U_y", "U_z", "p"]
    assert found.channels[0].units == "m s-1"
    for number, time in enumerate(TIMES):
        assert np.array_equal(sequence.fields[number, 3], values[time]["p"])
        assert np.array_equal(sequence.fields[number, :3].T, values[time]["U"])
    assert np.allclose(sequence.mesh.coords, cell_centres(cells, "box"))
    assert np.allclose(sequence.mesh.weights, cell_measures(cells, "box"))
    ours = sequence.mesh.tessellation
    assert ours is not None
    assert np.array_equal(ours.kinds, cells.kinds)
    # The same nodes in VTK's sense of rotation: signed volumes are positive.
    for _, which, nodes in ours.alike():
        expected = cells.corners[cells.offsets[which][:, None] + np.arange(nodes.shape[1])]
        assert np.array_equal(np.sort(nodes), np.sort(expected))


@pytest.mark.parametrize("binary", [False, True], ids=["ascii", "binary"])
def test_a_case_in_the_plane(binary, tmp_path):
    flat = meshes.quad_mesh(3, True)
    both = np.concatenate(
        [np.column_stack([flat.nodes, np.full(len(flat.nodes), z)]) for z in (0.0, 0.1)]
    )
    four = flat.corners.reshape(-1, 4)
    cells = meshes.tessellation(both, [(12, np.column_stack([four, four + len(flat.nodes)]))], True)
    values = fields(cells.num_cells)
    for arrays in values.values():
        arrays["U"][:, 2] = 0.0
    write_case(tmp_path / "case", cells, values, binary=binary, empty=True)
    (tmp_path / "case" / "case.foam").touch()
    found = Trajectories.open(tmp_path / "case" / "case.foam")
    assert found.space.names == ("x", "y")
    assert [channel.name for channel in found.channels] == ["U_x", "U_y", "p"]
    mesh = found.sequences[0].mesh
    assert np.allclose(mesh.coords, cell_centres(flat, "box"))
    assert np.allclose(mesh.weights, cell_measures(flat, "box"))
    assert np.array_equal(found.sequences[0].fields[1, 2], values[0.75]["p"])


def test_uniform_fields(tmp_path):
    cells = meshes.hex_mesh(2, True)
    write_case(tmp_path / "case", cells, fields(8), binary=False)
    path = tmp_path / "case" / "0.5" / "p"
    text = path.read_text()
    start = text.index("internalField")
    path.write_text(text[:start] + "internalField uniform 2.5;\n")
    found = Trajectories.open(tmp_path / "case")
    assert (found.sequences[0].fields[0, 3] == 2.5).all()


@pytest.mark.parametrize(
    "directive",
    [
        '#include "/etc/passwd"',
        '#codeStream { code #{ system("touch run"); #}; };',
        '#calc "1+1"',
        "#eval { 1 + 1 }",
        '#includeEtc "caseDicts/x"',
        "# include <x>",
    ],
)
@pytest.mark.parametrize(
    "name", ["constant/polyMesh/points", "constant/polyMesh/boundary", "0.5/p"]
)
@pytest.mark.parametrize("binary", [False, True], ids=["ascii", "binary"])
def test_directives_are_refused(directive, name, binary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_case(tmp_path / "case", meshes.hex_mesh(2, True), fields(8), binary=binary)
    path = tmp_path / "case" / name
    content = path.read_bytes()
    if name.endswith("p"):
        content = content.replace(b"internalField", directive.encode() + b"\ninternalField")
    else:
        content = content.replace(b"// * *", directive.encode() + b"\n// * *")
    path.write_bytes(content)
    with pytest.raises(DataError, match=path.name):
        Trajectories.open(tmp_path / "case")
    assert not (tmp_path / "run").exists()


def test_a_code_in_a_boundary_field_is_refused(tmp_path):
    write_case(tmp_path / "case", meshes.hex_mesh(2, True), fields(8), binary=False)
    path = tmp_path / "case" / "0.75" / "U"
    path.write_text(path.read_text().replace("zeroGradient;", "coded; code #{ x #};"))
    with pytest.raises(DataError, match=r"0\.75.*U holds '#\{'"):
        Trajectories.open(tmp_path / "case")


def test_files_elsewhere_are_refused(tmp_path):
    write_case(tmp_path / "case", meshes.hex_mesh(2, True), fields(8), binary=False)
    points = tmp_path / "case" / "constant" / "polyMesh" / "points"
    points.rename(tmp_path / "points")
    points.symlink_to(tmp_path / "points")
    with pytest.raises(DataError, match="outside the folder"):
        open_dataset(tmp_path / "case")


def test_other_polyhedra_are_named(tmp_path: Path) -> None:
    cells = meshes.hex_mesh(2, True)
    write_case(tmp_path / "case", cells, fields(8), binary=False)
    faces = tmp_path / "case" / "constant" / "polyMesh" / "faces"
    lines = faces.read_text().splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("4("))
    nodes = lines[first][2:-1].split()
    lines[first] = f"3({' '.join(nodes[:3])})"
    faces.write_text("\n".join(lines))
    with pytest.raises(DataError, match="2 of 8 cells are other polyhedra"):
        open_dataset(tmp_path / "case")
