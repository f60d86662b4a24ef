"""The largest square grid in bounded memory: SMORE streamed from disk, baselines as published.

Everyone makes two updates on generated sequences of 20 snapshots, up to 32 of them in a batch.
SMORE trains on all snapshots, baselines on the first ten as in all of the paper's comparisons: with
rollouts of nine steps, the largest grids that the paper has for FNO and Transolver take about the
40 GB that they had there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from pydantic import ByteSize, TypeAdapter, ValidationError

from smore.errors import SettingsError
from smore_paper.measuring.bounded_process import measured_within
from smore_paper.measuring.generated import Generated
from smore_paper.presets import preset_settings
from smore_paper.tables.capacity.baseline_updates import (
    BATCH,
    UPDATES,
    decoder_updates,
    operator_updates,
)
from smore_paper.tables.capacity.largest_grid import largest_grid
from smore_paper.tables.capacity.streamed_fit import fit_generated
from smore_paper.tables.compared import BASELINE, HORIZON
from smore_paper.tables.ledger import Ledger, Row, Run, Say, Table

NAME, DATASET, LARGEST = "capacity", "generated", "largest"
SMORE_MODEL, SMORE_PRESET = "smore-lrlq", "ns-lrlq"
SNAPSHOTS = 20
SMORE_BOUND = 2 * 10**9  # bytes of resident memory, libraries included
MEGABYTE = 10**6

# The paper's largest grids, on an A100 with 40 GB.
PAPER_GRIDS = {"transolver": 64, "dino": 163, "fno": 271, "cno": 307, SMORE_MODEL: 1714}
PAPER_MACHINE = "A100, 40 GB"
BASELINES = tuple(model for model in PAPER_GRIDS if model != SMORE_MODEL)
HOW = {
    "transolver": "whole batch at once",
    "dino": "decoder only, every snapshot at every point as published",
    "fno": "whole batch at once",
    "cno": "whole batch at once",
    SMORE_MODEL: "streamed from disk",
}
# Grids that memory is extrapolated from. FNO's modes need 24 points a side.
STARTS = {"transolver": (8, 12), "dino": (24, 40), "fno": (24, 40), "cno": (16, 24)}
STEPS = {"cno": 8}  # which halves its grid three times

# Grid and sequences: the paper's largest, and beyond.
CASES = ((1714, 32), (4096, 4))
# Of SMORE beside libraries, and of baselines with them.
DEFAULT_MEMORY, DEFAULT_BOUND = "1GB", "4GB"


@dataclass(frozen=True)
class Capacity:
    """A grid that a model was trained on, and what that took.

    Attributes:
        train_length: leading snapshots that supervise.
        peak_megabytes: largest resident memory of a fresh process, libraries included.
        within_bound: "yes" or "no".
        next_grid: the next larger one, which does not fit; None where nothing was searched.
        next_megabytes: what it would take; None if it was tried and went beyond the bound.
        seconds_per_epoch: of training.
        total_seconds: with reading the data and making a model of what was trained.
        disk_megabytes: of the data, None if they are in memory.
        chunk_size: points decoded at once, None for all.
    """

    model: str
    grid: int
    points: int
    sequences: int
    snapshots: int
    train_length: int
    peak_megabytes: float
    bound_megabytes: float
    within_bound: str
    next_grid: int | None
    next_megabytes: float | None
    seconds_per_epoch: float
    total_seconds: float
    disk_megabytes: float | None
    chunk_size: int | None
    how: str
    paper_grid: int
    device: str
    threads: int


COLUMNS = tuple(column.name for column in fields(Capacity) if column.name != "model")


def capacity_runs(
    models: Sequence[str], cases: Sequence[tuple[int, int]], memory: str, bound: str
) -> list[Run]:
    """SMORE on every grid, if it is among the models, then a search for each baseline.

    Args:
        models: some of PAPER_GRIDS.
        cases: grid and number of sequences.
        memory: of SMORE beside libraries, such as 1GB.
        bound: resident memory of a baseline, such as 4GB.

    Raises:
        SettingsError: what is no memory.
    """
    for text in (memory, bound):
        parse_bytes(text)
    smore = [
        Run(NAME, DATASET, SMORE_MODEL, "paper", 0, _asked(grid, sequences, memory))
        for grid, sequences in cases
        if SMORE_MODEL in models
    ]
    search = _asked(LARGEST, BATCH, bound)
    return smore + [
        Run(NAME, DATASET, model, BASELINE, 0, search) for model in models if model != SMORE_MODEL
    ]


def _asked(grid: int | str, sequences: int, memory: str) -> Row:
    return {"asked_grid": grid, "asked_sequences": sequences, "asked_memory": memory}


def capacity_table(results: Path, scratch: Path | None, say: Say) -> Table:
    """`results/capacity.csv`.

    Args:
        scratch: folder for generated data; by default that of smore's cache.
        say: told about every grid that a search tries.
    """

    def measure(run: Run) -> Row:
        asked = run.variant
        grid, sequences, memory = (
            asked[name] for name in ("asked_grid", "asked_sequences", "asked_memory")
        )
        if run.recipe == BASELINE:
            found = baseline_capacity(run.model, parse_bytes(memory), say)
        else:
            found = smore_capacity(grid, sequences, memory, scratch)
        values = {name: getattr(found, name) for name in COLUMNS}
        return {n: round(v, 2) if isinstance(v, float) else v for n, v in values.items()}

    return Ledger(results, NAME, COLUMNS), measure


def parse_bytes(text: str) -> int:
    """Bytes of `4GB`, `500MB` and the like."""
    try:
        return int(TypeAdapter(ByteSize).validate_python(text))
    except ValidationError:
        raise SettingsError(f"memory is told as 4GB or 500MB, got {text!r}") from None


def smore_capacity(grid: int, sequences: int, memory: str, scratch: Path | None = None) -> Capacity:
    """Train SMORE-LRLQ on a grid of this size, streamed from a file that is removed afterwards.

    Args:
        grid: points along each side.
        sequences: of 20 snapshots each.
        memory: what the fit may hold beside libraries, see `Settings.memory`.
        scratch: folder for the file; by default that of smore's cache.

    Raises:
        DataError: the disk is too small, or the machine's memory.
    """
    settings = preset_settings(
        SMORE_PRESET,
        recipe="paper",
        epochs=UPDATES,
        validation_fraction=0.0,
        train_length=SNAPSHOTS,
        window=SNAPSHOTS,
        batch_size=BATCH,
        memory=memory,
    )
    data = Generated(grid, sequences, SNAPSHOTS)
    measured = fit_generated(data, settings, scratch)
    fit = measured.result
    training = UPDATES * fit.seconds_per_epoch
    return Capacity(
        **_about(SMORE_MODEL, data, measured.peak, SMORE_BOUND),
        train_length=SNAPSHOTS,
        next_grid=None,
        next_megabytes=None,
        seconds_per_epoch=fit.seconds_per_epoch,
        total_seconds=fit.reading_seconds + training + fit.finishing_seconds,
        disk_megabytes=fit.disk_bytes / MEGABYTE,
        chunk_size=fit.chunk_size,
        device=fit.device,
    )


def baseline_capacity(model: str, bound: int, say: Say) -> Capacity:
    """The largest grid on which a baseline trains within `bound` bytes of resident memory.

    Args:
        model: one of BASELINES, in its size for Navier-Stokes.
        bound: bytes, libraries included.
        say: told what each grid takes.

    Raises:
        DataError: not even small grids fit.
    """
    seconds: dict[int, float] = {}

    def peak(grid: int) -> int | None:
        measured = (
            measured_within(bound, decoder_updates, grid)
            if model == "dino"
            else measured_within(bound, operator_updates, model, grid)
        )
        if measured is None:
            say(f"{model} on {grid} x {grid}: beyond {bound / MEGABYTE:,.0f} MB")
            return None
        say(f"{model} on {grid} x {grid}: {measured.peak / MEGABYTE:,.0f} MB")
        seconds[grid] = measured.result
        return measured.peak

    found = largest_grid(peak, bound, STARTS[model], STEPS.get(model, 1))
    return Capacity(
        **_about(model, Generated(found.grid, BATCH, SNAPSHOTS), found.peak, bound),
        train_length=HORIZON,
        next_grid=found.next_grid,
        next_megabytes=None if found.next_peak is None else found.next_peak / MEGABYTE,
        seconds_per_epoch=seconds[found.grid],
        total_seconds=UPDATES * seconds[found.grid],
        disk_megabytes=None,
        chunk_size=None,
        device="cpu",
    )


def _about(model: str, data: Generated, peak: int, bound: int) -> dict[str, Any]:
    """What every result says in the same way."""
    return {
        "model": model,
        "grid": data.grid,
        "points": data.points,
        "sequences": data.sequences,
        "snapshots": data.snapshots,
        "peak_megabytes": peak / MEGABYTE,
        "bound_megabytes": bound / MEGABYTE,
        "within_bound": "yes" if peak <= bound else "no",
        "how": HOW[model],
        "paper_grid": PAPER_GRIDS[model],
        "threads": torch.get_num_threads(),
    }
