"""Files are written whole or not at all, and what cannot be read is said so."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from smore.data import Trajectories
from smore.errors import DataError


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_an_older_file_is_replaced(scattered: xr.Dataset, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / f"data{suffix}"
    Trajectories.from_xarray(scattered).save(path)
    Trajectories.from_xarray(scattered.isel(sequence=[0])).save(path)
    assert len(Trajectories.open(path)) == 1
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_an_interrupted_write_leaves_the_older_file(
    scattered: xr.Dataset, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"data{suffix}"
    trajectories = Trajectories.from_xarray(scattered)
    trajectories.save(path)

    def interrupted(_: xr.Dataset, target: Path, **__: object) -> None:
        target.write_bytes(b"half a file")
        raise KeyboardInterrupt

    monkeypatch.setattr(xr.Dataset, "to_netcdf", interrupted)
    monkeypatch.setattr(xr.Dataset, "to_zarr", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trajectories.leading(1).save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert Trajectories.open(path).sequences[0].num_snapshots == 4


def test_values_stay_when_the_file_is_gone(scattered: xr.Dataset, tmp_path: Path) -> None:
    scattered.to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
    trajectories = Trajectories.open(tmp_path / "data.nc")
    (tmp_path / "data.nc").unlink()
    np.testing.assert_array_equal(trajectories.sequences[2].fields[:, 0], scattered["u"][2])


def test_what_cannot_be_opened(scattered: xr.Dataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nothing.nc"):
        Trajectories.open(tmp_path / "nothing.nc")
    with pytest.raises(DataError, match=r"ending in \.nc, \.nc4, \.h5, \.zarr, got .*data.csv"):
        Trajectories.open(tmp_path / "data.csv")
    with pytest.raises(DataError, match="ending in"):
        Trajectories.from_xarray(scattered).save(tmp_path / "data.csv")
    (tmp_path / "text.nc").write_text("not a dataset")
    with pytest.raises(DataError, match=r"cannot read .*text.nc"):
        Trajectories.open(tmp_path / "text.nc")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(DataError, match=r"cannot read .*empty.zarr"):
        Trajectories.open(tmp_path / "empty.zarr")
