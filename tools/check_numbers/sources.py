"""What a source names: cells of the tables in experiments/results, and simple sums on them.

    FILE [COLUMN=VALUE ...] COLUMN [median | mean | min | max | sum]   one cell, or of many
    FILE [COLUMN=VALUE ...] count                                how many rows there are
    same [COLUMN=VALUE ...] COLUMN ...                           the rows of the source before
    A / B, A * B, A - B                                          of these or numbers, in order

VALUE may hold `*`; one with blanks stands in quotes with its column: "selection=training data".
The file `claims` is the paper's: src/smore_paper/claims.py.
"""

from __future__ import annotations

import csv
import math
import operator
import shlex
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

Row = dict[str, str]

CLAIMS = "claims"
SAME = "same"
COUNT = "count"
AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "sum": math.fsum,
}
OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "/": operator.truediv,
    "*": operator.mul,
    "-": operator.sub,
}


class SourceError(ValueError):
    """A source that names nothing, or more than one thing."""


@dataclass(frozen=True)
class Rows:
    """A file and which of its rows."""

    file: str
    conditions: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.file, *(f"{name}={text}" for name, text in self.conditions.items())])


def is_source(note: str) -> bool:
    """Whether a comment means to be one."""
    first = note.split()[:1]
    return bool(first) and (first[0].endswith(".csv") or first[0] in (CLAIMS, SAME))


class Sources:
    """The tables of a folder, and what sources name in them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = cache(self._read_rows)

    def value(self, source: str, before: Rows | None) -> tuple[float, Rows | None]:
        """The value that `source` names, and the rows that `same` means in the next one.

        Args:
            source: the text of a comment.
            before: the rows of the source before it, if there is one.

        Raises:
            SourceError: it cannot be read, or names no cell or several.
        """
        try:
            words = shlex.split(source)
        except ValueError as error:  # a quote that is never closed
            raise SourceError(f"cannot be read: {error}") from None
        total, operation, term = None, "", list[str]()
        for word in [*words, "="]:
            if word not in OPERATIONS and word != "=":
                term.append(word)
                continue
            value, before = self._term(term, before)
            total = value if total is None else OPERATIONS[operation](total, value)
            operation, term = word, []
        assert total is not None
        return total, before

    def _term(self, words: list[str], before: Rows | None) -> tuple[float, Rows | None]:
        """A number, or a cell."""
        if len(words) == 1 and words[0].replace(".", "", 1).isdigit():
            return float(words[0]), before
        if len(words) < 2:
            raise SourceError(
                "expected FILE [COLUMN=VALUE ...] COLUMN, got " + repr(*words or [""])
            )
        rows = _rows(words, before)
        rest = [word for word in words[1:] if "=" not in word]
        return self._cell(rows, rest), rows

    def _cell(self, rows: Rows, rest: list[str]) -> float:
        found = self._find(rows)
        if rest == [COUNT]:
            return len(found)
        column, *how = rest or [""]
        if not column or len(how) > 1 or not set(how) <= set(AGGREGATES):
            raise SourceError(
                f"{rows}: expected one column, then nothing or one of {', '.join(AGGREGATES)}; "
                f"got {' '.join(rest) or 'nothing'}"
            )
        _require_columns(rows.file, found, [column])
        if how:
            return AGGREGATES[how[0]]([_number(rows, column, row[column]) for row in found])
        if len(found) > 1:
            raise SourceError(
                f"{rows}: {len(found)} rows; name one, or how to put them together "
                f"({', '.join(AGGREGATES)})"
            )
        return _number(rows, column, found[0][column])

    def _find(self, rows: Rows) -> list[Row]:
        """The rows that fulfil the conditions, at least one."""
        every = self._read(rows.file)
        _require_columns(rows.file, every, rows.conditions)
        found = [
            row
            for row in every
            if all(fnmatchcase(row[name], text) for name, text in rows.conditions.items())
        ]
        if not found:
            raise SourceError(f"{rows}: no such row")
        return found

    def _read_rows(self, file: str) -> list[Row]:
        if file == CLAIMS:
            return _claims()
        path = self._folder / file
        if not path.is_file():
            raise SourceError(f"no file {file} in {self._folder}")
        with path.open(newline="") as lines:
            return list(csv.DictReader(lines))


def _rows(words: list[str], before: Rows | None) -> Rows:
    """The file and the conditions that are named."""
    conditions = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    if words[0] != SAME:
        return Rows(words[0], conditions)
    if before is None:
        raise SourceError(
            f"{SAME!r} as what? There is no source before it in this paragraph or row"
        )
    return Rows(before.file, before.conditions | conditions)


def _require_columns(file: str, rows: Sequence[Row], names: Sequence[str] | dict[str, str]) -> None:
    for name in names:
        if rows and name not in rows[0]:
            raise SourceError(f"{file} has no column {name!r}; it has {', '.join(rows[0])}")


def _number(rows: Rows, column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SourceError(f"{rows}: {column} is {text!r}, not a number") from None


def _claims() -> list[Row]:
    """The paper's rollout and sparse tables, as rows."""
    from smore_paper.claims import ROLLOUT_CLAIMS, SPARSE_CLAIMS

    windows = ("in_horizon_mse", "extrapolation_mse", "full_mse")
    rollout = [
        {"table": "rollout", "preset": preset, "visible": ""}
        | {window: str(getattr(claim, window)) for window in windows}
        for preset, claim in ROLLOUT_CLAIMS.items()
    ]
    sparse = [
        {"table": "sparse", "preset": preset, "visible": str(visible)}
        | dict.fromkeys(windows, "")
        | {"full_mse": str(error)}
        for preset, errors in SPARSE_CLAIMS.items()
        for visible, error in errors.items()
    ]
    return rollout + sparse
