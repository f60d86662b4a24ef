"""`smore modes` as a user meets it, on the planted model of travelling waves."""

import json

import numpy as np
import pytest
import torch
import typer
import xarray as xr
from typer.testing import CliRunner

from smore.cli.modes import modes
from smore.cli.output import console
from smore.errors import DataError, SettingsError
from waves import DAMPING, places, planted, trajectories

app = typer.Typer()
app.command()(modes)


def run(*arguments, code=0):
    """Run the command; returns what it printed."""
    console.width = 120  # whatever terminal the tests run in
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if code == 0 and result.exception is not None:
        raise result.exception
    assert result.exit_code == code
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("modes")
    dataset = trajectories().to_xarray()
    dataset["time"].attrs["units"] = "h"
    planted(dataset).save(place / "waves.smore")
    every = np.arange(40)
    index = [np.sort([0, 1, *np.roll(every[2:], shift)[:30]]) for shift in range(6)]
    planted(trajectories().at_points(index)).save(place / "unshared.smore")
    growing = planted(dataset)
    with torch.no_grad():
        growing.surrogate_.dynamics.linear += 0.1 * torch.eye(16)
    growing.save(place / "growing.smore")
    dataset.isel(sequence=0, time=[0], point=slice(0, 20)).to_netcdf(place / "sensors.nc")
    return place


def test_the_table_lists_periods_with_units(folder):
    printed = run(folder / "waves.smore", "--count", 3)
    assert "strongest 3 of 8 modes" in printed
    for column in ("period (h)", "frequency (1/h)", "growth rate (1/h)", "e-folding (h)", "share"):
        assert column in printed
    rows = [line.split("│")[1:-1] for line in printed.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == ["1", "2", "3"]
    assert [row[1].strip() for row in rows] == ["4", "5", "6.67"]
    assert [row[3].strip() for row in rows] == ["-0.1"] * 3
    assert "linear dynamics" in printed
    assert "caution" not in printed


def test_json_has_every_number(folder):
    result = json.loads(run(folder / "waves.smore", "--json"))
    assert result["about"] == "linear dynamics"
    assert result["time_units"] == "h"
    assert result["cautions"] == []
    assert len(result["modes"]) == result["num_modes"] == 8
    first = result["modes"][0]
    assert first["period"] == pytest.approx(4, rel=1e-5)
    assert first["frequency"] == pytest.approx(0.25, rel=1e-5)
    assert first["growth_rate"] == pytest.approx(-DAMPING, rel=1e-5)
    assert first["efolding_time"] == pytest.approx(1 / DAMPING, rel=1e-5)
    assert first["pair"] is True
    assert sum(row["amplitude_share"] for row in result["modes"]) == pytest.approx(1)


@pytest.mark.parametrize("name", ["modes.nc", "modes.zarr"])
def test_fields_and_figure_are_written(folder, name):
    figure = folder / "modes.png"
    printed = run(*(folder / "waves.smore", "--count", 3, "-o", folder / name, "--figure", figure))
    assert name in printed
    assert figure.stat().st_size > 10_000
    opened = (
        xr.open_zarr(folder / name, consolidated=False)
        if name.endswith("zarr")
        else xr.open_dataset(folder / name)
    )
    with opened as fields:
        assert fields["u"].dims == ("part", "mode", "point")
        assert fields["u"].shape == (2, 3, 40)
        assert fields["u"].attrs["units"] == "m"
        assert fields["period"].attrs["units"] == "h"
        np.testing.assert_allclose(fields["period"].values, [4, 5, 20 / 3], rtol=1e-5)
        np.testing.assert_allclose(fields["x"], places()[:, 0])


def test_a_model_without_a_mesh_needs_points_for_fields_only(folder):
    unshared, output = folder / "unshared.smore", folder / "there.nc"
    figure = folder / "spectrum.png"
    assert "strongest 8" in run(unshared, "--figure", figure)
    assert figure.exists()
    with pytest.raises(DataError, match="--points"):
        run(unshared, "-o", output)
    run(unshared, "-o", output, "--points", folder / "sensors.nc")
    with xr.open_dataset(output) as fields:
        assert fields.sizes["point"] == 20


def test_growth_is_cautioned_against(folder):
    printed = run(folder / "growing.smore")
    assert "caution: 4 of the modes that matter grow" in printed
    result = json.loads(run(folder / "growing.smore", "--json"))
    assert len(result["cautions"]) == 1


def test_what_cannot_be_written_is_refused(folder):
    with pytest.raises(SettingsError, match="figures end in"):
        run(folder / "waves.smore", "--figure", "modes.docx")
    with pytest.raises(DataError, match=r"modes\.txt"):
        run(folder / "waves.smore", "-o", "modes.txt")
    run(folder / "waves.smore", "--count", 0, code=2)
