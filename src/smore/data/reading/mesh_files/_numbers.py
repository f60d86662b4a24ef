"""Numbers that are written out in letters."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from smore.errors import DataError


def parsed(text: bytes, dtype: np.dtype, count: int, what: str) -> NDArray:
    """`count` numbers separated by blanks.

    Raises:
        DataError: more or fewer, or something else.
    """
    if len(text) < 2 * count - 1:
        raise DataError(f"expected {count} numbers of {what}, there is room for fewer")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of numpy, for what the count tells
        try:
            wide = np.dtype(np.int64) if dtype.kind in "iu" else np.dtype(np.float64)
            found = np.fromstring(text.decode("ascii"), dtype=wide, sep=" ")
        except (ValueError, UnicodeDecodeError):
            found = np.empty(0)
    if len(found) != count:
        raise DataError(f"expected {count} numbers of {what}, got {len(found)} that can be read")
    return found.astype(dtype)
