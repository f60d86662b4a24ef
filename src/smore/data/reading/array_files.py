"""Named arrays from files that say nothing about them: .npy, .npz, .mat and plain HDF5.

Nothing is unpickled: arrays of objects are refused by name. Complex values become two real arrays.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smore.data.reading.record import shown
from smore.errors import DataError

HDF5_SUFFIXES = (".h5", ".hdf5", ".he5")


def read_array_file(path: Path) -> dict[str, NDArray]:
    """All numeric arrays of a file by name; a file with a single one names it after itself.

    Raises:
        DataError: there is no such file, it cannot be read, or holds objects.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    try:
        arrays = _READERS[path.suffix.casefold()](path)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, DataError):
            raise
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"cannot read {path} as arrays: {reason}") from None
    if not arrays:
        raise DataError(f"there are no numeric arrays in {path}")
    return arrays


def real_parts(arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    """The same arrays, complex ones as two, u_real and u_imag."""
    parts: dict[str, NDArray] = {}
    for name, array in arrays.items():
        if array.dtype.kind == "c":
            parts |= {f"{name}_real": array.real, f"{name}_imag": array.imag}
        else:
            parts[name] = array
    return parts


def _npy(path: Path) -> dict[str, NDArray]:
    return {path.stem: _loaded(lambda: np.load(path, allow_pickle=False), path.stem, path)}


def _npz(path: Path) -> dict[str, NDArray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: _loaded(partial(file.__getitem__, name), name, path) for name in file.files}


def _loaded(load: Callable[[], NDArray], name: str, path: Path) -> NDArray:
    try:
        array = load()
    except ValueError as error:
        if "pickle" in str(error).casefold():
            raise _objects(name, path) from None
        raise
    if array.dtype.kind not in "fiucbMm":
        raise _objects(name, path)
    return array


def _objects(name: str, path: Path) -> DataError:
    return DataError(
        f"'{shown(name)}' in {path} holds objects, not numbers; objects may be programs and are "
        "never "
        "loaded; save it as an array of numbers"
    )


def _mat(path: Path) -> dict[str, NDArray]:
    from scipy.io import loadmat

    try:
        found = loadmat(path, struct_as_record=True, squeeze_me=False)
    except NotImplementedError:  # MATLAB 7.3 is HDF5, with the first dimension last
        return {name: array.T for name, array in _hdf5(path).items()}
    named = {name: each for name, each in found.items() if not name.startswith("__")}
    return {name: _squeezed(each) for name, each in named.items() if _is_numeric(each)}


def _is_numeric(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "fiuc"


def _squeezed(array: NDArray) -> NDArray:
    """MATLAB has no vectors: a row or a column is one."""
    return array.ravel() if array.ndim == 2 and 1 in array.shape else array


def _hdf5(path: Path) -> dict[str, NDArray]:
    import h5py

    found: dict[str, NDArray] = {}

    def note(name: str, item: object) -> None:
        if not isinstance(item, h5py.Dataset) or name.startswith("#"):
            return
        if item.dtype.names == ("real", "imag"):
            both = item[()]
            found[name] = both["real"] + 1j * both["imag"]
        elif item.dtype.kind in "fiuc":
            found[name] = _squeezed(item[()]) if item.ndim else item[()].reshape(1)

    with h5py.File(path) as file:
        file.visititems(note)
    return found


_READERS: dict[str, Callable[[Path], dict[str, NDArray]]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".mat": _mat,
    **dict.fromkeys(HDF5_SUFFIXES, _hdf5),
}
