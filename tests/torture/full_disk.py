"""Saves that fail on the way: the file that was there stays, and the message names its path.

The kernel fails for real where it can be asked to: a limit of the file size (which says "File too
large" where a quota would say "Disk quota exceeded"), and, where mounting is permitted, a file
system that is full or read-only. What cannot be had that way fails inside the system call.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import originals
import xarray as xr
from outcomes import Case, Outcome, judge, refusal

from smore.data.reading.files import open_dataset, save_dataset
from smore.errors import DataError, ModelFileError
from smore.model_file.container import CHECKPOINT, load_file

ASKED = "previous file intact every time, no temporary file left, message names the path"
SIZE = 30_000  # numbers in a checkpoint, so that it spans many pages
CODES = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO)
# In the order in which a save calls them.
CALLS = ("tempfile.mkstemp", "os.fchmod", "os.fsync", "os.replace")

Failing = Callable[[], AbstractContextManager[object]]


def check(count: int, seed: int, folder: Path) -> Outcome:
    """Let saves fail at `count` points, in every way there is on this machine."""
    place = folder / "checkpoints"
    mounts = _can_mount(folder / "mounted")
    cases = [*_limited(count, seed, place), *_injected(seed, place)]
    cases.append(("EIO in the sync of the folder", partial(_unsynced_folder, place, seed)))
    if mounts:
        cases += [*_full(count, seed, folder / "mounted"), *_read_only(seed, folder / "mounted")]
        cases += _full_of_data(count, seed, folder / "mounted")
    ways = "file size limit, failing calls" + (", full disk, read-only disk" if mounts else "")
    return judge("failing saves", ASKED, cases, ways=ways)


def _limited(count: int, seed: int, place: Path) -> Iterator[Case]:
    """The file may grow to so many bytes and no further."""
    size = _size_of_a_save(place)
    for number in range(count):
        limit = number * (size - 1) // max(count - 1, 1)
        yield f"at byte {limit} of {size}", partial(_case, place, seed, partial(_size_limit, limit))


def _injected(seed: int, place: Path) -> Iterator[Case]:
    for name in CALLS:
        for code in CODES:
            told = f"{errno.errorcode[code]} in {name}"
            yield told, partial(_case, place, seed, partial(_failing_call, name, code))


def _full(count: int, seed: int, place: Path) -> Iterator[Case]:
    """A file system with room for part of the save."""
    size = 4 * SIZE
    for number in range(count):
        room = number * size // count
        yield f"disk full after {room} bytes", partial(_on_full_disk, place, seed, room)


def _full_of_data(count: int, seed: int, place: Path) -> Iterator[Case]:
    """A file system with room for part of a forecast."""
    for number in range(count):
        room = number * 8 * SIZE // (2 * count)
        for suffix in (".nc", ".zarr"):
            told = f"{suffix} file, disk full after {room} bytes"
            yield told, partial(_data_on_full_disk, place, seed, room, suffix)


def _read_only(seed: int, place: Path) -> Iterator[Case]:
    yield "read-only disk", partial(_on_read_only_disk, place, seed)


def _case(place: Path, seed: int, failing: Failing) -> str | None:
    """Save, save something else while it fails, look at what is there, then save for good."""
    place.mkdir(exist_ok=True)
    path = place / "00000001.checkpoint"
    originals.save_checkpoint(path, SIZE, seed)
    before = path.read_bytes()
    with failing():
        fault = refusal(
            lambda: originals.save_checkpoint(path, SIZE, seed + 1), ModelFileError, str(path)
        )
    if path.read_bytes() != before:
        fault = f"the previous file has changed ({fault or 'refused'})"
    elif len(list(place.iterdir())) != 1:
        fault = f"left behind: {sorted(each.name for each in place.iterdir())}"
    shutil.rmtree(place, ignore_errors=True)
    return fault


def _unsynced_folder(place: Path, seed: int) -> str | None:
    """The last step of a save: the new file is in place by then, and must be whole."""
    path, sync = place / "00000001.checkpoint", os.fsync

    def sync_files_only(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(handle)

    with mock.patch("os.fsync", sync_files_only):
        fault = refusal(
            lambda: originals.save_checkpoint(path, SIZE, seed), ModelFileError, str(path)
        )
    load_file(path, CHECKPOINT)
    shutil.rmtree(place)
    return fault


def _size_of_a_save(place: Path) -> int:
    path = place / "measured"
    originals.save_checkpoint(path, SIZE)
    size = path.stat().st_size
    shutil.rmtree(place)
    return size


@contextmanager
def _size_limit(limit: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _failing_call(name: str, code: int) -> AbstractContextManager[object]:
    return mock.patch(name, side_effect=OSError(code, os.strerror(code)))


def _can_mount(place: Path) -> bool:
    place.mkdir()
    if os.geteuid() != 0 or _mount(place, "size=64k") != 0:
        return False
    _unmount(place)
    return True


def _mount(place: Path, options: str) -> int:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    return subprocess.run(command, capture_output=True, check=False).returncode


def _unmount(place: Path) -> None:
    subprocess.run(["umount", str(place)], check=True)


@contextmanager
def _mounted(place: Path, size: int) -> Iterator[Path]:
    assert _mount(place, f"size={size}") == 0
    try:
        yield place / "checkpoints"
    finally:
        _unmount(place)


def _on_full_disk(place: Path, seed: int, room: int) -> str | None:
    with _mounted(place, 16 * 4 * SIZE) as folder:
        return _case(folder, seed, partial(_filled, place, room))


def _data_on_full_disk(place: Path, seed: int, room: int, suffix: str) -> str | None:
    chance = np.random.default_rng(seed)
    small, large = (xr.Dataset({"u": ("x", chance.normal(size=n))}) for n in (10, SIZE))
    with _mounted(place, 16 * 4 * SIZE) as folder:
        path = folder / f"forecast{suffix}"
        save_dataset(small, path)
        with _filled(place, room):
            fault = refusal(lambda: save_dataset(large, path), DataError, str(path))
        if [each.name for each in folder.iterdir()] != [path.name]:
            return f"left behind: {sorted(each.name for each in folder.iterdir())}"
        with open_dataset(path) as kept:
            return fault if kept.equals(small) else "the previous file has changed"


@contextmanager
def _filled(place: Path, room: int) -> Iterator[None]:
    """Room for the previous file and part of the next; what else is there takes the rest."""
    with tempfile.NamedTemporaryFile(dir=place) as ballast:
        space = os.statvfs(place)
        ballast.write(bytes(space.f_bavail * space.f_frsize - room))
        ballast.flush()
        yield


def _on_read_only_disk(place: Path, seed: int) -> str | None:
    with _mounted(place, 16 * 4 * SIZE) as folder:

        @contextmanager
        def read_only() -> Iterator[None]:
            assert _mount(place, "remount,ro") == 0
            try:
                yield
            finally:
                _mount(place, "remount,rw")

        return _case(folder, seed, read_only)
