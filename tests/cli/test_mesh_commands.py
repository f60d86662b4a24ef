"""From VTU to VTU at the command line, on an L-shape: what is outside it stays outside."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from pictured_shapes import l_shape
from smore import SMORE, Trajectories
from smore.cli.app import app
from smore.data import Channel, Clock, Sequence, Space, tessellated_mesh
from smore.errors import OutsideDomainWarning

runner = CliRunner()
TIMES = 0.25 * np.arange(24)


def run(*words: object) -> str:
    result = runner.invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module", params=[False, True], ids=["nodes", "cells"])
def folder(request, tmp_path_factory):
    """A rotating pair of waves as flow.pvd, and the model that was fitted to it."""
    where = tmp_path_factory.mktemp("mesh")
    mesh = tessellated_mesh(l_shape(request.param), "box")
    x, y = mesh.coords.T
    shapes = np.stack([np.cos(3 * x) * np.sin(2 * y + 1), np.sin(3 * x + y)])
    codes = np.stack([np.cos(1.3 * TIMES), np.sin(1.3 * TIMES)], axis=1)
    flow = codes @ shapes
    fields = np.stack([flow, 0.5 * flow[:, ::-1] * 0 + 0.5 * codes[:, ::-1] @ shapes], axis=1)
    data = Trajectories(
        (Sequence(TIMES, fields, mesh),),
        tuple(
            Channel(name=f"U_{axis}", units="m s-1", long_name=f"{axis} component of U")
            for axis in "xy"
        ),
        Space(names=("x", "y"), units=("m", "m")),
        Clock(units="s"),
        (0,),
    )
    data.save(where / "flow.pvd")
    run("fit", where / "flow.pvd", "-o", where / "flow.smore")
    return where


def test_info_tells_the_cells(folder):
    told = json.loads(run("data", "info", folder / "flow.pvd", "--json"))
    assert re.fullmatch(r"\d+, (values at their nodes|one value a cell)", told["cells"])
    assert [channel["name"] for channel in told["channels"]] == ["U_x", "U_y"]
    assert "cells" in run("data", "info", folder / "flow.pvd")


@pytest.mark.parametrize("name", ["forecast.pvd", "forecast.xdmf", "forecast.nc"])
def test_forecasts_come_with_the_cells_as_they_came(folder, name):
    run(
        "forecast",
        folder / "flow.smore",
        folder / "flow.pvd",
        "--times",
        "1,2.5",
        "-o",
        folder / name,
    )
    truth = Trajectories.open(folder / "flow.pvd").sequences[0]
    found = Trajectories.open(folder / name, channels=["U_x", "U_y"]).sequences[0]
    assert found.times.tolist() == [1.0, 2.5]
    assert found.mesh.tessellation.digest == truth.mesh.tessellation.digest
    assert np.abs(found.fields - truth.fields[[4, 10]]).max() < 0.02
    beside = Trajectories.open(folder / name, channels=["U_x_std"])
    assert beside.channels[0].units == "m s-1"
    assert (beside.sequences[0].fields > 0).all()


def test_modes_as_vtu(folder):
    run("modes", folder / "flow.smore", "--count", 2, "-o", folder / "modes.vtu")
    found = Trajectories.open(folder / "modes.vtu")
    names = [channel.name for channel in found.channels]
    assert {"U_x_real_mode1", "U_y_imaginary_mode1"} <= set(names)
    assert found.channels[0].units == "m s-1"


def test_figures_are_written(folder):
    for words in (
        ("evaluate", folder / "flow.smore", folder / "flow.pvd"),
        ("modes", folder / "flow.smore"),
        ("sensors", folder / "flow.smore", "--count", 4, "-o", folder / "sensors.csv"),
    ):
        run(*words, "--figure", folder / f"{words[0]}.png")
        assert (folder / f"{words[0]}.png").stat().st_size > 5000


def test_outside_the_cells_is_outside(folder):
    model = SMORE.load(folder / "flow.smore")
    data = Trajectories.open(folder / "flow.pvd")
    places = np.array([[0.75, 0.25], [0.25, 0.25], [0.75, 0.75], [0.3, 0.8]])
    with pytest.warns(OutsideDomainWarning, match=r"2 of 4 points .* by up to 0\.2\d* m; .* NaN"):
        found = model.forecast(data, [1.0], points=places)
    inside = np.isfinite(found["U_x"].values.ravel())
    assert inside.tolist() == [True, False, False, True]
    assert np.array_equal(np.isfinite(found["U_x_std"].values.ravel()), inside)
    grid = np.stack(np.meshgrid(np.linspace(0.05, 0.95, 12), np.linspace(0.05, 0.95, 12)), -1)
    with pytest.warns(OutsideDomainWarning):
        plan = model.place_sensors(10, candidates=grid.reshape(-1, 2))
    hole = (np.abs(plan.coords - 0.25) < 0.06).all(axis=1)
    assert not (hole | (plan.coords > 0.56).all(axis=1)).any()


def test_another_mesh_of_the_same_domain_is_inside(folder):
    model = SMORE.load(folder / "flow.smore")
    other = tessellated_mesh(l_shape(True), "box")
    found = model.forecast(Trajectories.open(folder / "flow.pvd"), [1.0], points=other)
    assert np.isfinite(found["U_x"].values).all()


@pytest.mark.parametrize("name", ["flow.nc", "flow.zarr", "again.pvd", "again.xdmf"])
def test_convert(folder, name):
    assert "U_x, U_y" in run("data", "convert", folder / "flow.pvd", folder / name)
    ours, theirs = (Trajectories.open(folder / each).sequences[0] for each in (name, "flow.pvd"))
    assert np.array_equal(ours.fields, theirs.fields)
    assert ours.mesh.tessellation.digest == theirs.mesh.tessellation.digest
    assert np.array_equal(ours.mesh.weights, theirs.mesh.weights)


def test_points_of_a_mesh_file(folder):
    run("forecast", folder / "flow.smore", folder / "flow.pvd", "--times", "1", "--points",
        folder / "flow.pvd", "-o", folder / "there.vtu")  # fmt: skip
    found = Trajectories.open(folder / "there.vtu", channels=["U_x"]).sequences[0]
    assert found.mesh.tessellation.num_cells > 100


def test_convert_takes_what_options_ask_for(folder):
    run("data", "convert", folder / "flow.pvd", folder / "part.xdmf", "--channels", "U_y",
        "--select", "time=1:2")  # fmt: skip
    found = Trajectories.open(folder / "part.xdmf")
    whole = Trajectories.open(folder / "flow.pvd").sequences[0]
    assert [channel.name for channel in found.channels] == ["U_y"]
    assert found.sequences[0].times.tolist() == [1.0, 1.25, 1.5, 1.75, 2.0]
    assert np.array_equal(found.sequences[0].fields[:, 0], whole.fields[4:9, 1])
    assert found.sequences[0].mesh.tessellation.digest == whole.mesh.tessellation.digest


def test_info_says_what_told_of_the_cells(folder):
    told = json.loads(run("data", "info", folder / "flow.pvd", "--json"))["reading"]
    parts = [each["part"] for each in told["taken"]]
    assert parts == ["time", "coordinate", "coordinate", "channel", "channel", "cells"]
    assert told["left_out"] == []
