"""NetCDF and Zarr files."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import xarray as xr

from smore.errors import DataError

NETCDF_SUFFIXES = (".nc", ".nc4", ".h5")
ZARR_SUFFIX = ".zarr"
CSV_SUFFIX = ".csv"  # observations only


@contextmanager
def open_dataset(path: str | PathLike[str]) -> Iterator[xr.Dataset]:
    """The dataset in a file, whose values are read when they are needed.

    Raises:
        DataError: there is no such file, or it is not NetCDF or Zarr.
    """
    path = require_data_format(path)
    if not path.exists():
        raise DataError(f"there is no file {path}")
    try:
        if path.suffix == ZARR_SUFFIX:
            dataset = xr.open_zarr(path, consolidated=False, chunks=None)
        else:
            # No engine by name: classic NetCDF 3 files end in .nc too, and xarray can tell.
            dataset = xr.open_dataset(path, cache=False)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"cannot read {path} as NetCDF or Zarr: {error}") from error
    with dataset:
        yield dataset


def save_dataset(dataset: xr.Dataset, path: str | PathLike[str]) -> None:
    """Write a file that is either complete or not there; an older one is replaced at the end."""
    path = require_data_format(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    try:
        if path.suffix == ZARR_SUFFIX:
            dataset.to_zarr(unfinished, consolidated=False)
        else:
            dataset.to_netcdf(unfinished, engine="h5netcdf")
            _sync(unfinished)
        _replace(unfinished, path)
    finally:
        _remove(unfinished)


def require_data_format(path: str | PathLike[str]) -> Path:
    """Refuse a file name that is neither NetCDF nor Zarr, before any work is done."""
    path = Path(path)
    if path.suffix not in (*NETCDF_SUFFIXES, ZARR_SUFFIX):
        known = ", ".join((*NETCDF_SUFFIXES, ZARR_SUFFIX))
        raise DataError(f"expected a file name ending in {known}, got {path}")
    return path


def _replace(new: Path, path: Path) -> None:
    """Put `new` in the place of `path`; a directory cannot be renamed over another one."""
    if path.is_dir():
        old = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
        path.rename(old)
        new.rename(path)
        shutil.rmtree(old)
    else:
        new.replace(path)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
