"""Room on a disk, asked for before it is needed."""

from __future__ import annotations

import shutil
from pathlib import Path

from pydantic import ByteSize

from smore.errors import DataError


def require_room(folder: Path, needed: int, what: str, remedy: str) -> None:
    """Refuse to begin what would fill the disk that `folder` is on.

    Args:
        folder: it exists.
        needed: bytes.
        what: takes these bytes, in words.
        remedy: what to do about it.

    Raises:
        DataError: there is less room.
    """
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"{what} takes {_readable(needed)}, and {folder} has {_readable(free)} free; {remedy}"
        )


def _readable(count: int) -> str:
    return ByteSize(count).human_readable(decimal=True)
