"""Numbers, tables and figures as the page tells them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from smore_paper.tables.ledger import Row

NOT_RUN = "not run"


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def number(value: float | None) -> str:
    """Three digits and an exponent, as the paper has them: 2.01e-4."""
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "overflow"
    if value == 0:
        return "0"
    digits, exponent = f"{value:.2e}".split("e")
    return f"{digits}e{int(exponent)}"


def times(ratio: float) -> str:
    if not math.isfinite(ratio):
        return number(ratio)
    return f"{ratio:.3g}x" if 0.01 <= ratio < 1000 else f"{number(ratio)}x"


def duration(seconds: float) -> str:
    """In seconds, minutes or hours, two digits or more."""
    for length, unit in ((3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{_digits(seconds / length)} {unit}"
    return f"{_digits(seconds)} s"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def epochs_of(rows: Iterable[Row]) -> str:
    """How many epochs rows have, if they differ all of them."""
    known = sorted({row["epochs"] for row in rows if row["epochs"] is not None})
    return " or ".join(f"{epochs:,}" for epochs in known) or NOT_RUN


def remarks(rows: Iterable[Row]) -> list[str]:
    """What rows have to say for themselves: why they failed, what they warned of."""
    lines = [
        f"- `{row['key']}` ({row['status']}): {row['remark']}" for row in rows if row["remark"]
    ]
    return ["\n".join(lines)] if lines else []


def figure(results: Path, folder: str, name: str, text: str) -> list[str]:
    """A figure, if there is one."""
    return [f"![{text}]({Path(folder, name).as_posix()})"] if (results / name).exists() else []


def percent(visible: float) -> str:
    return f"{100 * visible:.3g}%"
