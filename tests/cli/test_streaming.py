"""Commands on files that are larger than the memory they are given."""

import json

import numpy as np
import pytest
import xarray as xr
from test_commands import smore

from smore.cli import forecast as command
from streamed import flow, write

QUICK = ("--decoder-steps", 20, "--dynamics-steps", 2, "--latent-dim", 4, "--hidden-dim", 16)
TIMES = "3.0,3.5"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file, with a model that was fitted to it in memory and its forecast."""
    place = tmp_path_factory.mktemp("large")
    write(flow("f8"), place)
    smore("fit", "flow.zarr", "-o", "whole.smore", *QUICK, folder=place)
    smore("forecast", "whole.smore", "flow.zarr", "--times", TIMES, "-o", "small.nc", folder=place)
    return place


def test_a_streamed_fit_and_its_evaluation_are_those_in_memory(folder):
    """The fields take 48 kB, more than a quarter of the bound."""
    smore("fit", "flow.zarr", "-o", "some.smore", *QUICK, "--memory", "100KB", folder=folder)
    scores = [
        json.loads(smore("evaluate", model, "flow.zarr", "--json", folder=folder)[0])
        for model in ("whole.smore", "some.smore")
    ]
    for name in ("full_mse", "persistence_mse", "climatology_mse"):
        assert scores[1][name] == pytest.approx(scores[0][name], rel=1e-2)


@pytest.mark.filterwarnings("ignore::smore.errors.UnobservedWarning")
@pytest.mark.parametrize("name", ["large.nc", "large.zarr"])
def test_a_large_forecast_is_the_same_forecast(name, folder, monkeypatch):
    monkeypatch.setattr(command, "LARGE_FORECAST", 0)
    monkeypatch.setattr("smore.surrogate._lazy_forecast.SLAB_BYTES", 2000)
    command.forecast(
        folder / "whole.smore", folder / "flow.zarr", times=TIMES, output=folder / name
    )
    with xr.open_dataset(folder / "small.nc") as small:
        written = xr.open_zarr if name.endswith("zarr") else xr.open_dataset
        options = {"consolidated": False} if name.endswith("zarr") else {}
        with written(folder / name, **options) as large:
            assert np.isfinite(large["u1_std"]).all()
            xr.testing.assert_allclose(large.load(), small, rtol=1e-4, atol=1e-5)
            assert large["u0"].attrs == small["u0"].attrs


def test_info_reads_a_large_file_too(folder, monkeypatch, capsys):
    from smore.cli import data

    monkeypatch.setattr(data, "LOOKED_AT", 0)
    data.info([folder / "flow.zarr"], as_json=True)
    assert json.loads(capsys.readouterr().out)["channels"][1]["mean"] is None
    data.info([folder / "flow.zarr"], values=True, as_json=True)
    found = json.loads(capsys.readouterr().out)
    expected = flow("f8")["u1"]
    assert found["channels"][1]["mean"] == pytest.approx(float(expected.mean()), abs=1e-9)
    assert found["channels"][1]["std"] == pytest.approx(float(expected.std()), rel=1e-9)
