"""Which reader a mesh file gets."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

import xarray as xr

from smore.data.reading.mesh_files._collections import read_pvd, read_series
from smore.data.reading.mesh_files._datasets import as_dataset
from smore.data.reading.mesh_files._gmsh import read_gmsh
from smore.data.reading.mesh_files._openfoam import is_case, read_openfoam
from smore.data.reading.mesh_files._vtk_legacy import read_vtk_legacy
from smore.data.reading.mesh_files._vtk_xml import read_vtk_xml
from smore.data.reading.mesh_files._xdmf import read_xdmf
from smore.data.reading.mesh_files.frames import Frame, Series, refusing
from smore.errors import DataError

# Files that hold one frame.
FRAMES: dict[str, Callable[[Path], Frame]] = {
    ".vtu": read_vtk_xml,
    ".vtp": read_vtk_xml,
    ".vtk": read_vtk_legacy,
}
# Files that hold several, or name them.
SERIES: dict[str, Callable[[Path], Series]] = {
    ".pvd": lambda path: read_pvd(path, read_frame),
    ".series": lambda path: read_series(path, read_frame),
    ".xdmf": read_xdmf,
    ".xmf": read_xdmf,
    ".msh": read_gmsh,
    ".foam": read_openfoam,
}
MESH_SUFFIXES = (*FRAMES, *SERIES)


def is_mesh_file(path: str | PathLike[str]) -> bool:
    """Whether a file, by its name, or a folder, by what is in it, is one of these."""
    path = Path(path)
    return path.suffix.casefold() in MESH_SUFFIXES or (path.is_dir() and is_case(path))


def read_frame(path: Path) -> Frame:
    """A file of one frame, such as a series names.

    Raises:
        DataError: another kind of file, or a damaged one.
    """
    if path.suffix.casefold() not in FRAMES:
        raise DataError(f"expected a file ending in {', '.join(FRAMES)}, got {path}")
    with refusing(path):
        return FRAMES[path.suffix.casefold()](path)


def open_mesh(path: str | PathLike[str]) -> xr.Dataset:
    """The dataset of a mesh file or of an OpenFOAM case, whose fields are read when needed.

    Raises:
        DataError: there is no such file, or it cannot be read.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"there is no file {path}")
    with refusing(path):
        if path.is_dir():
            series = read_openfoam(path)
        elif path.suffix.casefold() in FRAMES:
            frame = FRAMES[path.suffix.casefold()](path)
            series = Series([frame.time], [lambda: frame])
        else:
            series = SERIES[path.suffix.casefold()](path)
        return as_dataset(path, series)
