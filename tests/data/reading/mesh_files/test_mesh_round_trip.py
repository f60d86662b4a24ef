"""What is written is read again to the last bit: cells, vectors, times, names and units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import meshes
from smore.data import Channel, Clock, Sequence, Space, Trajectories, open_dataset, save_dataset
from smore.data.quadrature import tessellated_mesh
from smore.errors import DataError

MESHES = {
    "triangles": meshes.triangle_mesh,
    "mixed": meshes.mixed_mesh,
    "polygons": meshes.polygon_mesh,
    "quadratic": meshes.quadratic_mesh,
    "tetrahedra": meshes.tet_mesh,
    "hexahedra": meshes.hex_mesh,
    "wedges": meshes.wedge_mesh,
    "pyramids": meshes.pyramid_mesh,
    "surface": meshes.surface_mesh,
    "sphere": meshes.sphere_mesh,
}


def trajectories(kind: str, on_cells: bool, dtype: type = np.float64) -> Trajectories:
    """A scalar and a vector, random, at three times, on a small mesh."""
    geometry = "sphere" if kind == "sphere" else "box"
    mesh = tessellated_mesh(MESHES[kind](2, on_cells), geometry)
    names = ("latitude", "longitude") if geometry == "sphere" else tuple("xyz"[: mesh.dim])
    units = ("degrees_north", "degrees_east") if geometry == "sphere" else ("m",) * mesh.dim
    axes = "xyz"[: mesh.dim]
    channels = [Channel(name="p", units="Pa")]
    channels += [
        Channel(name=f"U_{axis}", units="m s-1", long_name=f"{axis} component of U")
        for axis in axes
    ]
    shape = (3, len(channels), mesh.num_points)
    fields = np.random.default_rng(1).normal(size=shape).astype(dtype)
    return Trajectories(
        (Sequence(np.array([0.1, 0.25, 1e3]), fields, mesh),),
        tuple(channels),
        Space(names=names, units=units, geometry=geometry),
        Clock(units="s"),
        (0,),
    )


def same(found: Trajectories, expected: Trajectories) -> None:
    assert found.space == expected.space
    assert found.clock == expected.clock
    assert {c.name: c.units for c in found.channels} == {c.name: c.units for c in expected.channels}
    found = found.select_channels([channel.name for channel in expected.channels])
    ours, theirs = found.sequences[0], expected.sequences[0]
    assert np.array_equal(ours.times, theirs.times)
    assert ours.fields.dtype == theirs.fields.dtype
    assert np.array_equal(ours.fields, theirs.fields)
    cells, written = ours.mesh.tessellation, theirs.mesh.tessellation
    assert cells is not None
    assert written is not None
    assert cells.digest == written.digest
    assert np.array_equal(ours.mesh.coords, theirs.mesh.coords)
    assert np.array_equal(ours.mesh.weights, theirs.mesh.weights)


@pytest.mark.parametrize("on_cells", [False, True], ids=["points", "cells"])
@pytest.mark.parametrize("suffix", [".pvd", ".xdmf", ".nc", ".zarr"])
@pytest.mark.parametrize("kind", MESHES)
def test_round_trip(kind, suffix, on_cells, tmp_path):
    data = trajectories(kind, on_cells)
    path = tmp_path / f"flow{suffix}"
    data.save(path)
    same(Trajectories.open(path), data)
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


@pytest.mark.parametrize("suffix", [".pvd", ".xdmf"])
def test_single_precision_stays(suffix, tmp_path):
    data = trajectories("triangles", False, np.float32)
    data.save(tmp_path / f"flow{suffix}")
    same(Trajectories.open(tmp_path / f"flow{suffix}"), data)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("suffix", [".pvd", ".xdmf"])
def test_pieces_give_the_same(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr("smore.data.reading.mesh_files._plans.BLOCK_BYTES", 300)
    data = trajectories("mixed", True)
    data.save(tmp_path / f"flow{suffix}")
    lazy = Trajectories.open(tmp_path / f"flow{suffix}", lazy=True)
    assert lazy.is_lazy
    same(lazy.load(), data)
    lazy.save(tmp_path / f"again{suffix}")
    same(Trajectories.open(tmp_path / f"again{suffix}"), data)


def test_dates(tmp_path):
    data = trajectories("triangles", False).to_xarray()
    data = data.assign_coords(time=np.array(["2001-02-03", "2001-02-04", "2001-03-01"], "M8[ns]"))
    for suffix in (".pvd", ".xdmf"):
        save_dataset(data, tmp_path / f"a{suffix}")
        found = open_dataset(tmp_path / f"a{suffix}")
        assert (found["time"].values == data["time"].values).all()


def test_one_time_is_one_file(tmp_path):
    data = trajectories("tetrahedra", False)
    data.leading(1).save(tmp_path / "one.vtu")
    same(Trajectories.open(tmp_path / "one.vtu"), data.leading(1))
    with pytest.raises(DataError, match="holds one time, got 3"):
        data.save(tmp_path / "three.vtu")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one.vtu"]


def test_names_that_xml_does_not_like(tmp_path):
    data = trajectories("triangles", False)
    strange = data.to_xarray().rename(p='a<b>&"c"')
    for suffix in (".pvd", ".xdmf"):
        save_dataset(strange, tmp_path / f"a{suffix}")
        assert 'a<b>&"c"' in open_dataset(tmp_path / f"a{suffix}").data_vars


def test_a_file_is_replaced_and_others_are_not(tmp_path):
    data = trajectories("triangles", False)
    data.save(tmp_path / "a.pvd")
    data.leading(1).save(tmp_path / "a.pvd")
    assert Trajectories.open(tmp_path / "a.pvd").sequences[0].num_snapshots == 1
    assert len(list((tmp_path / "a").iterdir())) == 1
    (tmp_path / "a" / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match="holds other files"):
        data.save(tmp_path / "a.pvd")
    assert (tmp_path / "a" / "thesis.tex").exists()


def test_points_without_cells_are_no_mesh_file(tmp_path: Path) -> None:
    data = Trajectories.from_arrays(
        np.ones((1, 2, 1, 5)), np.random.default_rng(0).uniform(size=(5, 2)), np.arange(2.0)
    )
    with pytest.raises(DataError, match="these have none"):
        data.save(tmp_path / "a.pvd")


def test_series_json(tmp_path):
    data = trajectories("triangles", False)
    data.save(tmp_path / "a.pvd")
    entries = ", ".join(
        f'{{"name": "a/a_{n:05d}.vtu", "time": {t}}}' for n, t in enumerate((0.1, 0.25, 1e3))
    )
    (tmp_path / "a.vtu.series").write_text(f'{{"files": [{entries}]}}')
    same(Trajectories.open(tmp_path / "a.vtu.series"), data)


def test_a_mesh_that_moves_is_refused(tmp_path):
    data = trajectories("triangles", False)
    data.save(tmp_path / "a.pvd")
    other = data.to_xarray()
    other["x"] = other["x"] * 1.5
    save_dataset(other.isel(time=[1]), tmp_path / "b.vtu")
    (tmp_path / "b.vtu").replace(tmp_path / "a" / "a_00001.vtu")
    with pytest.raises(DataError, match="meshes that move"):
        Trajectories.open(tmp_path / "a.pvd")


def test_point_data_first_cell_data_if_asked_for(tmp_path):
    points, cells = (trajectories("triangles", on_cells).to_xarray() for on_cells in (False, True))
    cell_dim = points["mesh_face_shape"].dims[0]
    both = points.assign(
        q=xr.Variable(("sequence", "time", cell_dim), cells["p"].values, {"units": "K"})
    )
    both.to_netcdf(tmp_path / "both.nc")
    assert "q" not in [c.name for c in Trajectories.open(tmp_path / "both.nc").channels]
    found = Trajectories.open(tmp_path / "both.nc", channels=["q"])
    assert np.array_equal(found.sequences[0].fields[:, 0], cells["p"].values[0])
    assert np.allclose(found.sequences[0].mesh.coords[:, 0], cells["x"].values)
