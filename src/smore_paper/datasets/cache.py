"""Files on disk that are either complete and checked, or not there at all."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import xarray as xr

from smore.errors import DataError, SettingsError

INFO = "info.json"


def entry(root: Path, name: str, recipe: Mapping[str, Any]) -> Path:
    """The folder that belongs to everything the data depend on: <name>-<12 hex digits>."""
    canonical = json.dumps(recipe, sort_keys=True)
    return root / "datasets" / f"{name}-{hashlib.sha256(canonical.encode()).hexdigest()[:12]}"


def require_writable(folder: Path) -> None:
    """Refuses, before any work is done, a place where `write` would fail.

    Raises:
        SettingsError: the folder cannot be created or written to.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder.parent) from error
    if not os.access(folder.parent, os.W_OK):
        raise _unwritable(folder.parent)


def write(folder: Path, datasets: Mapping[str, xr.Dataset], recipe: Mapping[str, Any]) -> None:
    """Writes <name>.nc for every data set, and info.json with their SHA-256, all or nothing.

    Everything goes into a sibling folder that takes its final name at the end. When two processes
    make the same entry, the first to finish wins and the other discards its copy. What a power cut
    leaves unwritten is found by its checksum when it is read.
    """
    draft = folder.with_name(f".{folder.name}-{uuid4().hex}")
    draft.mkdir()
    try:
        checksums = {}
        for name, dataset in datasets.items():
            file = draft / f"{name}.nc"
            # Nothing is missing in simulated data, so no fill value is declared.
            plain = {str(name): {"_FillValue": None} for name in dataset.variables}
            dataset.to_netcdf(file, engine="h5netcdf", encoding=plain)
            checksums[file.name] = _sha256(file)
        info = {**recipe, "sha256": checksums}
        (draft / INFO).write_text(json.dumps(info, indent=2, sort_keys=True) + "\n")
        try:
            draft.rename(folder)
        except OSError:
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def read(folder: Path, name: str) -> xr.Dataset:
    """The data set <name>.nc of an entry, in memory, after its checksum was compared.

    Raises:
        DataError: the file is missing, or differs from what was written.
    """
    file = folder / f"{name}.nc"
    try:
        expected = json.loads((folder / INFO).read_text())["sha256"][file.name]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder / INFO, "it is missing or not what was written") from error
    if not file.is_file():
        raise _damaged(file, "it is missing")
    if (found := _sha256(file)) != expected:
        raise _damaged(file, f"its SHA-256 is {found}, {INFO} says {expected}")
    return xr.load_dataset(file, engine="h5netcdf")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _damaged(file: Path, reason: str) -> DataError:
    return DataError(
        f"the cached file {file} is damaged: {reason}; "
        f"delete the folder {file.parent} and generate the data set again"
    )


def _unwritable(folder: Path) -> SettingsError:
    return SettingsError(
        f"the cache folder {folder} cannot be written to; "
        "set SMORE_CACHE to a folder of yours, or pass cache=..."
    )
