"""The capacity table: grids that SMORE is trained on, and the largest that baselines can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from pydantic import ByteSize, TypeAdapter, ValidationError

from smore.errors import SettingsError
from smore_paper.tables.capacity.baseline_updates import BATCH
from smore_paper.tables.capacity.measure import (
    SMORE_MODEL,
    Capacity,
    Say,
    baseline_capacity,
    smore_capacity,
)
from smore_paper.tables.ledger import Ledger, Measure, Row, Run
from smore_paper.tables.rollout.measure import BASELINE

NAME = "capacity"
DATASET = "generated"
LARGEST = "largest"
# Grid and sequences: the paper's largest, and beyond.
CASES = ((1714, 32), (4096, 4))
# Of SMORE beside libraries, and of baselines with them.
DEFAULT_MEMORY, DEFAULT_BOUND = "1GB", "4GB"

COLUMNS = tuple(column.name for column in fields(Capacity) if column.name != "model")


def capacity_runs(
    cases: Sequence[tuple[int, int]], memory: str, models: Sequence[str], bound: str
) -> list[Run]:
    """SMORE on every grid, then a search for each baseline.

    Args:
        cases: grid and number of sequences.
        memory: of SMORE beside libraries, such as 1GB.
        models: some of `capacity.BASELINES`.
        bound: resident memory of a baseline, such as 4GB.

    Raises:
        SettingsError: what is no memory.
    """
    for text in (memory, bound):
        parse_bytes(text)
    smore = [
        Run(NAME, DATASET, SMORE_MODEL, "paper", 0, _asked(grid, sequences, memory))
        for grid, sequences in cases
    ]
    search = _asked(LARGEST, BATCH, bound)
    return smore + [Run(NAME, DATASET, model, BASELINE, 0, search) for model in models]


def _asked(grid: int | str, sequences: int, memory: str) -> Row:
    return {"asked_grid": grid, "asked_sequences": sequences, "asked_memory": memory}


def capacity_ledger(results: Path) -> Ledger:
    """The rows in `results/capacity.csv`."""
    return Ledger(results, NAME, COLUMNS)


def capacity_measure(scratch: Path | None, say: Say) -> Measure:
    """What measures a run of this table.

    Args:
        scratch: folder for generated data; by default that of smore's cache.
        say: told about every grid that a search tries.
    """

    def measure(run: Run) -> Row:
        found = asdict(measured_capacity(run, scratch, say))
        return {name: _rounded(found[name]) for name in COLUMNS}

    return measure


def measured_capacity(run: Run, scratch: Path | None, say: Say) -> Capacity:
    """What `run` asks for."""
    asked = run.variant
    if run.recipe == BASELINE:
        return baseline_capacity(run.model, parse_bytes(asked["asked_memory"]), say)
    return smore_capacity(
        asked["asked_grid"], asked["asked_sequences"], asked["asked_memory"], scratch
    )


def parse_bytes(text: str) -> int:
    """Bytes of `4GB`, `500MB` and the like."""
    try:
        return int(TypeAdapter(ByteSize).validate_python(text))
    except ValidationError:
        raise SettingsError(f"memory is told as 4GB or 500MB, got {text!r}") from None


def _rounded(value: object) -> object:
    return round(value, 2) if isinstance(value, float) else value
