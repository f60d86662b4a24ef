"""What all tables of the reproduction share: runs, their rows, and how processes share the work.

A table is a list of runs, and its results are one CSV file. A run with a row in that file is done,
so whoever starts again goes on where it stopped; a run may keep checkpoints until it has its row.
Any number of processes may work on one table: before a run starts it is claimed by a small file
beside the table, which goes away when its row is written. A claim whose process is gone is taken
over.
"""

from __future__ import annotations

import csv
import fcntl
import os
import re
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from smore.errors import DataError, DivergenceError, SettingsError
from smore.training import discard_checkpoints
from smore_paper.results import append_row, provenance

Row = dict[str, Any]

# What makes a run fail and not the whole table: its row gives the reason.
FAILURES = (DivergenceError, DataError, np.linalg.LinAlgError, torch.linalg.LinAlgError)
# Columns that are never numbers, even if they look like one, as a commit may.
TEXTS = ("key", "remark", "commit", "machine", "command")

POLL_SECONDS = 10.0  # between looks at whether other processes are ready


@dataclass(frozen=True)
class Run:
    """One row to be.

    Args:
        table: name of the table it belongs to.
        dataset, model, recipe, seed: what is trained on what, and how.
        variant: whatever else tells it from others, such as {"latent_dim": 100}; columns of the
            table, too.
        after: keys of runs of the same table whose rows it needs.
    """

    table: str
    dataset: str
    model: str
    recipe: str
    seed: int
    variant: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The same for the same run in every process and session, and fit to be a file's name."""
        parts = [self.dataset, self.model, self.recipe, f"seed{self.seed}"]
        parts += [f"{name}={value}" for name, value in sorted(self.variant.items())]
        return re.sub(r"[^\w.=+-]+", "-", "_".join(parts))

    def columns(self) -> Row:
        """What the row says before anything is measured."""
        told = {"key": self.key, "dataset": self.dataset, "model": self.model}
        return told | {"recipe": self.recipe, "seed": self.seed} | dict(self.variant)


Measure = Callable[[Run], Row]
Say = Callable[[str], None]


class Ledger:
    """The rows of a table, and who works on which run.

    Args:
        folder: where the table is.
        name: `folder/NAME.csv` holds its rows, `folder/.NAME/KEY` are claims.
        columns: what is measured of every run, by name.
    """

    def __init__(self, folder: Path, name: str, columns: Sequence[str]) -> None:
        self.path = folder / f"{name}.csv"
        self.columns = tuple(columns)
        self.claims = folder / f".{name}"
        if folder.exists() and not folder.is_dir():
            raise SettingsError(f"expected a folder of tables, {folder} is a file")
        self.claims.mkdir(parents=True, exist_ok=True)
        self._lock = self.claims / ".lock"

    def rows(self) -> list[Row]:
        """All rows so far."""
        with locked(self._lock):
            return read_rows(self.path)

    def require_columns(self, run: Run) -> None:
        """Refuse (DataError) a file that has other columns, before hours of work are lost to it."""
        expected = {*_row(run, self.columns), *provenance()}
        rows = self.rows()
        if rows and set(rows[0]) != expected:
            raise DataError(
                f"{self.path} has other columns than this table: missing "
                f"{sorted(expected - set(rows[0]))}, unknown {sorted(set(rows[0]) - expected)}; "
                "move it away, or write to another folder with --results"
            )

    def checkpoints(self, run: Run) -> Path:
        """The folder for checkpoints of `run`, which is gone when its row is written."""
        return self.path.with_name(f"{self.claims.name}_{run.key}.checkpoints")

    def claim(self, run: Run) -> bool:
        """Whether `run` is this process's to do: it has no row, and nobody else is at it."""
        with locked(self._lock):
            claim = self.claims / run.key
            if run.key in _keys(read_rows(self.path)) or _is_alive(claim):
                return False
            claim.unlink(missing_ok=True)
            try:
                with claim.open("x") as file:
                    file.write(f"{socket.gethostname()} {os.getpid()}\n")
            except FileExistsError:  # on a file system that does not keep locks
                return False
            return True

    def release(self, run: Run) -> None:
        """Give up a claim."""
        with locked(self._lock):
            (self.claims / run.key).unlink(missing_ok=True)

    def append(self, row: Row) -> None:
        """Write a row."""
        with locked(self._lock):
            append_row(self.path, row)

    def others(self) -> dict[str, str]:
        """Host and process id by key of every run that another process is at."""
        with locked(self._lock):
            claims = [path for path in self.claims.iterdir() if path != self._lock]
            return {path.name: path.read_text().strip() for path in claims if _is_alive(path)}


# The rows of a table, and what measures a run of it.
Table = tuple[Ledger, Measure]


