"""Pointwise minibatches on the page."""

from __future__ import annotations

from collections.abc import Sequence

from smore_paper.page.entries import Entry, beside, entry
from smore_paper.page.markdown import (
    NOT_RUN,
    duration,
    epochs_of,
    remarks,
    table,
    times,
)
from smore_paper.tables.ledger import Row
from smore_paper.tables.pointwise.measure import (
    ALL,
    CHUNKS,
    PAPER_EPOCHS,
    POINTWISE_CLAIMS,
    PointwiseCost,
)


def glance_at_pointwise(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return [f"**Pointwise minibatches.** {NOT_RUN}"]
    chunks = [chunk for chunk in CHUNKS if chunk != ALL]
    return [
        f"**Pointwise minibatches** against all points at once, {epochs_of(rows)} epochs (paper: "
        f"{PAPER_EPOCHS:,}):",
        "\n".join(f"- {chunk} points: {_glance(rows, chunk)}" for chunk in chunks),
    ]


def _glance(rows: Sequence[Row], chunk: str | int) -> str:
    whole, part = (_cost(entry(rows, chunk_size=each)) for each in (ALL, chunk))
    told = NOT_RUN if whole is None or part is None else _compared(whole, part)
    claim = POINTWISE_CLAIMS.get(chunk)
    return told if claim is None else f"{told} (paper: {_compared(POINTWISE_CLAIMS[ALL], claim)})"


def _cost(found: Entry) -> PointwiseCost | None:
    memory, seconds = found.mean("memory_megabytes"), found.mean("seconds")
    error = found.mean("full_mse")
    if memory is None or seconds is None or error is None:
        return None
    return PointwiseCost(memory, seconds, error)


def _compared(whole: PointwiseCost, part: PointwiseCost) -> str:
    return (
        f"memory {times(whole.memory_megabytes / part.memory_megabytes)} less, "
        f"time {times(part.seconds / whole.seconds)}, "
        f"error {times(part.full_mse / whole.full_mse)}"
    )


def pointwise_section(rows: Sequence[Row]) -> list[str]:
    header = ["points at once", "seeds", "memory in MB", "full window", "time", "epochs", "device"]
    return [
        "## Pointwise minibatches",
        "SMORE-LRLQ on Navier-Stokes by Algorithm 1: measured (claimed, ratio), the paper's time "
        f"for {PAPER_EPOCHS:,} epochs in brackets. Memory is the rise of a fresh process's "
        "resident memory during training, above data and libraries. The paper decodes every "
        "snapshot of a minibatch at every point; here the memory of a chunk does not depend on "
        "the number of snapshots, so that there is less to be saved.",
        table(header, [_line(rows, chunk) for chunk in CHUNKS]),
        *remarks(rows),
    ]


def _line(rows: Sequence[Row], chunk: str | int) -> list[str]:
    found, claim = entry(rows, chunk_size=chunk), POINTWISE_CLAIMS.get(chunk)
    epochs = found.mean("epochs")
    return [
        str(chunk),
        str(len(found.rows)),
        _memory(found, claim),
        beside(found, "full_mse", None if claim is None else claim.full_mse),
        found.time + (f" ({duration(claim.seconds)})" if claim else ""),
        "-" if epochs is None else f"{epochs:,.0f}",
        found.done[0]["device"] if found.done else "-",
    ]


def _memory(found: Entry, claim: PointwiseCost | None) -> str:
    memory = found.mean("memory_megabytes")
    if claim is None:
        return NOT_RUN if memory is None else f"{memory:,.0f}"
    if memory is None:
        return f"{NOT_RUN} ({claim.memory_megabytes:,.0f})"
    ratio = times(memory / claim.memory_megabytes)
    return f"{memory:,.0f} ({claim.memory_megabytes:,.0f}, {ratio})"
