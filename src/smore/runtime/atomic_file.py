"""Files that are complete or not there, whatever happens while they are written.

A writer that is killed leaves a temporary file behind; the next one in that folder sweeps it up.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

Bytes = bytes | bytearray | memoryview

_PREFIX, _SUFFIX = ".smore-", ".unfinished"
# A writer that is alive touches its file far more often than this.
STALE_SECONDS = 3600.0


def write_atomically(path: Path, content: Iterable[Bytes]) -> None:
    """Write a temporary file beside `path`, sync it, rename it into place, sync the folder.

    Raises:
        OSError: it could not be written; what was at `path` before is still there, unless only the
            last step failed, and no temporary file is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_unfinished(path.parent)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=_PREFIX, suffix=_SUFFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), 0o666 & ~_umask())  # mkstemp keeps files private
            for part in content:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):  # the first failure is the one to tell about
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def remove_unfinished(folder: Path, older_than: float = STALE_SECONDS) -> None:
    """Remove what writers that were killed left in `folder`, if untouched for so many seconds."""
    now = time.time()
    for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):  # somebody else's, or gone already
            if now - path.lstat().st_mtime > older_than:
                path.unlink()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
