"""What every mesh file is read as: frames, whose arrays are read when they are needed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from lzma import LZMAError
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

import numpy as np
from numpy.typing import NDArray

from smore.errors import DataError

# Whatever a damaged file makes a careful reader stumble over.
_STUMBLES = (
    OSError, ValueError, KeyError, IndexError, TypeError, OverflowError, RecursionError,
    MemoryError, AttributeError, struct.error, zlib.error, LZMAError, ExpatError, RuntimeError,
    EOFError,
)  # fmt: skip

Cells = tuple[NDArray, NDArray, NDArray]


@dataclass(frozen=True, eq=False)
class Stored:
    """An array that is somewhere in a file.

    Attributes:
        shape: what the file says it is.
        dtype: in native byte order.
        read: gives all of it, of that shape and type; sizes are checked before memory is asked for.
        units: "" where unknown.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    read: Callable[[], NDArray] = field(repr=False)
    units: str = ""


@dataclass(frozen=True, eq=False)
class Frame:
    """A mesh and the values on it at one time.

    Attributes:
        points: (nodes, 2 or 3).
        num_cells: how many cells there are, of all dimensions.
        cells: gives kinds, offsets and corners; see `Tessellation`.
        point_data, cell_data: (nodes or cells, ...) by name.
        about: what smore wrote down beside the arrays: names and units that the format lacks.
        time: if the file says.
    """

    points: Stored
    num_cells: int
    cells: Callable[[], Cells] = field(repr=False)
    point_data: dict[str, Stored]
    cell_data: dict[str, Stored]
    about: dict[str, Any]
    time: float | None = None


@dataclass(frozen=True, eq=False)
class Series:
    """Frames at different times.

    Attributes:
        times: (frames,); a single one may not have any.
        frames: each is opened when it is needed.
    """

    times: list[float | None]
    frames: Sequence[Callable[[], Frame]] = field(repr=False)


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Whatever goes wrong in a file is told by its name, in one line.

    Raises:
        DataError: in place of what went wrong.
    """
    try:
        yield
    except DataError as error:
        told = str(error)
        raise DataError(told if str(path) in told else f"{path}: {told}") from None
    except _STUMBLES as error:
        reason = printable(str(error) or type(error).__name__)
        raise DataError(f"cannot read {path}, it may be damaged: {reason}") from error


def printable(text: str) -> str:
    """What a file says, in one line that no terminal stumbles over."""
    cleaned = "".join(letter if letter.isprintable() else "?" for letter in text[:300])
    return cleaned.strip()


def inside(folder: Path, name: str) -> Path:
    """The file that a series names, if it lies in the folder of the series.

    Raises:
        DataError: it lies elsewhere, or is not there.
    """
    root = folder.resolve()
    path = (root / name).resolve()
    if "\0" in name or not path.is_relative_to(root):
        raise DataError(
            f"the file that is named, '{printable(name)}', lies outside the folder {folder}; put "
            "it beside the file that names it"
        )
    if not path.is_file():
        raise DataError(f"there is no file {printable(str(path))}, which the series names")
    return path


def require_fits(needed: int, there: int, what: str) -> None:
    """Refuse a count that the rest of a file cannot hold, before memory is asked for."""
    if needed < 0 or needed > there:
        raise DataError(f"expected {needed} bytes of {what}, {max(there, 0)} are left in the file")
