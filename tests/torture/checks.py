"""The checks by name, with the number of cases that is asked for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import damaged
import full_disk
import headers
import hostile
import kill
import mesh_files
import planted_values
import wrong_settings
from outcomes import Outcome


@dataclass(frozen=True)
class Check:
    """A check, and how often it is to be tried."""

    run: Callable[[int, int, Path], Outcome]
    count: int


CHECKS = {
    "kills": Check(kill.check, 200),
    "damaged": Check(damaged.check, 1000),
    "hostile": Check(hostile.check, 50),
    "full-disk": Check(full_disk.check, 10),
    "settings": Check(wrong_settings.check, 300),
    "planted": Check(planted_values.check, 200),
    "headers": Check(headers.check, 2000),
    "mesh-files": Check(mesh_files.check, 1000),
}


def run(name: str, scale: float, seed: int, folder: Path) -> Outcome:
    """One check, with a share of its cases, in an empty folder."""
    check, started = CHECKS[name], time.monotonic()
    outcome = check.run(max(1, math.ceil(scale * check.count)), seed, folder)
    return replace(outcome, seconds=time.monotonic() - started)