def work_through(ledger: Ledger, runs: Sequence[Run], measure: Measure, say: Say) -> list[Row]:
    """Do every run that has no row yet and that no other process is at.

    Args:
        ledger: of the table.
        runs: in the order in which they are begun, but for those that come after others.
        measure: the values of `ledger.columns` for a run. If it raises one of FAILURES, that is the
            row's remark, as its warnings are.
        say: told what begins and how long the rest may take.

    Returns:
        The rows of `runs` that are there in the end.

    Raises:
        SettingsError: a run needs rows that nobody is going to write.
        DataError: the file is of another table.
    """
    if runs:
        ledger.require_columns(runs[0])
    _tell_kept(ledger, runs, say)
    left = list(runs)
    while left:
        done = _keys(ledger.rows())
        ready = [run for run in left if run.key in done or done.issuperset(run.after)]
        for run in ready:
            _attempt(ledger, run, runs, measure, say)
        left = [run for run in left if run not in ready]
        if not ready:
            _wait(ledger, left[0], done, say)
    asked = {run.key for run in runs}
    for key, process in ledger.others().items():
        if key in asked:
            say(f"{key} is left to {process}; if that is gone, remove {ledger.claims / key}")
    return [row for row in ledger.rows() if row["key"] in asked]


def _tell_kept(ledger: Ledger, runs: Sequence[Run], say: Say) -> None:
    """Say that rows stay as they are: they may have been measured with other options."""
    kept = _keys(ledger.rows()).intersection(run.key for run in runs)
    if kept:
        say(
            f"{ledger.path} has {len(kept)} of {len(runs)} rows already, which stay as they are, "
            "whatever options they were measured with; delete lines there to measure them anew"
        )


def _wait(ledger: Ledger, run: Run, done: set[str], say: Say) -> None:
    """Until another process has written a row that is not among `done`."""
    missing = ", ".join(key for key in run.after if key not in done)
    say(f"{run.key} waits for {missing}")
    while True:
        others = ledger.others()
        if _keys(ledger.rows()) != done:
            return
        if not others:
            raise SettingsError(
                f"{run.key} needs the rows of {missing}, which nobody works on; run these first, "
                "or do without them by giving --budget"
            )
        time.sleep(POLL_SECONDS)


def _attempt(ledger: Ledger, run: Run, runs: Sequence[Run], measure: Measure, say: Say) -> None:
    """Do `run`, if it is to be done here."""
    if not ledger.claim(run):
        return
    try:
        say(_position(run, runs, ledger))
        row = _measured(run, ledger.columns, measure)
        ledger.append(row)
        discard_checkpoints(ledger.checkpoints(run))
    finally:
        ledger.release(run)
    if row["remark"]:
        say(f"{run.key}: {row['remark']}")


def _measured(run: Run, columns: Sequence[str], measure: Measure) -> Row:
    """The row of a run, whether or not it works out."""
    started = time.monotonic()
    row, remarks = _row(run, columns), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            values = measure(run)
            assert set(values) == set(columns), set(values) ^ set(columns)
            row |= values
        except FAILURES as error:
            row["status"] = "failed"
            remarks.append(str(error))
    kinds = (RuntimeWarning, UserWarning)
    remarks += [str(each.message) for each in caught if issubclass(each.category, kinds)]
    row["remark"] = "; ".join(dict.fromkeys(remarks))
    row["run_seconds"] = round(time.monotonic() - started, 1)
    return row


def _row(run: Run, columns: Sequence[str]) -> Row:
    """A row in which nothing has been measured."""
    frame = {"status": "done", "remark": "", "run_seconds": None}
    told = run.columns()
    return told | {name: None for name in columns if name not in told} | frame


def _position(run: Run, runs: Sequence[Run], ledger: Ledger) -> str:
    """Which run of how many begins, and how long all may take, judging by the rows so far."""
    asked = {run.key for run in runs}
    seconds = [row["run_seconds"] for row in ledger.rows() if row["key"] in asked]
    text = f"{run.table} {len(seconds) + 1}/{len(runs)}: {run.key}"
    if not seconds:
        return text
    each = sum(seconds) / len(seconds)
    workers = 1 + len(ledger.others())
    return f"{text}, eta {each * (len(runs) - len(seconds)) / workers / 60:.0f} min"


def read_rows(path: Path) -> list[Row]:
    """The rows of a table, numbers as numbers and empty cells as None; none if there is no file.

    Raises:
        DataError: the file is of another kind.
    """
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = [
            {name: text if name in TEXTS else _value(text) for name, text in row.items()}
            for row in csv.DictReader(file)
        ]
    if rows and "key" not in rows[0]:
        raise DataError(
            f"expected a table of `smore reproduce`, got {path} without a column 'key'; move it "
            "away, or use another folder with --results"
        )
    return rows


def _value(text: str) -> Any:
    if text == "":
        return None
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _keys(rows: Sequence[Row]) -> set[str]:
    return {row["key"] for row in rows}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone among all processes that lock `path`, for a moment."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file gives the lock back


def _is_alive(claim: Path) -> bool:
    """Whether another process is at the run of this claim: not if there is no such process here.

    Of processes on other machines nothing is known, so their claims stand. One that carries this
    process's number was left behind by an earlier one, since each does one run at a time.
    """
    if not claim.exists():
        return False
    host, _, number = claim.read_text().partition(" ")
    if not number.strip().isdigit():
        return False  # claims are written under the lock: this one's writer died at it
    if host != socket.gethostname():
        return True
    return int(number) != os.getpid() and _is_running(int(number))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
