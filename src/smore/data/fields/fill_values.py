"""Numbers that stand for "no value" in data that do not say so.

Where a file declares its `_FillValue`, NaN is read in its place; any other would be learned.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smore.errors import how_to_set

# What to do about a NaN that is no error.
MASKING = f"pass {how_to_set('missing', 'mask')} to take NaN as not observed"
# What climate archives and the NetCDF library write, in single precision at most.
FILL_VALUES = np.array([1e20, 9.969209968386869e36], dtype=np.float32)
_BELOW_ALL = 1e19

REPLACING = (
    "that stands for 'no value' in many files: if it does here, replace it by NaN "
    f"(dataset.where(abs(dataset) < {_BELOW_ALL:g})) and {MASKING}; if not, use other units"
)


class Unusable(NamedTuple):
    """Values that nobody can use.

    Attributes:
        where: of the shape of the values, which they are.
        remedy: what to do about them.
    """

    where: NDArray[np.bool_]
    remedy: str


def unusable(values: NDArray[np.floating], missing: Literal["refuse", "mask"]) -> Unusable | None:
    """What cannot be used of `values`, if anything: with "mask" NaN can, as not observed."""
    if certainly_values(values):
        return None
    if (marked := fill_values(values)).any():
        return Unusable(marked, REPLACING)
    if (infinite := np.isinf(values)).any():
        return Unusable(infinite, "correct the data")
    if missing == "refuse" and (gone := np.isnan(values)).any():
        return Unusable(gone, f"correct the data, or {MASKING}")
    return None


def certainly_values(array: NDArray[np.floating]) -> bool:
    """Whether a look at the extremes, which costs no memory, shows finite and no fill values."""
    # Both are NaN if any number is.
    return bool(array.max(initial=0) < _BELOW_ALL and array.min(initial=0) > -_BELOW_ALL)


def fill_values(array: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which numbers are fill values."""
    with np.errstate(over="ignore"):
        return np.isin(np.abs(array).astype(np.float32), FILL_VALUES)
