"""The largest grids on the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from smore_paper.page.markdown import NOT_RUN, duration, figure, remarks, table, times
from smore_paper.tables.capacity.measure import BASELINES, PAPER_GRIDS, PAPER_MACHINE, SMORE_MODEL
from smore_paper.tables.compared import LABELS
from smore_paper.tables.ledger import Row

HEADER = ["model", "grid", "paper's", "snapshots", "memory", "bound", "on disk", "epoch", "how"]


def glance_at_capacity(rows: Sequence[Row]) -> list[str]:
    done = [row for row in rows if row["status"] == "done"]
    ours = [row for row in done if row["model"] == SMORE_MODEL and row["within_bound"] == "yes"]
    theirs = [row for row in done if row["model"] in BASELINES]
    if not ours:
        return [f"**Largest grid.** {NOT_RUN}"]
    told = "**Largest grid.** SMORE, streamed from disk, is trained on " + " and on ".join(
        f"{_given(row)} in {_gigabytes(row['peak_megabytes'])}" for row in ours
    )
    if not theirs:
        return [f"{told}; baselines: {NOT_RUN}."]
    best = max(theirs, key=lambda row: row["points"])
    told += (
        f"; the best baseline, {LABELS[best['model']]}, on {_given(best)} in "
        f"{_gigabytes(best['bound_megabytes'])}"
    )
    alike = [row["points"] for row in ours if row["sequences"] >= best["sequences"]]
    if alike:
        claimed = (PAPER_GRIDS[SMORE_MODEL] / max(PAPER_GRIDS[model] for model in BASELINES)) ** 2
        ratio = times(max(alike) / best["points"])
        told += f": {ratio} the points for as many sequences (paper: {times(claimed)})"
    return [f"{told}."]


def _given(row: Row) -> str:
    return f"{_square(row['grid'])} ({row['sequences']} sequences)"


def capacity_section(rows: Sequence[Row], results: Path, folder: str) -> list[str]:
    return [
        "## Largest grid",
        "Two epochs on generated data, models in their size for Navier-Stokes. Memory is the "
        "largest resident memory of a fresh process, libraries included; the paper's grids are the "
        f"largest on one {PAPER_MACHINE}. SMORE is given a grid, streams it from disk and trains "
        "on all snapshots. For baselines the largest grid within the bound is searched; they train "
        "on the first ten snapshots, as in all of the paper's comparisons. DINo runs on SMORE's "
        "engine here, so that its grid is that of its decoder as published, without the engine.",
        table(HEADER, [line for model in reversed(PAPER_GRIDS) for line in _lines(rows, model)]),
        *figure(results, folder, "capacity.png", "The largest grids"),
        *remarks(rows),
    ]


def _lines(rows: Sequence[Row], model: str) -> list[list[str]]:
    """A line for each grid of a model."""
    found = [row for row in rows if row["model"] == model]
    told = [_told(row) if row["status"] == "done" else ["failed"] for row in found]
    paper = _square(PAPER_GRIDS[model])
    return [
        [LABELS[model], grid, paper, *(rest or ["-"] * 6)] for grid, *rest in told or [[NOT_RUN]]
    ]


def _told(row: Row) -> list[str]:
    disk = row["disk_megabytes"]
    return [
        _square(row["grid"]),
        f"{row['sequences']} x {row['snapshots']}",
        _gigabytes(row["peak_megabytes"]),
        f"{_gigabytes(row['bound_megabytes'])}{'' if row['within_bound'] == 'yes' else ', missed'}",
        "-" if disk is None else _gigabytes(disk),
        duration(row["seconds_per_epoch"]),
        row["how"],
    ]


def _square(grid: int) -> str:
    return f"{grid:,} x {grid:,}"


def _gigabytes(megabytes: float) -> str:
    return f"{megabytes / 1000:.3g} GB"
