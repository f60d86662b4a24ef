"""Files that name the files of a series, with their times: ParaView's .pvd and .series."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from smore.data.reading.mesh_files._xml import read_elements
from smore.data.reading.mesh_files.frames import Frame, Series, inside, printable
from smore.errors import DataError

LONGEST_LIST = 2**24


def read_pvd(path: Path, read_frame: Callable[[Path], Frame]) -> Series:
    """A collection: one file for every time.

    Raises:
        DataError: several files of one time, or a file elsewhere.
    """
    root = read_elements(path)
    if root.tag != "VTKFile" or root.attributes.get("type") != "Collection":
        raise DataError(f"expected a collection of VTK files, got <{printable(root.tag)}>")
    named = [
        (element.attributes.get("timestep", ""), element.attributes.get("file", ""))
        for element in root.one("Collection").all("DataSet")
    ]
    return _series(path, named, read_frame)


def read_series(path: Path, read_frame: Callable[[Path], Frame]) -> Series:
    """A list of files and times in JSON, as ParaView writes it."""
    if path.stat().st_size > LONGEST_LIST:
        raise DataError(f"expected a list of files of at most {LONGEST_LIST} bytes")
    told = json.loads(path.read_text("utf-8"))
    files = told["files"] if isinstance(told, dict) else None
    if not isinstance(files, list):
        raise DataError('expected {"files": [{"name": ..., "time": ...}]}')
    named = [(str(each["time"]), str(each["name"])) for each in files]
    return _series(path, named, read_frame)


def _series(
    path: Path, named: list[tuple[str, str]], read_frame: Callable[[Path], Frame]
) -> Series:
    if not named:
        raise DataError("expected one or more files, the list is empty")
    times = [time_of(text) for text, _ in named]
    if len(set(times)) < len(times):
        raise DataError(
            "expected one file for every time, got several of one; merge the parts of a snapshot "
            "(ParaView: Merge Blocks) and save them anew"
        )
    order = sorted(range(len(named)), key=lambda number: times[number])
    files = [inside(path.parent, named[number][1]) for number in order]
    return Series([times[number] for number in order], [partial(read_frame, f) for f in files])


def time_of(text: str) -> float:
    """A time as files write it."""
    try:
        time = float(text)
    except ValueError:
        time = math.nan
    if not math.isfinite(time):
        raise DataError(f"expected a time, got {printable(text)!r}")
    return time
