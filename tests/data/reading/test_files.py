"""Files are written whole or not at all, and what cannot be read is said so."""

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from smore.data import Trajectories
from smore.data.reading.files import save_dataset
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


@pytest.mark.parametrize("lazy", [False, True])
def test_a_disk_without_room_is_refused_before_writing(
    scattered: xr.Dataset, lazy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.nc"
    dataset = scattered.chunk(sequence=1) if lazy else scattered
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5000))
    told = rf"{path} takes \d+\.\dKB, and .* has 5\.0KB free; make room"
    with pytest.raises(DataError, match=told):
        save_dataset(dataset, path)
    assert not list(tmp_path.iterdir())


def test_a_netcdf_file_takes_no_more_than_is_asked_for(
    scattered: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = xr.merge([scattered.rename({"u": f"u{number}"}) for number in range(40)])
    for number, dataset in enumerate([scattered, many, many.chunk(sequence=1)]):
        path = tmp_path / f"{number}.nc"
        save_dataset(dataset, path)
        size = path.stat().st_size
        monkeypatch.setattr(shutil, "disk_usage", lambda _, size=size: SimpleNamespace(free=size))
        with pytest.raises(DataError, match="make room"):
            save_dataset(dataset, path)
        monkeypatch.undo()


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_failing_write_names_the_file(
    scattered: xr.Dataset, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"data{suffix}"

    def full(_: xr.Dataset, target: Path, **__: object) -> None:
        target.mkdir()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(xr.Dataset, "to_netcdf", full)
    monkeypatch.setattr(xr.Dataset, "to_zarr", full)
    with pytest.raises(DataError, match=f"{path} cannot be written: No space left on device; make"):
        save_dataset(scattered, path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=rf"file/data\{suffix} cannot be written: "):
        save_dataset(scattered, tmp_path / "file" / path.name)


def test_values_stay_when_the_file_is_gone(scattered: xr.Dataset, tmp_path: Path) -> None:
    scattered.to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
    trajectories = Trajectories.open(tmp_path / "data.nc")
    (tmp_path / "data.nc").unlink()
    np.testing.assert_array_equal(trajectories.sequences[2].fields[:, 0], scattered["u"][2])


def test_what_cannot_be_opened(scattered: xr.Dataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nothing.nc"):
        Trajectories.open(tmp_path / "nothing.nc")
    with pytest.raises(DataError, match=r"ending in \.nc, .*\.zarr, .* got .*data.csv"):
        Trajectories.open(tmp_path / "data.csv")
    with pytest.raises(DataError, match="ending in"):
        Trajectories.from_xarray(scattered).save(tmp_path / "data.csv")
    (tmp_path / "text.nc").write_text("hello\nworld\n")
    with pytest.raises(DataError, match=r"text.nc is not NetCDF \(it begins with 'hello'\); expec"):
        Trajectories.open(tmp_path / "text.nc")
    (tmp_path / "nothing.h5").touch()
    with pytest.raises(DataError, match=r"nothing.h5 is not NetCDF \(it is empty\)"):
        Trajectories.open(tmp_path / "nothing.h5")
    scattered.to_netcdf(tmp_path / "whole.nc", engine="h5netcdf")
    (tmp_path / "half.nc").write_bytes((tmp_path / "whole.nc").read_bytes()[:200])
    with pytest.raises(DataError, match=r"cannot read .*half.nc"):
        Trajectories.open(tmp_path / "half.nc")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(DataError, match=r"cannot read .*empty.zarr"):
        Trajectories.open(tmp_path / "empty.zarr")
