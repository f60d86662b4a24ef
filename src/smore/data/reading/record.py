"""How a file was read: what was taken for what and why, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# Names in one message: nobody reads a hundred.
MOST_NAMES = 8


@dataclass(frozen=True)
class Taken:
    """A variable or dimension that plays a part.

    Attributes:
        name: in the file.
        part: "time", "sequence", "space", "coordinate", "channel", "weights" or
            "cells".
        why: what says so.
    """

    name: str
    part: str
    why: str


@dataclass(frozen=True)
class LeftOut:
    """A variable that plays no part, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Reading:
    """The record that goes with trajectories from a file or dataset.

    Attributes:
        taken: in the order time, sequence, space, coordinates, channels, weights.
        left_out: in the order of the file.
        notes: what was done on the way: levels squeezed, files joined, angles converted.
    """

    taken: tuple[Taken, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "taken": [vars(each) for each in self.taken],
            "left_out": [vars(each) for each in self.left_out],
            "notes": list(self.notes),
        }


def listed(names: Iterable[object], most: int = MOST_NAMES) -> str:
    """Names in a message, the first few of many; what a file says is shown on one line."""
    every = [shown(name) for name in names]
    more = "" if len(every) <= most else f" and {len(every) - most} more"
    return ", ".join(every[:most]) + more


def shown(text: object) -> str:
    """Text of a file as it may be printed: without control characters, and not endless."""
    clean = "".join(c if c.isprintable() else "?" for c in str(text))
    return clean if len(clean) <= 60 else clean[:57] + "..."
