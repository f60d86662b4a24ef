"""NetCDF and Zarr files, and others that become datasets."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from os import PathLike
from pathlib import Path

import xarray as xr

from smore.data.reading.mesh_files import (
    MESH_SUFFIXES,
    WRITTEN_MESH_SUFFIXES,
    is_mesh_file,
    open_mesh,
    refusing,
    save_mesh,
)
from smore.data.reading.record import listed, shown
from smore.errors import DataError, unwritable
from smore.runtime import require_room

NETCDF_SUFFIXES = (".nc", ".nc4", ".cdf", ".h5", ".hdf5", ".he5")
ZARR_SUFFIX = ".zarr"
CSV_SUFFIX = ".csv"  # observations, or fields for `smore data convert`
ARRAY_SUFFIXES = (".npy", ".npz", ".mat", CSV_SUFFIX)

# How files of NetCDF 3 begin, and those of HDF5, which NetCDF 4 are.
NETCDF_BEGINNINGS = (b"CDF", b"\x89HDF")

# What a NetCDF file takes beside its values, at most: so much for itself and for each variable.
HEADER_BYTES = 2**14
VARIABLE_BYTES = 2**12


def fields_bytes(path: str | PathLike[str], group: str | None = None) -> int:
    """What the data variables of a file take in memory.

    Raises:
        DataError: as `open_dataset`.
    """
    with open_dataset(path, group) as dataset:
        return sum(variable.nbytes for variable in dataset.data_vars.values())


def open_dataset(path: str | PathLike[str], group: str | None = None) -> xr.Dataset:
    """The dataset in a file, whose values are read when they are needed.

    Args:
        path: the file; its suffix says what it is, see `OPENERS` and `mesh_files`.
        group: of an HDF5 file; by default the root, or the only group that has data, which is then
            named in `encoding["group"]`.

    Raises:
        DataError: there is no such file, or it is none that can be read.
    """
    if is_mesh_file(path):  # by its suffix, or a folder that is an OpenFOAM case
        return open_mesh(path)
    path = _require_suffix(path, (*OPENERS, *MESH_SUFFIXES))
    if not path.exists():
        raise DataError(f"there is no file {path}")
    try:
        return OPENERS[path.suffix.casefold()](path, group)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        _require_netcdf(path)
        reason = " ".join(str(error).split())[:300]
        raise DataError(f"cannot read {path} as NetCDF or Zarr: {reason}") from error


def _require_netcdf(path: Path) -> None:
    """Refuse a file that only has the name of one, by what it begins with."""
    import h5py

    if path.suffix.casefold() not in NETCDF_SUFFIXES or not path.is_file():
        return
    with path.open("rb") as file:
        first = file.read(40)
    if first.startswith(NETCDF_BEGINNINGS) or h5py.is_hdf5(path):  # HDF5 may begin later
        return
    begins = shown(first.decode("utf-8", "replace").strip().partition("\n")[0])
    what = f"it begins with '{begins}'" if first else "it is empty"
    raise DataError(
        f"{path} is not NetCDF ({what}); expected a file of NetCDF 3, NetCDF 4 or HDF5; arrays and "
        "tables, by names such as .npy and .csv, become NetCDF with smore data convert"
    )


def _open_zarr(path: Path, group: str | None) -> xr.Dataset:
    return _with_dates(
        lambda **how: xr.open_zarr(path, group=group, consolidated=False, chunks=None, **how)
    )


def _open_netcdf(path: Path, group: str | None) -> xr.Dataset:
    # No engine by name: classic NetCDF 3 files end in .nc too, and xarray can tell.
    dataset = _with_dates(lambda **how: xr.open_dataset(path, cache=False, group=group, **how))
    if dataset.data_vars or group is not None:
        return dataset
    groups = _groups_with_data(path)
    if len(groups) == 1:
        dataset = _open_netcdf(path, groups[0])
        dataset.encoding["group"] = groups[0]
    elif groups:
        raise DataError(
            f"{path} holds its variables in groups, {listed(groups)}; say which with --group "
            f"{groups[0]}"
        )
    return dataset


def _with_dates(opened: Callable[..., xr.Dataset]) -> xr.Dataset:
    """A dataset with dates where units are told "since" one, and can be read."""
    try:
        return opened()
    except ValueError as error:
        if "decode time" not in str(error) and "calendar" not in str(error):
            raise
    dataset = opened(decode_times=False)
    for name in list(dataset.variables):
        with suppress(ValueError, OverflowError):
            decoded = xr.decode_cf(dataset[[name]].drop_vars(set(dataset[name].coords) - {name}))
            dataset[name] = decoded[name].variable
    return dataset


def _groups_with_data(path: Path) -> list[str]:
    import h5py

    if not h5py.is_hdf5(path):
        return []
    found = []

    def note(name: str, item: object) -> None:
        if isinstance(item, h5py.Group) and any(isinstance(x, h5py.Dataset) for x in item.values()):
            found.append(name)

    with h5py.File(path) as file:
        file.visititems(note)
    return found


def named_after(path: str | PathLike[str]) -> AbstractContextManager[None]:
    """What is wrong with a mesh file is told by its name."""
    return refusing(Path(path)) if is_mesh_file(path) else nullcontext()


def save_dataset(dataset: xr.Dataset, path: str | PathLike[str]) -> None:
    """Write a file that is either complete or not there; an older one is replaced at the end.

    What is not in memory is made and written chunk by chunk.

    Raises:
        DataError: it cannot be written; an older file is still there.
    """
    path = require_data_format(path)
    if path.suffix.casefold() in WRITTEN_MESH_SUFFIXES:
        with _one_chunk_at_a_time(dataset):
            return save_mesh(dataset, path)
    unfinished = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _one_chunk_at_a_time(dataset):
            if path.suffix == ZARR_SUFFIX:
                dataset.to_zarr(unfinished, consolidated=False)
            else:
                _require_room(dataset, path)
                dataset.to_netcdf(unfinished, engine="h5netcdf")
                _sync(unfinished)
        _replace(unfinished, path)
    except OSError as error:
        raise DataError(unwritable(path, error)) from error
    finally:
        _remove(unfinished)


def _require_room(dataset: xr.Dataset, path: Path) -> None:
    """Refuse a disk that will be full: the HDF5 library does not survive that."""
    needed = dataset.nbytes + HEADER_BYTES + VARIABLE_BYTES * len(dataset.variables)
    require_room(path.parent, needed, str(path), "make room or choose another place")


def _one_chunk_at_a_time(dataset: xr.Dataset) -> AbstractContextManager[object]:
    """Bounds the memory of writing what is not in memory."""
    if all(variable.chunks is None for variable in dataset.variables.values()):
        return nullcontext()
    import dask

    return dask.config.set(scheduler="synchronous")


def require_data_format(path: str | PathLike[str]) -> Path:
    """Refuse a file name that no data can be written to, before any work is done."""
    return _require_suffix(path, (*NETCDF_SUFFIXES, ZARR_SUFFIX, *WRITTEN_MESH_SUFFIXES))


def _require_suffix(path: str | PathLike[str], known: tuple[str, ...]) -> Path:
    path = Path(path)
    if path.suffix.casefold() not in known:
        array = path.suffix.casefold() in ARRAY_SUFFIXES
        hint = "; arrays and tables become NetCDF with smore data convert" if array else ""
        raise DataError(f"expected a file name ending in {', '.join(known)}, got {path}{hint}")
    return path


# What a file without a mesh format is, by the end of its name; `open_dataset` goes by this.
OPENERS: dict[str, Callable[[Path, str | None], xr.Dataset]] = {
    **dict.fromkeys(NETCDF_SUFFIXES, _open_netcdf),
    ZARR_SUFFIX: _open_zarr,
}


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
    with suppress(OSError):  # the first failure is the one to tell about
        path.unlink()
    # Threads that write chunks of a Zarr file outlive the failure of one of them for a moment.
    for _ in range(50):
        if not path.is_dir():
            return
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(0.1)
