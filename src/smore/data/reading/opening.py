"""Trajectories from files: one, several, or all that a pattern names."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from pathlib import Path

import xarray as xr

from smore.data.reading._joining import joined
from smore.data.reading.datasets import read_datasets
from smore.data.reading.files import fields_bytes, named_after, open_dataset
from smore.data.reading.record import LeftOut
from smore.data.reading.request import ReadAs
from smore.data.trajectories import Trajectories
from smore.errors import DataError

AnyPath = str | PathLike[str]
NOTHING: tuple[LeftOut, ...] = ()


def files_named(paths: Sequence[AnyPath]) -> list[Path]:
    """Files by name, and all that patterns such as run_*.nc stand for, in alphabetical order.

    Raises:
        DataError: no file is called like that.
    """
    found: list[Path] = []
    for path in paths:
        if Path(path).exists() or not glob.has_magic(str(path)):
            found.append(Path(path))
            continue
        here = sorted(map(Path, glob.glob(str(path))))
        if not here:
            raise DataError(f"there is no file {path}")
        found += here
    return found


def all_fields_bytes(paths: Sequence[AnyPath], group: str | None = None) -> int:
    """What the data variables of all files take in memory."""
    return sum(fields_bytes(path, group) for path in files_named(paths))


def read_files(paths: Sequence[AnyPath], how: ReadAs, *, lazy: bool = False) -> Trajectories:
    """See `Trajectories.open`.

    Raises:
        DataError: a file that is not there, cannot be read or used, or does not go with the others.
    """
    files = files_named(paths)
    with named_after(files[0]) if len(files) == 1 else nullcontext():
        return _read_files(files, how, lazy)


def _read_files(files: list[Path], how: ReadAs, lazy: bool) -> Trajectories:
    opened: list[xr.Dataset] = []
    keep = False
    try:
        opened += (open_dataset(path, how.group) for path in files)
        groups = {str(each.encoding["group"]) for each in opened if "group" in each.encoding}
        notes = [f"variables are in the group '{group}'" for group in sorted(groups)]
        datasets, left_out = opened, NOTHING
        if len(files) > 1:
            names = [path.name for path in files]
            datasets, how, told = joined(opened, names, how, lazy=lazy)
            notes += told.notes
            left_out = told.left_out
        made = read_datasets(datasets, how, lazy=lazy, notes=notes)
        if left_out and made.reading is not None:
            made = replace(made, reading=replace(made.reading, left_out=left_out))
        keep = lazy  # the fields keep the files open while they are used
    except (OSError, RuntimeError) as error:  # where its chunks are damaged
        named = str(files[0]) if len(files) == 1 else f"{files[0]} and others"
        raise DataError(f"cannot read {named}, it may be damaged: {error}") from error
    finally:
        if not keep:
            for dataset in opened:
                dataset.close()
    return made
