"""Datasets that tell of cells are read by the same rules as all others, and keep them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from smore.data import Trajectories
from smore.errors import DataError

TRIANGLES = [[0, 1, 2], [1, 3, 2], [1, 4, 3]]


def dataset(times: range = range(6), *, radians: bool = False) -> xr.Dataset:
    """Three triangles on a sphere with values at the nodes and in the cells, by UGRID."""
    told = {
        "cf_role": "mesh_topology",
        "topology_dimension": 2,
        "node_coordinates": "node_lon node_lat",
        "face_node_connectivity": "corners",
    }
    places = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 6.0], [8.0, 6.0], [16.0, 1.0]])
    if radians:
        places = np.deg2rad(places)
    east, north = (
        {"units": "rad" if radians else f"degrees_{way}", "standard_name": name}
        for way, name in (("east", "longitude"), ("north", "latitude"))
    )
    when = np.array(times, float)
    return xr.Dataset(
        {
            "mesh": ((), 0, told),
            "corners": (("face", "three"), np.array(TRIANGLES)),  # no cf_role of its own
            "h": (("time", "node"), np.cos(when)[:, None] * np.arange(1.0, 6)),
            "q": (("time", "face"), np.sin(when)[:, None] + np.arange(3.0)),
            "node_lon": (("node",), places[:, 0], east),
            "node_lat": (("node",), places[:, 1], north),
        },
        coords={"time": ("time", when, {"units": "s"})},
    )


def test_what_describes_a_mesh_is_no_channel_and_values_elsewhere_are_left_out() -> None:
    found = Trajectories.from_xarray(dataset())
    assert [channel.name for channel in found.channels] == ["h"]
    assert found.reading is not None
    parts = {each.name: each.part for each in found.reading.taken}
    assert parts == {
        "time": "time", "node_lat": "coordinate", "node_lon": "coordinate",
        "h": "channel", "mesh": "cells",
    }  # fmt: skip
    assert [each.name for each in found.reading.left_out] == ["q"]
    assert "--channels" in found.reading.left_out[0].why
    in_cells = Trajectories.from_xarray(dataset(), channels=["q"])
    assert in_cells.sequences[0].mesh.tessellation.on_cells
    assert [each.name for each in in_cells.reading.left_out] == ["h"]


def test_nodes_in_radians_are_the_same_nodes() -> None:
    degrees, radians = (
        Trajectories.from_xarray(dataset(radians=each)).sequences[0].mesh for each in (False, True)
    )
    assert np.allclose(radians.coords, degrees.coords, rtol=0, atol=1e-13)
    assert np.allclose(radians.tessellation.nodes, degrees.tessellation.nodes, rtol=0, atol=1e-13)
    assert np.allclose(radians.weights, degrees.weights, rtol=1e-12)


@pytest.mark.parametrize("channel", ["h", "q"])
@pytest.mark.parametrize("lazy", [False, True])
def test_files_that_follow_each_other_keep_their_cells(
    channel: str, lazy: bool, tmp_path: Path
) -> None:
    dataset(range(3)).to_netcdf(tmp_path / "a.nc")
    dataset(range(3, 6)).to_netcdf(tmp_path / "b.nc")
    found = Trajectories.open([tmp_path / "a.nc", tmp_path / "b.nc"], channels=[channel], lazy=lazy)
    whole = Trajectories.from_xarray(dataset(), channels=[channel]).sequences[0]
    ours = found.sequences[0].load()
    assert np.array_equal(ours.fields, whole.fields)
    assert ours.mesh.tessellation.digest == whole.mesh.tessellation.digest
    assert np.array_equal(ours.mesh.weights, whole.mesh.weights)


def test_files_with_other_cells_do_not_follow_each_other(tmp_path: Path) -> None:
    other = dataset(range(3, 6))
    other["corners"] = (("face", "three"), np.array([[0, 1, 3], [0, 3, 2], [1, 4, 3]]))
    dataset(range(3)).to_netcdf(tmp_path / "a.nc")
    other.to_netcdf(tmp_path / "b.nc")
    with pytest.raises(DataError, match="same points"):
        Trajectories.open([tmp_path / "a.nc", tmp_path / "b.nc"])


def test_a_part_of_it() -> None:
    found = Trajectories.from_xarray(dataset(), select={"time": (2, 4)}).sequences[0]
    assert found.times.tolist() == [2.0, 3.0, 4.0]
    assert found.mesh.tessellation.num_cells == 3
    cells = Trajectories.from_xarray(dataset(), channels=["q"], select={"face": (1, 2)})
    assert cells.sequences[0].mesh.tessellation.num_cells == 2


def test_coordinates_that_the_nodes_do_not_have() -> None:
    told = dataset().assign(depth=(("node",), np.arange(5.0)))
    with pytest.raises(DataError, match="nodes of the cells have the coordinates"):
        Trajectories.from_xarray(told, coordinate_names=["node_lon", "node_lat", "depth"])
