"""Where forecasts of test data start, and how far they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smore.errors import SettingsError

NUM_ORIGINS = 5
# Steps that a forecast goes unless told otherwise, and leads that are scored, at most.
MOST_LEADS = 256


@dataclass(frozen=True)
class Origin:
    """Where a forecast starts.

    Args:
        sequence: number of the sequence.
        start: number of the snapshot in it.
    """

    sequence: int
    start: int


def chosen_horizon(lengths: Sequence[int], asked: int | None) -> int:
    """Steps ahead: those asked for, or half of a single sequence and all of several ones.

    Args:
        lengths: snapshots of every sequence.
        asked: by the user.

    Raises:
        SettingsError: no sequence is long enough.
    """
    longest = max(lengths) - 1
    if asked is None:
        usual = longest if len(lengths) > 1 else max((longest + 1) // 2, 1)
        return min(usual, MOST_LEADS)
    if not 1 <= asked <= longest:
        raise SettingsError(
            f"a horizon between 1 and {longest} steps can be compared with these data, got {asked}"
        )
    return asked


def spread_origins(lengths: Sequence[int], horizon: int, count: int) -> list[Origin]:
    """Evenly spread, with the whole horizon ahead of them where a sequence is long enough."""
    each = max(count // len(lengths), 1)
    return [
        Origin(number, int(start))
        for number, length in enumerate(lengths)
        if length > 1
        for start in np.unique(np.linspace(0, max(length - 1 - horizon, 0), each).round())
    ]
