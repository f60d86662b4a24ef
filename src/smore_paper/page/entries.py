"""Rows of one line of a table, and their claim beside them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smore_paper.page.markdown import NOT_RUN, duration, number, times
from smore_paper.tables.ledger import Row

# A claim holds here if the error measured is at most this many times the one claimed.
FACTOR = 2.0
# Errors closer than this cannot be told apart: other seeds change them as much.
TIE = 1.25


@dataclass(frozen=True)
class Entry:
    """Rows that differ in their seeds only."""

    rows: tuple[Row, ...]

    @property
    def done(self) -> list[Row]:
        return [row for row in self.rows if row.get("status", "done") == "done"]

    def values(self, name: str) -> list[float]:
        return [row[name] for row in self.done if row[name] is not None]

    def mean(self, name: str) -> float | None:
        """Over the seeds that have a value."""
        found = self.values(name)
        return statistics.fmean(found) if found else None

    def told(self, name: str) -> str:
        """The mean, and the standard deviation of several seeds."""
        found = self.values(name)
        if not found:
            return "failed" if self.rows else NOT_RUN
        if len(found) == 1 or not all(map(math.isfinite, found)):
            return number(statistics.fmean(found))
        return f"{number(statistics.fmean(found))} ± {number(statistics.stdev(found))}"

    @property
    def error(self) -> float:
        """Over the full window, to compare by."""
        error = self.mean("full_mse")
        return math.inf if error is None else ordered(error)

    @property
    def time(self) -> str:
        """Of training, or whatever the table measures."""
        seconds = self.mean("seconds")
        return "-" if seconds is None else duration(seconds)


def entry(rows: Sequence[Row], **columns: Any) -> Entry:
    """The rows with these values in these columns."""
    return Entry(
        tuple(row for row in rows if all(row[name] == value for name, value in columns.items()))
    )


def beside(found: Entry, name: str, claim: float | None) -> str:
    """Measured (claimed, ratio)."""
    error = found.mean(name)
    if claim is None:
        return found.told(name)
    if error is None:
        return f"{found.told(name)} ({number(claim)})"
    return f"{found.told(name)} ({number(claim)}, {times(error / claim)})"


def ordered(error: float) -> float:
    """An error to compare by: one that is not finite is the largest."""
    return error if math.isfinite(error) else math.inf
